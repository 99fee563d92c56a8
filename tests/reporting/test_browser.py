"""Reports in a real browser: no errors, controls that work, nothing fetched."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dpverify as dpv
from dpverify.cli import run
from dpverify.reporting.page import Page, Section, write_page
from dpverify.reporting.what_if import what_if

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium is installed")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield opened
        opened.close()


class Opened:
    """A page and everything that went wrong on it."""

    def __init__(self, browser: Any, path: Path, width: int = 1200) -> None:  # noqa: ANN401
        self.page = browser.new_page(viewport={"width": width, "height": 900})
        self.troubles: list[str] = []
        self.page.on("console", lambda message: self.troubles.append(message.text))
        self.page.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.page.on("request", lambda asked: self.requests.append(asked.url))
        self.requests: list[str] = []
        self.page.goto(path.as_uri())


@pytest.fixture(scope="module")
def composed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("report") / "compose.html"
    measured = path.with_name("accuracy.csv")
    measured.write_text("noise,accuracy\n2.5,0.91\n5,0.86\n20,0.7\n")
    arguments = ["compose", "gaussian(sigma=5)*10", "--delta", "1e-6", "--relation", "add-remove"]
    assert run([*arguments, "--report", str(path), "--accuracy", str(measured)]) == 0
    return path


def test_opens_without_errors_and_fetches_nothing(browser: Any, composed: Path) -> None:  # noqa: ANN401
    opened = Opened(browser, composed)
    assert opened.troubles == []
    assert opened.requests == [composed.as_uri()]
    assert opened.page.locator("h1").inner_text().startswith("ε ≤ 2.9216")


@pytest.mark.parametrize("kind", ["html", "svg"])
@pytest.mark.parametrize("width", [390, 1280])
def test_a_label_fits_and_fetches_nothing(
    browser: Any,  # noqa: ANN401
    kind: str,
    width: int,
    tmp_path: Path,
) -> None:
    path = tmp_path / f"label.{kind}"
    parts = ["pure(epsilon=1)", "--relation", "add-remove", "--output", str(tmp_path / "d.yaml")]
    assert run(["disclose", *parts, "--label", str(path)]) == 0
    opened = Opened(browser, path, width=width)
    assert opened.troubles == []
    assert opened.requests == [path.as_uri()]
    root = "document.documentElement"
    assert opened.page.evaluate(f"{root}.scrollWidth <= {root}.clientWidth")


def test_dragging_epsilon_reads_delta(browser: Any, composed: Path) -> None:  # noqa: ANN401
    page = Opened(browser, composed).page
    slider, told = page.locator("#slider-0"), page.locator("output").first
    deltas = []
    for position in (100, 400, 700):
        slider.fill(str(position))
        epsilon, delta = told.inner_text().split(": certified upper end ≈ ")
        assert float(epsilon.removeprefix("ε = ")) > 0
        deltas.append(float(delta))
    assert deltas == sorted(deltas, reverse=True)
    assert deltas[0] > 100 * deltas[2]


def test_sliders_answer_to_the_keyboard(browser: Any, composed: Path) -> None:  # noqa: ANN401
    page = Opened(browser, composed).page
    before = page.locator("output").first.inner_text()
    page.locator("#slider-0").focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("output").first.inner_text() != before
    assert page.locator("#slider-0").get_attribute("aria-valuetext")


def test_counts_are_read_one_by_one(browser: Any, composed: Path) -> None:  # noqa: ANN401
    page = Opened(browser, composed).page
    row = page.locator(".readout", has_text="Growth of ε under every rule: runs")
    row.locator("input").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    assert row.locator("output").inner_text().startswith("runs = 2: ")


def test_hovering_moves_the_cursor_line(browser: Any, composed: Path) -> None:  # noqa: ANN401
    page = Opened(browser, composed).page
    page.locator("figure:has(.cursor) svg").scroll_into_view_if_needed()
    box = page.locator("figure:has(.cursor) svg").bounding_box()
    line = page.locator("line.cursor").first
    before = line.get_attribute("x1")
    page.mouse.move(box["x"] + 0.12 * box["width"], box["y"] + 0.5 * box["height"])
    assert line.get_attribute("x1") != before


def test_fits_a_narrow_screen(browser: Any, composed: Path) -> None:  # noqa: ANN401
    page = Opened(browser, composed, width=360).page
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.parametrize("width", [390, 1200])
def test_no_column_of_a_ledger_is_out_of_sight(
    browser: Any,  # noqa: ANN401
    width: int,
    tmp_path: Path,
) -> None:
    file, path = str(tmp_path / "b.ledger"), tmp_path / "b.html"
    options = ["--dataset", "census of 2026, by region"]
    opening = ["open", file, "--epsilon", "3", "--delta", "1e-6", "--relation", "add-remove"]
    assert run(["ledger", *opening, *options]) == 0
    spend = ["spend", file, "gaussian(sigma=38.59626610285018)*12", "--user", "somebody"]
    assert run(["ledger", *spend, "--label", "income by region, weekly report"]) == 0
    assert run(["ledger", "export", file, str(path)]) == 0
    page = Opened(browser, path, width=width).page
    hidden = "found => found.filter(one => one.scrollWidth > one.clientWidth).length"
    assert page.locator(".scroll").evaluate_all(hidden) == 0


def test_programs_find_the_data(browser: Any, composed: Path) -> None:  # noqa: ANN401
    page = Opened(browser, composed).page
    page.locator("summary").click()
    assert '"expression": "gaussian(sigma=5)*10"' in page.locator("#shown").inner_text()


def test_words_have_contrast_and_pictures_have_words(browser: Any, composed: Path) -> None:  # noqa: ANN401
    page = Opened(browser, composed).page
    assert page.locator("html").get_attribute("lang") == "en"
    assert page.locator('[role="img"]:not([aria-label])').count() == 0
    named = page.locator("label[for]").count() + page.locator("input[aria-label]").count()
    assert page.locator("input").count() == named == 3 + 2 * 3  # σ, runs and δ, each twice


def test_what_if_answers_to_the_keyboard_and_to_numbers(browser: Any, composed: Path) -> None:  # noqa: ANN401
    opened = Opened(browser, composed)
    page, large, where = opened.page, opened.page.locator(".large"), opened.page.locator(".told")
    assert large.inner_text() == "ε ≤ 2.9217 at δ = 1e-6"  # 2.92160…, as on top of the page
    assert "lies between 2.9216 and 2.9217" in where.inner_text()
    assert "Measured accuracy: 0.86 at σ 5." in where.inner_text()
    noise, runs, _ = json.loads(page.locator(".grid").text_content())["knobs"]
    following, after = noise["values"][noise["now"] + 1], noise["values"][-1]
    page.locator("#what-if-0-noise").focus()
    page.keyboard.press("ArrowRight")
    less = float(large.inner_text().split()[2])
    assert less < 2.9216
    assert float(page.locator("#what-if-0-noise-exact").input_value()) == following
    assert "0.86 at σ 5, 0.7 at σ 20; nothing between" in where.inner_text()
    page.locator("#what-if-0-noise-exact").fill(str(following + 0.01))  # as with less noise
    assert float(large.inner_text().split()[2]) == less
    assert f"it holds for σ {following:g}" in where.inner_text()
    page.locator("#what-if-0-runs-exact").fill("11")  # and as with more runs
    assert f"runs {runs['values'][runs['now'] + 1]:g}" in where.inner_text()
    page.locator("#what-if-0-noise-exact").fill("50")
    assert large.inner_text() == "Not computed"
    assert f"σ must be between 2.5 and {after:g}" in where.inner_text()
    page.locator("#what-if-0-delta-exact").fill("")
    assert large.inner_text() == "Not computed"
    assert opened.troubles == []


@pytest.mark.parametrize(("sigma", "delta"), [(20_000.0, 1.0049e-6), (0.0006, 1e-6)])
def test_what_if_shows_bounds_in_full(
    browser: Any,  # noqa: ANN401
    sigma: float,
    delta: float,
    tmp_path: Path,
) -> None:
    """Few digits, rounded to the nearest, would show bounds below the truth."""
    path = tmp_path / "page.html"
    grid = what_if([(dpv.Gaussian(sigma), 1)], dpv.Relation.ADD_REMOVE, delta, seconds=0.0)
    section = Section(title="What if", what_if=grid)
    page = Page(title="t", verdict="v", tone="plain", lead="", sections=(section,), command="")
    write_page(page, path)
    opened = Opened(browser, path)
    _, _, upper, _, _, _, at = opened.page.locator(".large").inner_text().split()
    lower = opened.page.locator(".told").inner_text().split("lies between ")[1].split()[0]
    exact = dpv.Accountant(relation=dpv.Relation.ADD_REMOVE).compose(dpv.Gaussian(sigma))
    assert float(at) == delta
    assert float(lower) <= exact.epsilon(delta).lower <= exact.epsilon(delta).upper <= float(upper)
    assert opened.troubles == []


def test_what_if_says_nothing_where_nothing_was_computed(browser: Any, composed: Path) -> None:  # noqa: ANN401
    page = Opened(browser, composed).page
    assert page.locator(".chart svg").count() == 2
    page.locator("#what-if-0-noise-exact").fill("")
    assert page.locator("#what-if-0-noise").get_attribute("aria-valuetext") == "σ not given"
    assert page.locator(".chart svg").count() == 0
    assert page.locator(".people[aria-label]").count() == 0


def test_what_if_answers_to_touch_on_a_narrow_screen(browser: Any, composed: Path) -> None:  # noqa: ANN401
    context = browser.new_context(viewport={"width": 390, "height": 800}, has_touch=True)
    page = context.new_page()
    page.goto(composed.as_uri())
    slider = page.locator("#what-if-0-runs")
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    assert box["height"] >= 24  # as high as a finger needs
    page.touchscreen.tap(box["x"] + box["width"] - 3, box["y"] + box["height"] / 2)
    assert page.locator("#what-if-0-runs-exact").input_value() == "40"
    assert float(page.locator(".large").inner_text().split()[2]) > 2.9217
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    context.close()
