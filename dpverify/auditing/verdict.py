"""The verdict of an audit: refuted, with a witness that can be replayed, or not refuted."""

import hashlib
import html
import json
import time
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from dpverify.arrays import Mask
from dpverify.auditing.attacks.draws import Confirm, Draws
from dpverify.auditing.attacks.events import Event, event_from_dict
from dpverify.auditing.sampling.drawing import SampleRaised, Side, Target
from dpverify.auditing.sampling.processes import Stopped
from dpverify.auditing.sampling.sampler import Sampler
from dpverify.auditing.sampling.spelling import canonical
from dpverify.auditing.statistics.binomial import Counts, epsilon_lower, rejects
from dpverify.auditing.statistics.points import Point, implied_points
from dpverify.balls import rounded_down
from dpverify.claims import AuditClaim, claim_from_dict
from dpverify.errors import InvalidParameter, check_count, check_level, check_positive, check_seed
from dpverify.files import write_whole
from dpverify.guarantees import GaussianDP
from dpverify.pairs.gaussian import GaussianPair
from dpverify.plain import decoded, encoded, fields_of, plain, restored, tagged

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FORMAT = 1
_MU_DIGITS = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Witness:
    """An event that is too likely on one side, with all that is needed to test it again.

    `counts` are of draws that had no part in choosing the event. `epsilon_lower` is what they
    alone show at δ = `delta`, at level `level`; 0 unless they are `fresh`, that is, drawn in a
    number that was set before. Those of an audit that was stopped are not: what they are depends
    on when the bets refuted. `also` is a second event that is too likely on the other side: its
    outputs that are not in the first are counted in `counts.also`, and both are judged together.

    >>> import dpverify as dpv
    >>> def half(data, rng):
    ...     return sum(data) + rng.laplace(scale=0.5)
    >>> verdict = dpv.audit(half, left=[0], right=[1], claim=dpv.PureDP(1.0), level=0.01, seed=1)
    >>> verdict.witness.replay(half, samples=2000, seed=2).refuted
    True
    """

    claim: AuditClaim
    left: Any
    right: Any
    event: Event
    favors: Side
    counts: Counts
    delta: float
    level: float
    seed: int
    fresh: bool = True
    also: Event | None = None

    @property
    def epsilon_lower(self) -> float:
        if not self.fresh:
            return 0.0
        return epsilon_lower(self.counts, delta=self.delta, level=self.level)

    def replay(
        self,
        mechanism: Target,
        *,
        samples: int = 10_000,
        seed: int,
        level: float | None = None,
        timeout: float | None = None,
    ) -> "Verdict":
        """Judge the same event on fresh draws: `samples` on each side, at `level` or its own.

        They are independent of all draws that the witness rests on, whatever the seed.
        """
        check_count("samples", samples)
        check_seed(seed)
        level = self.level if level is None else level
        check_level(level, least=1e-300)
        if timeout is not None:
            check_positive("timeout", timeout)
        sampler = Sampler(
            mechanism=mechanism,
            left=self.left,
            right=self.right,
            seed=int(seed),
            timeout=timeout,
            key=_replay_key(self),
        )
        return _judged(self, sampler, samples=samples, level=level)

    @property
    def counted(self) -> str:
        """The event in words, and how often it happened on each side."""
        told = _told(self.event, self.favors, self.counts)
        if self.also is not None and self.counts.also is not None:
            also = _told(self.also, self.favors.other, self.counts.also)
            told = f"{told}\nand, besides it, {also}"
        return told if self.fresh else f"{told} (the last draws that were bet on)"

    def __str__(self) -> str:
        if not self.fresh:
            return self.counted
        lower = rounded_down(self.epsilon_lower)
        return f"{self.counted}\nso ε ≥ {lower} at δ = {self.delta:g}, level {self.level:g}"

    def _repr_html_(self) -> str:
        """For notebooks: the event and its counts."""
        return f"<pre>{html.escape(str(self))}</pre>"

    def to_dict(self) -> dict[str, Any]:
        """The witness as a dictionary for JSON; data that JSON cannot hold become texts."""
        return {
            "version": _FORMAT,
            "claim": tagged(self.claim),
            "left": _stored(self.left),
            "right": _stored(self.right),
            "event": self.event.to_dict(),
            "event_in_words": str(self.event),
            "favors": plain(self.favors),
            "counts": _counts_told(self.counts),
            "delta": self.delta,
            "level": self.level,
            "seed": self.seed,
            "fresh": self.fresh,
            "epsilon_lower": self.epsilon_lower,
        } | ({} if self.also is None else {"also": self.also.to_dict()})

    def save(self, path: str | Path) -> None:
        """Write the witness to a JSON file."""
        text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)
        write_whole(path, text + "\n")

    @classmethod
    def load(cls, path: str | Path) -> "Witness":
        """Load a witness from a file that `save` wrote."""
        try:
            fields = json.loads(Path(path).read_text(encoding="utf-8"))
            return cls(
                claim=claim_from_dict(fields["claim"]),
                left=decoded(fields["left"]),
                right=decoded(fields["right"]),
                event=event_from_dict(fields["event"]),
                favors=restored(Side, fields["favors"]),
                counts=_counts_from(fields["counts"]),
                delta=float(fields["delta"]),
                level=float(fields["level"]),
                seed=int(fields["seed"]),
                fresh=bool(fields.get("fresh", True)),
                also=event_from_dict(fields["also"]) if fields.get("also") else None,
            )
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise InvalidParameter(
                f"path={str(path)!r} must hold a saved witness: {error}"
            ) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Finding:
    """What both verdicts share.

    `claim` was tested, and if honest is refuted with probability at most `level`. The truth of the
    pair at `delta` is at least `epsilon_lower`; this too errs with probability at most `level`.
    `samples` counts draws on each side until the decision; `tried` names the families of
    functions of the output among which events were sought, `unseen` what that leaves out.
    `float_leak` is a witness that the bits of the outputs break the claim, where outputs are judged
    as real numbers. Its level is apart: an honest mechanism has one with probability at most
    `level`, besides. Where bits were not looked at, a note says so. `notes` hold what else the
    reader should know, `unusable` why the outputs could not have shown anything. `stopped` says why
    the audit ended before its budget, if it did: what is told then holds at its level nevertheless,
    since it comes from bets, which may be stopped at any time; what was not looked at is left out.
    """

    claim: AuditClaim
    level: float
    epsilon_lower: float
    delta: float
    samples: int
    seconds: float
    tried: tuple[str, ...]
    float_leak: Witness | None = None
    notes: tuple[str, ...] = ()
    unusable: tuple[str, ...] = ()
    stopped: Stopped | None = None

    @property
    def most_shown(self) -> float:
        """The largest lower bound on ε that an audit of so many draws could have shown.

        It belongs to an event that always happened on one side and never on the other. Where bets
        refuted, the fresh draws that the witness was counted on may be more than `samples`.
        """
        witness = getattr(self, "witness", None)
        n = max(self.samples, 1, 0 if witness is None else witness.counts.trials)
        sure = Counts(hits=n, trials=n, other_hits=0, other_trials=n)
        return epsilon_lower(sure, delta=self.delta, level=self.level)

    @property
    def unseen(self) -> str:
        """What no draws would have shown: finitely many functions of an output were looked at."""
        if not self.tried:
            return "no event was looked for, so any difference goes unseen"
        return "a difference that shows in none of these goes unseen"

    @property
    def mu_lower(self) -> float | None:
        """For a claim of Gaussian DP: the smallest μ consistent with `epsilon_lower` at `delta`.

        If the claim is refuted, at least the μ that was claimed: both err at the same `level`.
        """
        if not isinstance(self.claim, GaussianDP):
            return None
        needed = mu_needed(self.epsilon_lower, self.delta)
        return max(needed, self.claim.mu) if isinstance(self, Refuted) else needed

    def to_dict(self) -> dict[str, Any]:
        witness = getattr(self, "witness", None)
        return {
            "version": _FORMAT,
            "refuted": isinstance(self, Refuted),
            "claim": tagged(self.claim),
            "level": self.level,
            "epsilon_lower": self.epsilon_lower,
            "mu_lower": self.mu_lower,
            "most_shown": self.most_shown,
            "delta": self.delta,
            "samples": self.samples,
            "seconds": self.seconds,
            "tried": list(self.tried),
            "unseen": self.unseen,
            "witness": None if witness is None else witness.to_dict(),
            "float_leak": None if self.float_leak is None else self.float_leak.to_dict(),
            "notes": list(self.notes),
            "unusable": list(self.unusable),
            "stopped": None if self.stopped is None else str(self.stopped),
        }

    @property
    def _bound(self) -> str:
        also = "" if self.mu_lower is None else f", so μ ≥ {rounded_down(self.mu_lower)}"
        return f"ε ≥ {rounded_down(self.epsilon_lower)} at δ = {self.delta:g}{also}"

    def plot(self, *, ax: "Axes | None" = None) -> "Axes":
        """Plot what is claimed against what was shown; on `ax`, or on a new figure."""
        from dpverify.reporting.plots import verdict_on  # noqa: PLC0415  # slow to import

        return verdict_on(self, ax)  # type: ignore[arg-type]  # this is one of the two

    def _repr_html_(self) -> str:
        """For notebooks: the verdict in color, with its text below."""
        first, *rest = str(self).split("\n")
        color = "#a40e26" if isinstance(self, Refuted) else "#0b4f8a"
        words = html.escape("\n".join(rest))
        return f'<b style="color:{color}">{html.escape(first)}</b><pre>{words}</pre>'

    def _tail(self) -> str:
        lines = [f"note: {note}" for note in (*self.unusable, *self.notes)]
        if self.stopped is not None:
            lines.insert(0, f"PARTIAL: the audit ended before its budget did: {self.stopped}")
        if self.float_leak is not None:
            shown = str(self.float_leak).replace("\n", "\n  ")
            lines.insert(
                0,
                "FLOATING-POINT LEAK: the bits of the outputs break the claim. The claim is about "
                "real numbers, so this does not refute it, and its level is apart: an honest "
                f"mechanism shows one with probability at most {self.level:g}, besides; to make "
                "it count, pass arithmetic='float' (--arithmetic float on the command line)\n"
                f"  {shown}",
            )
        return "".join(f"\n{line}" for line in lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refuted(_Finding):
    """The claim is false, or an event of probability at most `level` happened.

    >>> import dpverify as dpv
    >>> def half(data, rng):
    ...     return sum(data) + rng.laplace(scale=0.5)
    >>> verdict = dpv.audit(half, left=[0], right=[1], claim=dpv.PureDP(1.0), level=0.01, seed=1)
    >>> isinstance(verdict, dpv.Refuted), verdict.witness.event.feature
    (True, 'output')
    """

    witness: Witness

    @property
    def refuted(self) -> bool:
        return True

    def __str__(self) -> str:
        counts = self.witness.counts
        fresh = min(counts.trials, counts.other_trials)
        confirmed = f"; confirmed on {fresh:,} fresh ones" if self.witness.fresh else ""
        return (
            f"refuted: {self.claim} does not hold (level {self.level:g}, {self.seconds:.2f} s)\n"
            f"after {self.samples:,} draws a side{confirmed}: {self._bound}\n"
            f"left:  {shorter(self.witness.left)}\n"
            f"right: {shorter(self.witness.right)}\n"
            f"{self.witness.counted}{self._tail()}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NotRefuted(_Finding):
    """Nothing that was tried refutes the claim. This does not show that it is true.

    >>> import dpverify as dpv
    >>> def enough(data, rng):
    ...     return sum(data) + rng.laplace(scale=1.0)
    >>> verdict = dpv.audit(
    ...     enough, left=[0], right=[1], claim=dpv.PureDP(1.0), level=0.01, seed=1, samples=500
    ... )
    >>> verdict.refuted, verdict.epsilon_lower <= 1.0
    (False, True)
    """

    @property
    def refuted(self) -> bool:
        return False

    @property
    def witness(self) -> None:
        return None

    def __str__(self) -> str:
        return (
            f"not refuted: {self.claim} survived {self.samples:,} draws a side "
            f"(level {self.level:g}, {self.seconds:.2f} s); this is no proof of it\n"
            f"shown: {self._bound}; this many draws can show at most ε ≥ "
            f"{rounded_down(self.most_shown)}\n"
            f"tried: {'; '.join((*self.tried, self.unseen))}{self._tail()}"
        )


Verdict: TypeAlias = Refuted | NotRefuted
"""What an audit returns: `verdict.refuted` tells which of the two it is."""


def shorter(data: object, most: int = 100) -> str:
    """A dataset on one line, for people."""
    text = " ".join(repr(data).split())
    return text if len(text) <= most else f"{text[:most]} … ({len(text):,} characters)"


def mu_needed(epsilon: float, delta: float) -> float:
    """The smallest μ for which μ-GDP permits that ε at δ, rounded down."""
    if delta <= 0.0 or epsilon <= 0.0:
        return 0.0
    low, high = 0.0, 1.0
    while GaussianPair(Fraction(high) ** 2).delta(epsilon) <= delta:
        low, high = high, 2.0 * high
    while high - low > _MU_DIGITS * high:
        middle = (low + high) / 2.0
        inside = GaussianPair(Fraction(middle) ** 2).delta(epsilon) <= delta
        low, high = (middle, high) if inside else (low, middle)
    return low


def counts_of(
    event: Event, favors: Side, fresh: Confirm | Draws, *, also: Event | None = None
) -> Counts:
    """How often the event happened on draws that did not choose it.

    And how often a second one that favors the other side did, without the first.
    """
    favored, other = fresh.on(favors), fresh.on(favors.other)
    first = event.happens(favored), event.happens(other)
    counts = _counts(*first)
    if also is None:
        return counts
    alone = also.happens(other) & ~first[1], also.happens(favored) & ~first[0]
    return replace(counts, also=_counts(*alone))


def _counts(hits: Mask, others: Mask) -> Counts:
    return Counts(
        hits=int(hits.sum()),
        trials=len(hits),
        other_hits=int(others.sum()),
        other_trials=len(others),
    )


def _told(event: Event, favors: Side, c: Counts) -> str:
    names = {Side.LEFT: "left", Side.RIGHT: "right"}
    return (
        f"event: {event}\n"
        f"{names[favors]}: {c.hits:,} of {c.trials:,} draws; "
        f"{names[favors.other]}: {c.other_hits:,} of {c.other_trials:,}"
    )


def _counts_told(counts: Counts) -> dict[str, Any]:
    """The counts as a dictionary for JSON; `also` is left out if there is no second event."""
    told = fields_of(replace(counts, also=None))
    del told["also"]
    return told if counts.also is None else told | {"also": _counts_told(counts.also)}


def _counts_from(told: dict[str, Any]) -> Counts:
    also = _counts_from(told["also"]) if told.get("also") else None
    return Counts(**told | {"also": also})


def _stored(data: object) -> dict[str, Any]:
    """A dataset in a form that JSON can hold, or its text."""
    try:
        return encoded(data)
    except (TypeError, ValueError):
        return {"text": canonical(data)}


_REPLAY = 2  # first in the key of a replay; in that of an audit it is a side, 0 or 1


def _replay_key(witness: Witness) -> tuple[int, ...]:
    """A key that makes the draws of a replay independent of those that the witness rests on.

    A seed given by mistake a second time must not judge an event on the draws that chose it; nor
    may a witness that a replay has given, so the counts are part of it.
    """
    c = witness.counts
    known: tuple[object, ...] = (str(witness.event), c.hits, c.trials, c.other_hits)
    known += (c.other_trials, witness.seed)
    if c.also is not None:
        known += (str(witness.also), c.also.hits, c.also.other_hits)
    digest = hashlib.sha256(repr(known).encode("utf-8", "surrogatepass")).digest()
    return (_REPLAY, *(int.from_bytes(digest[i : i + 4], "big") for i in range(0, 16, 4)))


def _judged(witness: Witness, sampler: Sampler, *, samples: int, level: float) -> Verdict:
    """The verdict on a witness's event, from fresh draws."""
    start = time.perf_counter()
    fresh = Confirm(_drawn(sampler, samples))
    counts = counts_of(witness.event, witness.favors, fresh, also=witness.also)
    point = point_of(witness)
    common: dict[str, Any] = {
        "claim": witness.claim,
        "level": level,
        "epsilon_lower": epsilon_lower(counts, delta=point.delta, level=level),
        "delta": point.delta,
        "samples": samples,
        "seconds": time.perf_counter() - start,
        "tried": (str(witness.event),),
    }
    if rejects(counts, epsilon=point.epsilon, delta=point.delta, level=level):
        known = replace(witness, counts=counts, fresh=True)
        again = replace(known, level=level, seed=sampler.seed, delta=point.delta)
        return Refuted(**common, witness=again)
    return NotRefuted(**common)


def point_of(witness: Witness) -> Point:
    """The point (ε, δ) that the witness is tested against."""
    points = implied_points(witness.claim)
    return next((p for p in points if p.delta == witness.delta), points[0])


def _drawn(sampler: Sampler, samples: int) -> Draws:
    """Draw both sides in the same manner: one by one if `sample` raises, as in an audit."""
    try:
        return Draws.of(sampler, 0, samples)
    except SampleRaised:
        if sampler.singly:
            raise
        return _drawn(replace(sampler, singly=True), samples)
