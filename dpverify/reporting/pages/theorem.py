"""The theorem that a number rests on, with the steps of its proof as they ran."""

from typing import Any

from dpverify.reporting.page import Section, TextTable
from dpverify.theorems import Theorem


def theorem_section(theorem: Theorem, proof: dict[str, Any] | None) -> Section:
    """Statement and source; and, where the proof was run, its steps and its verdict."""
    facts = [("theorem", theorem.name), ("source", theorem.source)]
    if theorem.proof:
        facts.append(("proof that runs", theorem.proof))
    if proof is not None:
        facts.append(("verdict of the proof", proof["verdict"]))
    return Section(
        title="The theorem behind it",
        text=(theorem.statement,),
        facts=tuple(facts),
        tables=() if proof is None else (steps_table(proof),),
        code=f"dpverify prove {theorem.name}",
    )


def steps_table(proof: dict[str, Any]) -> TextTable:
    """The steps of a proof that was run, as `dpverify prove --json` tells them."""
    return TextTable(
        caption="Steps of the proof, run when this page was written",
        header=("step", "holds", "evidence", "checked for", "formula"),
        rows=tuple(
            (
                step["name"],
                "yes" if step["holds"] else "NO",
                step["evidence"],
                step["scope"],
                step["formula"],
            )
            for step in proof["steps"]
        ),
    )
