"""The documentation as a whole: every name has an example and a place, and the site builds.

What takes long (the site, the support matrix, the pictures, other libraries' code) is slow.
"""

import inspect
import os
import re
import runpy
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from types import UnionType

import pytest
import yaml

import dpverify as dpv
from tests.test_readme import ROOT, blocks

DOCS = ROOT / "docs"
LISTED = [
    name
    for page in sorted((DOCS / "reference").glob("*.md"))
    for name in re.findall(r"^::: dpverify\.(\w+)$", page.read_text("utf-8"), re.MULTILINE)
]


def test_every_name_stands_in_the_reference_once() -> None:
    assert sorted(LISTED) == sorted(dpv.__all__)


@pytest.mark.parametrize("name", dpv.__all__)
def test_every_public_name_has_an_example(name: str) -> None:
    """The examples run with all other doctests; a union of classes is shown by its classes."""
    value = getattr(dpv, name)
    assert isinstance(value, UnionType) or ">>> " in (inspect.getdoc(value) or "")


def test_every_page_is_in_the_navigation() -> None:
    pages = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")}
    text = (ROOT / "mkdocs.yml").read_text("utf-8")
    assert set(re.findall(r"([\w/-]+\.md)$", text, re.MULTILINE)) == pages
    assert yaml.safe_load(text)["docs_dir"] == "docs"


def test_titles_of_blocks_are_quoted() -> None:
    """Else the site shows the fence itself as text."""
    found = [
        (page.name, line)
        for page in (*DOCS.rglob("*.md"), ROOT / "README.md")
        for line in page.read_text("utf-8").splitlines()
        if re.match(r'```\w+ +(?!title="[^"]+"$)', line)
    ]
    assert not found


def test_what_follows_a_list_of_arguments_is_not_taken_for_more_of_them() -> None:
    pytest.importorskip("griffe")  # of the extra `docs`
    shown = runpy.run_path(str(DOCS / "examples.py"))["sections_last"]
    found = shown(inspect.getdoc(dpv.NotIndistinguishable))
    assert found.index(">>> ") < found.index("Attributes\n---") < found.index("direction : ")
    assert sorted(found) == sorted(inspect.getdoc(dpv.NotIndistinguishable) or "")


def script(name: str, folder: Path) -> None:
    """Run a script of docs/ in a copy of it."""
    copy = folder / name
    copy.write_text((DOCS / name).read_text("utf-8"), encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, str(copy)], check=True, env=environment)


@pytest.mark.slow
def test_the_support_matrix_is_what_the_code_does(tmp_path: Path) -> None:
    script("support.py", tmp_path)
    assert (tmp_path / "support.md").read_text("utf-8") == (DOCS / "support.md").read_text("utf-8")


@pytest.mark.slow
def test_the_pictures_are_those_that_are_drawn(tmp_path: Path) -> None:
    script("draw.py", tmp_path)
    drawn = {path.name for path in (tmp_path / "pictures").iterdir()}
    assert drawn == {path.name for path in (DOCS / "pictures").iterdir()}
    concepts = (DOCS / "concepts.md").read_text("utf-8")
    assert drawn == set(re.findall(r"\(pictures/([\w.]+)\)", concepts))


@pytest.mark.slow
def test_the_site_builds_strictly(tmp_path: Path) -> None:
    pytest.importorskip("mkdocstrings", reason="the extra docs is not installed")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(tmp_path)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, cwd=ROOT, env=environment
    )
    assert done.returncode == 0, done.stderr
    for page in DOCS.rglob("*.md"):
        built = (tmp_path / page.relative_to(DOCS).with_suffix(".html")).read_text("utf-8")
        assert "```" not in built, f"a block of {page.name} is not read as one"
        assert "<blockquote>" not in built, f"an example of {page.name} is read as a quote"
    reference = (tmp_path / "reference" / "accounting.html").read_text("utf-8")
    assert "gaussian_summary" in reference


PACKAGES = {"diffprivlib": ["diffprivlib", "scikit-learn<1.8"], "opacus": ["opacus"]}


def interpreter_with(package: str, folder: Path) -> str:
    """A Python that has the package: the one that DPVERIFY_PEERS names, or a new environment."""
    named = os.environ.get("DPVERIFY_PEERS")
    if named:
        return named
    made = folder / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    pip = [str(made), "-m", "pip", "install", "--quiet", *PACKAGES[package], str(ROOT)]
    if subprocess.run(pip, check=False, capture_output=True).returncode:
        pytest.skip(f"{package} could not be installed")
    return str(made)


@pytest.mark.slow
@pytest.mark.parametrize("package", PACKAGES)
def test_their_code_runs_as_printed(package: str, tmp_path: Path) -> None:
    """Blocks of libraries that are not installed here, in an environment of their own."""
    found = blocks(DOCS / "coming-from" / f"{package}.md")
    theirs = [(a, b) for a, b in pairwise(found) if a.needs == package]
    assert theirs
    python = interpreter_with(package, tmp_path)
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    for block, printed in theirs:
        done = subprocess.run(
            [python, "-W", "ignore", "-c", block.text],
            check=False,
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=environment,
        )
        assert done.stdout == printed.text, done.stderr


@pytest.mark.slow
@pytest.mark.timeout(1800)  # most of it installs packages
def test_a_newcomer_gets_twenty_tasks_done() -> None:
    script = [sys.executable, str(ROOT / "benchmarks" / "newcomer.py")]
    done = subprocess.run(script, check=False, capture_output=True, text=True)
    if done.returncode and "CalledProcessError" in done.stderr:
        pytest.skip("packages could not be installed")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "20 of 20 tasks done" in done.stdout
