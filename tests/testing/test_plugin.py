"""The plugin, as pytest runs it: options, markers, summary, JUnit, workers, misuse."""

import ast
import subprocess
import sys
import xml.etree.ElementTree as ET
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

import dpverify
from dpverify.testing import PrivacyViolation, plugin

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[2]
INSTALLED = any(entry.name == "dpverify" for entry in entry_points(group="pytest11"))
LOAD = () if INSTALLED else ("-p", "dpverify.testing.plugin")

MODULE = """
import dpverify as dpv
import pytest
from hypothesis import settings, strategies as st
from dpverify.testing import assert_private, neighbors, satisfies

bits = neighbors(st.lists(st.booleans()), relation="add-remove")
settings.register_profile("short", max_examples=10, deadline=None)
settings.load_profile("short")

@pytest.mark.privacy(samples=3_000)
@satisfies(dpv.PureDP(epsilon=1.0), on=bits)
def test_count(data, rng):
    return sum(data) + rng.laplace(scale=1.0)

@satisfies(dpv.PureDP(epsilon=0.5), on=bits)
def test_inverted(data, rng):
    return sum(data) + rng.laplace(scale=0.5)

@pytest.mark.privacy(level=1e-4, samples=1_000)
def test_fixed():
    assert_private(lambda data, rng: data + rng.normal(), dpv.GaussianDP(mu=1.0), 0.0, 1.0)

@pytest.mark.false_alarm(1e-9)
def test_other():
    pass
"""


@pytest.fixture(scope="module", autouse=True)
def _loaded() -> None:
    """Import what such tests import: pytester unloads it after each run, and numpy loads once."""
    names: dict[str, Any] = {"__name__": __name__}
    profile = settings.get_current_profile_name()
    exec(MODULE, names)  # noqa: S102
    settings.load_profile(profile)
    names["test_count"]()
    names["test_fixed"]()
    with pytest.raises(PrivacyViolation):
        names["test_inverted"]()


def run(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    """Run pytest in this process, and undo the profile that it loads."""
    profile = settings.get_current_profile_name()
    try:
        return pytester.runpytest_inprocess(*LOAD, "-p", "no:cacheprovider", *arguments)
    finally:
        settings.load_profile(profile)


def test_the_summary_tells_claims_bounds_and_the_budget(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(MODULE)
    result = run(pytester, "--strict-markers")
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*does not keep PureDP(epsilon=0.5)",
            "*left:   ?*",
            "*right:  ?True?   (add-remove)",
            "*event:  *output*",
            "*counts: * of * draws, * of *",
            "*so:     ε ≥ *; wrong with probability at most 1e-06",
            "*replay: assert_private(test_inverted.mechanism, dpv.PureDP(epsilon=0.5), ??, ?True?)",
            "test_the_summary*.py:*: PrivacyViolation",
            "*=== privacy ===*",
        ]
    )
    shown = result.stdout.str()
    assert "::test_count: PureDP(epsilon=1.0) not refuted; ε ≥ " in shown
    assert "::test_inverted: PureDP(epsilon=0.5) REFUTED; ε ≥ " in shown
    assert "::test_fixed: GaussianDP(mu=1.0) not refuted; " in shown
    assert "1 pair, 1,000 draws a side, level 0.0001" in shown
    assert (
        "3 privacy tests and 1 other statistical test: on correct code the probability of any "
        "failure is at most 0.000102"
    ) in shown


def test_only_what_can_fail_by_chance_is_added_up(pytester: pytest.Pytester) -> None:
    """A refutation that a test asks for costs nothing; a marker speaks for all that a test runs."""
    pytester.makepyfile(
        """
        import pytest
        import dpverify as dpv
        from dpverify.testing import PrivacyViolation, assert_private

        def noisy(data, rng):
            return data + rng.laplace()

        def test_refutes():
            with pytest.raises(PrivacyViolation):
                assert_private(noisy, dpv.PureDP(epsilon=0.2), 0.0, 1.0)

        @pytest.mark.xfail(strict=True)
        def test_known_to_fail():
            assert_private(noisy, dpv.PureDP(epsilon=0.2), 0.0, 1.0)

        @pytest.mark.false_alarm(1e-9)
        def test_runs_many():
            for _ in range(3):
                assert_private(noisy, dpv.PureDP(epsilon=1.5), 0.0, 1.0, level=0.05, samples=500)

        @pytest.mark.privacy(level=1e-8, samples=500)
        def test_holds():
            assert_private(noisy, dpv.PureDP(epsilon=1.0), 0.0, 1.0)
        """
    )
    result = run(pytester)
    result.assert_outcomes(passed=3, xfailed=1)
    shown = result.stdout.str()
    assert "REFUTED" not in shown
    assert (
        "1 privacy test and 1 other statistical test: on correct code the probability of any "
        "failure is at most 1.1e-08"
    ) in shown


def test_options_are_defaults_and_the_nearest_setting_wins(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(MODULE)
    result = run(pytester, "--privacy-level=1e-3", "--privacy-samples=2000", "-k", "count or fixed")
    result.assert_outcomes(passed=2, deselected=2)
    shown = result.stdout.str()
    assert "draws a side, level 0.001\n" in shown
    assert "1,000 draws a side, level 0.0001" in shown


def test_junit_has_the_findings(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(MODULE)
    run(pytester, "--junitxml=found.xml", "-k", "count or inverted")
    cases = ET.parse(pytester.path / "found.xml").getroot().iter("testcase")  # noqa: S314
    found = {
        case.get("name"): {p.get("name"): p.get("value") for p in case.iter("property")}
        for case in cases
    }
    assert found["test_count"]["privacy_claim"] == "PureDP(epsilon=1.0)"
    assert found["test_count"]["privacy_refuted"] == "False"
    assert found["test_inverted"]["privacy_refuted"] == "True"
    assert float(found["test_inverted"]["privacy_epsilon_lower"] or 0) > 0.5
    assert int(found["test_count"]["privacy_samples"] or 0) <= 3_000


@pytest.mark.slow
def test_workers_report_to_the_summary(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("xdist")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    pytester.makepyfile(MODULE)
    result = pytester.runpytest_subprocess(*LOAD, "-n", "2", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=3, failed=1)
    shown = result.stdout.str()
    assert "::test_count: PureDP(epsilon=1.0) not refuted" in shown
    assert "::test_inverted: PureDP(epsilon=0.5) REFUTED" in shown
    assert "3 privacy tests and 1 other statistical test:" in shown


def test_seeds_and_profiles_are_followed(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(MODULE)
    one, other = (
        run(pytester, "--hypothesis-seed=3", "-k", "inverted").stdout.str() for _ in range(2)
    )
    assert _message(one) == _message(other)
    pytester.makeconftest(
        "from hypothesis import settings\n"
        "settings.register_profile('fixed', derandomize=True, max_examples=5)\n"
    )
    pytester.makepyfile(MODULE.replace('settings.load_profile("short")', ""))
    one, other = (
        run(pytester, "--hypothesis-profile=fixed", "-k", "inverted").stdout.str() for _ in range(2)
    )
    assert _message(one) == _message(other)


def _message(shown: str) -> str:
    start = shown.index("does not keep")
    return shown[start : shown.index("replay:")]


def test_parametrized_tests_and_fixtures(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import dpverify as dpv
        import pytest
        from hypothesis import strategies as st
        from dpverify.testing import neighbors, satisfies

        @pytest.fixture(scope="module")
        def scale():
            return 1.0

        @pytest.mark.privacy(samples=2_000)
        @pytest.mark.parametrize("factor", [1.0, 0.2])
        @satisfies(dpv.PureDP(epsilon=1.0),
                   on=neighbors(st.lists(st.floats(0, 1)), relation="replace-one"))
        def test_sum(data, rng, factor, scale):
            return sum(data) + rng.laplace(scale=scale * factor)
        """
    )
    result = run(pytester)
    result.assert_outcomes(passed=1, failed=1)
    shown = result.stdout.str()
    assert "::test_sum[1.0]: PureDP(epsilon=1.0) not refuted" in shown
    assert "::test_sum[0.2]: PureDP(epsilon=1.0) REFUTED" in shown


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("def test(data, rng):\n    sum(data)", "*test must return what the mechanism releases*"),
        ("def test(data):\n    return sum(data)", "*must take 'rng'*"),
    ],
)
def test_misuse_is_an_error_at_collection(
    pytester: pytest.Pytester, body: str, message: str
) -> None:
    pytester.makepyfile(
        "import dpverify as dpv\nfrom hypothesis import strategies as st\n"
        "from dpverify.testing import neighbors, satisfies\n\n"
        "@satisfies(dpv.PureDP(epsilon=1.0), on=neighbors(st.lists(st.floats(0, 1)), "
        f"relation='replace-one'))\n{body}\n"
    )
    result = run(pytester)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"E{message}"])


@pytest.mark.parametrize(
    ("decorator", "message"),
    [
        ("satisfies(on=bits)", "*claim=None must be a guarantee*"),
        ("satisfies(dpv.PureDP(epsilon=1.0))", "*on=None must be a strategy*"),
        (
            "satisfies(dpv.PureDP(epsilon=1), on=st.just(([0, 0], [1])), relation='replace-one')",
            "*no neighbors under 'replace-one'*",
        ),
    ],
)
def test_bad_arguments_are_an_error_at_collection(
    pytester: pytest.Pytester, decorator: str, message: str
) -> None:
    pytester.makepyfile(
        "import dpverify as dpv\nfrom hypothesis import strategies as st\n"
        "from dpverify.testing import neighbors, satisfies\n"
        "bits = neighbors(st.lists(st.booleans()), relation='add-remove')\n\n"
        f"@{decorator}\ndef test(data, rng):\n    return sum(data) + rng.laplace()\n"
    )
    result = run(pytester)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"E{message}"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--privacy-level=2",), "*--privacy-level=2.0 must be a number in ?1e-12, 0.5?*"),
        (("--privacy-samples=10",), "*--privacy-samples=10 must be a number at least 500*"),
    ],
)
def test_bad_options_are_misuse(
    pytester: pytest.Pytester, arguments: tuple[str, ...], message: str
) -> None:
    pytester.makepyfile("def test(): pass")
    result = run(pytester, *arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([message])


@pytest.mark.parametrize("marker", ["privacy(1e-6)", "privacy(levels=1)", "privacy(level='x')"])
def test_bad_markers_are_misuse(pytester: pytest.Pytester, marker: str) -> None:
    pytester.makepyfile(f"import pytest\n@pytest.mark.{marker}\ndef test(): pass")
    result = run(pytester)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "test" in result.stderr.str()


def test_other_suites_see_nothing_of_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test(): pass")
    result = run(pytester, "--strict-markers")
    result.assert_outcomes(passed=1)
    assert "privacy" not in result.stdout.str()


def test_the_plugin_imports_only_what_is_light() -> None:
    """The standard library, pytest, and `context`, which has only the standard library.

    What a fixture needs is imported when it is used.
    """
    for path in (Path(plugin.__file__), ROOT / "dpverify/testing/context.py"):
        nodes = ast.parse(path.read_text(encoding="utf-8")).body
        names = {n.module or "" for n in nodes if isinstance(n, ast.ImportFrom)}
        names |= {a.name for n in nodes if isinstance(n, ast.Import) for a in n.names}
        roots = {name.split(".")[0] for name in names} - set(sys.stdlib_module_names)
        assert roots <= {"pytest", "dpverify"}
        assert {n for n in names if n.startswith("dpverify")} <= {"dpverify.testing.context"}


@pytest.mark.skipif(not hasattr(dpverify, "__getattr__"), reason="the package imports eagerly")
def test_loading_the_plugin_does_not_load_the_library() -> None:
    code = (
        "import sys, dpverify.testing.plugin; "
        "print([m for m in ('numpy', 'scipy', 'flint', 'hypothesis') if m in sys.modules])"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=ROOT
    )
    assert shown.stdout.strip() == "[]"


@pytest.mark.skipif(not hasattr(dpverify, "__getattr__"), reason="the package imports eagerly")
def test_every_public_name_has_a_home() -> None:
    assert set(dpverify.__all__) <= set(dpverify._HOME)  # type: ignore[attr-defined, unused-ignore]
    for name in dpverify.__all__:
        assert getattr(dpverify, name) is not None
    assert set(dpverify.__all__) <= set(dir(dpverify))
