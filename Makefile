# Two commands on a fresh machine with Python 3.11 or newer: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
unexport PYTHONDONTWRITEBYTECODE # many tests start processes: what is compiled once is kept
SEED := $(shell $(PYTHON) -c 'import secrets; print(secrets.randbits(32))')
PARALLEL := $(BIN)/python -m pytest -n auto
BY_FILE := --dist loadfile --no-loadscope-reorder
FRESH := $(PARALLEL) --hypothesis-profile=fresh --hypothesis-seed=$(SEED)

.PHONY: demo test test-all lint format bench docs clean

demo: $(READY)
	$(BIN)/dpverify demo
	$(BIN)/python examples/lecture_notes.py

# The same examples on every machine, every time. What the tests of a file share is computed once:
# a file runs on one worker, and the small ones come last.
test: $(READY)
	$(PARALLEL) $(BY_FILE) -m "not slow"

# The tests of `make test` on fresh examples, with the share of branches that they run: it must not fall.
# Then the slow tests, on fresh examples too; both run whatever the first found, and either fails the command.
# `make test-all SEED=…` draws the examples of an earlier run again.
test-all: $(READY)
	@echo "examples drawn with seed $(SEED)"
	@$(FRESH) -m "not slow" $(BY_FILE) --cov --cov-report=term:skip-covered --cov-fail-under=94.7; quick=$$?; \
	$(FRESH) -m slow --dist worksteal; slow=$$?; \
	echo "to repeat: make test-all SEED=$(SEED)"; \
	[ $$quick$$slow = 00 ] || { echo "pytest ended with $$quick, on slow tests with $$slow"; exit 1; }

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The documentation as a site, in build/site; a link that leads nowhere is an error.
docs: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[docs]"
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "the site: build/site/index.html"

bench: $(READY)
	$(BIN)/python benchmarks/run.py

clean:
	rm -rf $(VENV) .venv-peers build dist .mypy_cache .ruff_cache .pytest_cache

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("dpverify needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	touch $@
