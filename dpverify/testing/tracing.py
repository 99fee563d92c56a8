"""Traces for decorated tests: the loss of a pair from a few calls, and the lines at fault."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from dpverify.auditing.search.trials import Hint
from dpverify.auditing.statistics.points import implied_points
from dpverify.claims import AuditClaim
from dpverify.guarantees import ApproxDP, PureDP
from dpverify.tracing.evidence.releases import Release
from dpverify.tracing.search import is_straight
from dpverify.tracing.traced import Traced
from dpverify.tracing.tracer import Tracer

_LINES = 3  # that a failure names


@dataclass(frozen=True, slots=True)
class TracedPairs:
    """Traces pairs of datasets for a search; equal seeds give equal traces."""

    mechanism: Callable[..., object]
    claim: AuditClaim
    seed: int
    defects: list[str] = field(default_factory=list)

    def __call__(self, left: Any, right: Any, calls: int) -> Hint:  # noqa: ANN401
        """What a trace of the pair shows, from about so many calls.

        A mechanism's own exceptions are outputs. One that comes out of the trace is a defect of the
        trace: it is kept in `defects`, and draws alone judge the pair.
        """
        try:
            return self._told(left, right, calls)
        except Exception as error:  # noqa: BLE001  # whatever it is, the test goes on
            self.defects.append(f"{type(error).__name__}: {error}")
            return Hint(kept=False, refuted=False, loss=0.0, calls=2)

    def _told(self, left: Any, right: Any, calls: int) -> Hint:  # noqa: ANN401
        found = Tracer(
            mechanism=self.mechanism,
            left=left,
            right=right,
            claim=self.claim,
            seed=self.seed,
            budget=calls,
        ).run()
        shown, refuted = found.verdict == "shown", found.verdict == "refuted"
        return Hint(
            kept=shown and is_straight(self.mechanism, left, right, self.seed),
            refuted=refuted,
            loss=sum(release.loss for release in found.releases if release.loss >= 0.0),
            calls=found.executions + 2 * shown,
            epsilon_lower=self._epsilon_lower(found) if refuted else 0.0,
            lines=() if shown else _lines(found),
        )

    def _epsilon_lower(self, found: Traced) -> float:
        """ε at the δ for which the claim is most clearly false."""
        points = implied_points(self.claim)
        shown = [(found.epsilon(point.delta).lower, point.epsilon) for point in points]
        return max(shown, key=lambda pair: pair[0] - pair[1])[0]


def _lines(found: Traced) -> tuple[str, ...]:
    """The lines that leak or lose most, with their losses."""
    if found.leaks or found.puzzles:
        return tuple(str(part) for part in (*found.leaks, *found.puzzles))[:_LINES]
    worst = sorted(found.releases, key=lambda release: -release.loss)[:_LINES]
    return tuple(_told(release, found.claim) for release in worst)


def _told(release: Release, claim: AuditClaim) -> str:
    if release.distribution != "laplace" or not isinstance(claim, (PureDP, ApproxDP)):
        return str(release)
    paid = release.scale * claim.epsilon  # the shift that this noise allows
    return f"{release.place}: moved by {release.shift:.6g}, paid for {paid:.6g}"
