"""The witness of a refutation by trace: a pair, a transcript and the arithmetic, in a file."""

# ruff: noqa: ANN401  # data are whatever a mechanism takes

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from flint import arb, ctx

from dpverify.balls import float_above, float_below
from dpverify.claims import AuditClaim, claim_from_dict
from dpverify.errors import InvalidParameter
from dpverify.files import write_whole
from dpverify.guarantees import ApproxDP, Bracket, PureDP
from dpverify.plain import decoded, encoded, plain, tagged
from dpverify.tracing.evidence.determination import determination
from dpverify.tracing.evidence.judging import is_broken, most
from dpverify.tracing.evidence.spending import spending
from dpverify.tracing.recording.draws import NoiseScript
from dpverify.tracing.recording.events import Move
from dpverify.tracing.recording.laws import LAWS, TracedLaw, loss
from dpverify.tracing.recording.quiet import quiet
from dpverify.tracing.recording.runs import Twin, record, replay

_FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class WitnessLine:
    """One released number: v + c·z on the left equals v′ + c′·z′ on the right."""

    where: str
    source: str
    law: str
    parameter: float
    left: float
    right: float
    scale: float
    scale_other: float
    released: float

    def __post_init__(self) -> None:
        for name in ("parameter", "left", "right", "scale", "scale_other", "released"):
            value = getattr(self, name)
            if type(value) not in {int, float} or not math.isfinite(value):
                raise InvalidParameter(f"{name}={value!r} of a line must be a finite number")
            object.__setattr__(self, name, float(value))
        for name in ("scale", "scale_other"):
            if getattr(self, name) == 0.0:
                raise InvalidParameter(f"{name}=0.0 of a line must not be 0")
        if self.law not in LAWS:
            raise InvalidParameter(f"law={self.law!r} of a line must be one of {', '.join(LAWS)}")

    def is_like(self, other: "WitnessLine") -> bool:
        """Whether two lines state the same numbers, up to rounding."""
        size = abs(self.released) + abs(self.left) + abs(self.right)
        return self.law == other.law and all(
            math.isclose(
                getattr(self, name), getattr(other, name), rel_tol=1e-9, abs_tol=1e-12 * (1 + size)
            )
            for name in ("parameter", "left", "right", "scale", "scale_other", "released")
        )

    def loss(self) -> arb:
        """ln of the ratio of densities at the released number, from these numbers alone."""
        law = TracedLaw(self.law, self.parameter)
        z = (self.released - self.left) / self.scale
        other = (self.released - self.right) / self.scale_other
        return loss(law, z, other, self.scale, self.scale_other)


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceWitness:
    """An exact counterexample to a claim: nothing in it is random, and it has no level.

    `noise` is the transcript: the standard draws of the run on the left. `lines` is what it
    released. For a pure claim the loss of this one transcript exceeds ε; for another claim the
    profile of the shifts does.

    >>> import dpverify as dpv
    >>> def half(data, rng):
    ...     return sum(data) + rng.laplace(scale=0.5)
    >>> found = dpv.trace(half, left=[0], right=[1], claim=dpv.PureDP(1.0))
    >>> found.witness.check(half), found.witness.loss.upper
    (True, 2.0)
    """

    claim: AuditClaim
    left: Any
    right: Any
    seed: int
    noise: tuple[float, ...]
    lines: tuple[WitnessLine, ...]
    determined: str
    output: str

    @property
    def loss(self) -> Bracket:
        """The exact privacy loss of the transcript, as a pair of float bounds."""
        with ctx.workprec(128):
            total = sum((line.loss() for line in self.lines), arb(0))
            return Bracket(float_below(total), float_above(total))

    def arithmetic(self) -> bool:
        """Check the witness's numbers alone: does the transcript's loss exceed a pure claim?

        For claims that are not pure the whole profile counts, which takes `check(mechanism)`.
        """
        if not isinstance(self.claim, (PureDP, ApproxDP)):
            return True
        if isinstance(self.claim, ApproxDP) and self.claim.delta > 0:
            return True
        return abs(self.loss.lower) > most(float(self.claim.epsilon))

    @quiet()
    def check(self, mechanism: Any) -> bool:
        """Run the mechanism again on both sides with the witness's noise, and judge again.

        The numbers must be those of the witness, a run on the same data with the same noise must
        repeat itself, and the output must give the releases back.
        """
        script = NoiseScript(self.seed, fixed=dict(enumerate(self.noise)))
        twin = replay(mechanism, self.right, record(mechanism, self.left, script))
        puzzles = [*twin.left.journal.puzzles, *twin.right.journal.puzzles]
        if twin.leaks or twin.right.diverged or puzzles:
            return False
        itself = replay(mechanism, self.left, twin.left)
        if itself.leaks or itself.differences:
            return False
        again = lines_of(twin)
        if len(again) != len(self.lines):
            return False
        if not all(a.is_like(b) for a, b in zip(again, self.lines, strict=True)):
            return False
        spent = spending(twin.differences)
        if not (spent.exact and is_broken(self.claim, spent) and self.arithmetic()):
            return False
        found = determination(mechanism, self.left, self.right, twin, self.seed)
        return found is not None and found.applies(self.claim)

    def __str__(self) -> str:
        rows = [
            f"  {line.where}: {line.source}\n    {line.left:.6g} on the left, {line.right:.6g} on "
            f"the right, {line.law} noise of scale {abs(line.scale):.6g}; released "
            f"{line.released:.6g}"
            for line in self.lines[:10]
        ]
        more = [] if len(self.lines) <= 10 else [f"  and {len(self.lines) - 10} more numbers"]
        total = self.loss
        head = f"this transcript loses {total.lower:.9g}; {self.determined}"
        return "\n".join([head, *rows, *more])

    def to_dict(self) -> dict[str, Any]:
        return {
            "version": _FORMAT,
            "kind": "trace witness",
            "claim": tagged(self.claim),
            "left": encoded(self.left),
            "right": encoded(self.right),
            "seed": self.seed,
            "noise": plain(self.noise),
            "lines": plain(self.lines),
            "loss": plain((self.loss.lower, self.loss.upper)),
            "determined": self.determined,
            "output": self.output,
        }

    def save(self, path: str | Path) -> None:
        """Write the witness as JSON."""
        text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)
        write_whole(path, text)

    @classmethod
    def load(cls, path: str | Path) -> "TraceWitness":
        """Load a witness from a file that `save` wrote."""
        try:
            held = json.loads(Path(path).read_text(encoding="utf-8"))
            if held["version"] != _FORMAT or held["kind"] != "trace witness":
                raise InvalidParameter(f"witness={str(path)!r} must be a trace witness, version 1")
            return cls(
                claim=claim_from_dict(held["claim"]),
                left=decoded(held["left"]),
                right=decoded(held["right"]),
                seed=int(held["seed"]),
                noise=tuple(map(float, held["noise"])),
                lines=tuple(WitnessLine(**row) for row in held["lines"]),
                determined=str(held["determined"]),
                output=str(held["output"]),
            )
        except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
            if isinstance(error, InvalidParameter):
                raise
            raise InvalidParameter(f"witness={str(path)!r} must be a trace witness") from None


def lines_of(twin: Twin) -> tuple[WitnessLine, ...]:
    """Every number of a twin that moved."""
    found = []
    for move in twin.differences:
        if not isinstance(move, Move):
            continue
        for i in range(len(move.shift)):
            scale = float(move.scale[i])
            value = float(move.values[i])
            if np.isnan(value):  # a sum of draws: the draw itself is what moved
                value = scale * float(move.z[i])
                at_left, at_right = 0.0, -float(move.shift[i])
            else:
                at_left = value - scale * float(move.z[i])
                at_right = at_left - float(move.shift[i])
            found.append(
                WitnessLine(
                    where=move.place.where,
                    source=move.place.source,
                    law=move.law.name,
                    parameter=move.law.parameter,
                    left=at_left,
                    right=at_right,
                    scale=scale,
                    scale_other=float(move.scale_other[i]),
                    released=value,
                )
            )
    return tuple(found)
