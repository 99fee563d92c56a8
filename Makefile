# Two commands on a fresh machine with Python 3.11 or newer: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
unexport PYTHONDONTWRITEBYTECODE # many tests start processes: what is compiled once is kept
SEED := $(shell $(PYTHON) -c 'import secrets; print(secrets.randbits(32))')

.PHONY: demo test test-all lint format bench docs clean

demo: $(READY)
	$(BIN)/dpverify demo
	$(BIN)/python examples/lecture_notes.py

# The same examples on every machine, every time. What the tests of a file share is computed once:
# a file runs on one worker, and the small ones come last.
test: $(READY)
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder -m "not slow"

# Slow tests too, on fresh examples, with the share of branches that they run: it must not fall.
# `make test-all SEED=…` draws the examples of an earlier run again.
test-all: $(READY)
	@echo "examples drawn with seed $(SEED); to repeat: make test-all SEED=$(SEED)"
	$(BIN)/python -m pytest -n auto --dist worksteal --hypothesis-profile=fresh --hypothesis-seed=$(SEED) \
	  --cov --cov-report=term:skip-covered --cov-fail-under=94.7 || \
	  { echo "to repeat: make test-all SEED=$(SEED)"; exit 1; }

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
