"""`dpverify decide`: is the claim proved, refuted, or not refuted? And which rung says so?"""

import sys
from pathlib import Path
from typing import Annotated

import typer

import dpverify as dpv
from dpverify.cli.exits import INTERRUPTED, MISUSE
from dpverify.cli.options import (
    Delta,
    Epsilon,
    Mu,
    Order,
    Report,
    Rho,
    Samples,
    SaveWitness,
    Seed,
    Target,
    claim_of,
    schema_of,
)
from dpverify.cli.origin import write_report
from dpverify.cli.output import (
    Json,
    check_output,
    check_page,
    command_line,
    number_option,
    print_json,
    progress,
    tell,
)
from dpverify.cli.targets import load_target
from dpverify.cli.verbs.audit import exit_code
from dpverify.errors import check_member

EXAMPLE = (
    "Example: dpverify decide package.module:callable --schema S.json --epsilon 1 --require proved"
)


def decide(
    target: Target,
    schema: Annotated[
        Path | None,
        typer.Option(help="JSON file that says what data look like; the target's own if none."),
    ] = None,
    epsilon: Epsilon = None,
    delta: Delta = 0.0,
    rho: Rho = None,
    mu: Mu = None,
    order: Order = None,
    require: Annotated[
        str | None, typer.Option(help="proved: anything less is an error, exit code 2.")
    ] = None,
    level: Annotated[float, number_option("Probability of refuting an honest mechanism.")] = 0.01,
    samples: Samples = None,
    seed: Seed = 0,
    seconds: Annotated[float, number_option("Seconds for all rungs.")] = 120.0,
    certificate: Annotated[
        Path | None, typer.Option(help="Write the certificate to this file, for dpverify check.")
    ] = None,
    save_witness: SaveWitness = None,
    report: Report = None,
    json: Json = False,
) -> int:
    """Try to prove a claim; if that fails trace the noise, and if that fails draw samples.

    Exit code 0: proved or not refuted; 1: refuted. The verdict says which of the three methods gave
    the answer, and what exactly it shows.
    """
    if require is not None:
        check_member("require", require, ("proved",))
    for name, path in (("certificate", certificate), ("save-witness", save_witness)):
        check_output(name, path)
    check_page(report)
    claim = claim_of(epsilon, delta, rho, mu, order)
    mechanism = load_target(target)
    described = schema_of(schema)
    doing = ["certify"]
    with progress(lambda: f"deciding on {target}: {doing[-1]}"):
        found = dpv.decide(
            mechanism,
            described,
            claim,
            level=level,
            seed=seed,
            samples=samples,
            seconds=seconds,
            progress=doing.append,
        )
    if json:
        print_json(found.to_dict())
    else:
        tell(str(found))
    _save(found, certificate, save_witness)
    if report is not None:
        _report(found, target, seed, report)
    return _exit_code(found, require)


def _save(found: "dpv.Decision", certificate: Path | None, witness: Path | None) -> None:
    """The certificate of the first rung, whatever it says; the witness of the others."""
    first, seen = found.rungs[0].evidence, found.witness
    if certificate is not None and isinstance(first, dpv.Certificate):
        first.save(certificate)
    if witness is not None and isinstance(seen, (dpv.TraceWitness, dpv.Witness)):
        seen.save(witness)


def _report(found: "dpv.Decision", target: str, seed: int, path: Path) -> None:
    from dpverify.reporting.pages.decision import decision_page  # noqa: PLC0415

    write_report(decision_page(found, target=target, command=command_line()), path, seed=seed)


def _exit_code(found: "dpv.Decision", require: str | None) -> int:
    """1 refuted; 2 if it is less than what is required, or an audit failed; 130 interrupted."""
    if found.refuted:
        return 1
    if found.stopped is not None:
        return INTERRUPTED
    evidence = found.evidence
    code = 0 if isinstance(evidence, (dpv.Certificate, dpv.Traced)) else exit_code(evidence)
    if code == 0 and require is not None and found.verdict != require:
        sys.stderr.write(f"dpverify: require={require!r} is not met: {found.verdict}\n")
        return MISUSE
    return code
