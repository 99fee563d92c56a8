"""The page of `dpverify fit`: what the model cost, by which theorem, and what it is worth."""

from typing import Any

from dpverify.balls import as_given, rounded_up
from dpverify.claims import Claim
from dpverify.reporting.page import Page, Section, TextTable, theorem_section


def fit_page(
    answer: dict[str, Any], claim: Claim, *, proof: dict[str, Any] | None, command: str
) -> Page:
    """The page of a fit; `answer` is the model's file, `proof` the run of the claim's theorem."""
    epsilon, delta = answer["claim"]["epsilon"], answer["claim"].get("delta", 0.0)
    cost = f"ε = {as_given(epsilon)}" + (f", δ = {as_given(delta)}" if delta else ", pure DP")
    sections = [
        Section(title="The model", facts=_facts(answer), tables=_weights(answer)),
        Section(title="What is assumed", items=claim.assumes),
        theorem_section(claim.theorem, proof),
    ]
    return Page(
        title=f"A private model of {answer['target']}",
        verdict=f"{cost}, {answer['claim']['relation']}",
        tone="plain",
        lead="What the fit spent, the solver's own error included. An audit may try to refute it.",
        sections=tuple(section for section in sections if section.title or section.items),
        command=command,
        data=answer,
    )


def _facts(answer: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    facts = [
        ("loss", answer["loss"]),
        ("method", answer["method"]),
        ("target", answer["target"]),
        *((name.replace("_", " "), as_given(bound)) for name, bound in answer["bounds"].items()),
    ]
    if answer["classes"]:
        facts.append(("classes", ", ".join(answer["classes"])))
    if answer["ridge"] is not None:
        facts.append(("ridge λ", as_given(answer["ridge"])))
    if answer["certificate"]:
        facts.append(
            (
                "distance from the exact minimum",
                f"≤ {rounded_up(answer['certificate']['distance'], digits=2)}",
            )
        )
    if answer["utility"]:
        facts.append(("what is promised", answer["utility"]["statement"]))
    return tuple(facts)


def _weights(answer: dict[str, Any]) -> tuple[TextTable, ...]:
    weights = answer["weights"]
    if "median" in weights:
        rows: tuple[tuple[str, ...], ...] = (("median", f"{weights['median']:.6g}"),)
        return (TextTable(caption="What is released", header=("name", "value"), rows=rows),)
    # One row of coefficients a class; a plain vector is a single one.
    table = weights["coefficients"]
    columns = table if table and isinstance(table[0], list) else [table]
    intercepts = weights["intercept"]
    intercepts = intercepts if isinstance(intercepts, list) else [intercepts]
    rows = tuple(
        (name, *(f"{column[i]:.6g}" for column in columns))
        for i, name in enumerate(answer["features"])
    )
    rows += (("intercept", *(f"{value:.6g}" for value in intercepts)),)
    several = len(columns) > 1
    header = ("feature", *((answer["classes"] or []) if several else ["weight"]))
    return (TextTable(caption="Weights", header=header, rows=rows),)
