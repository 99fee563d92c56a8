"""Audit a sampler: are batches drawn as the accounting says?

Privacy amplification by sampling is worth what the sampler does. Each way of drawing batches says
which batches are impossible, and how those that are possible are distributed; every test here has
a p-value that is exact or a bound, and together they refute a sampler that does what is claimed
with probability at most `level`.

What the tests rest on, given the sizes of the batches: batches of Poisson or of fixed-size sampling
are independent uniform subsets. So the overlap of one with the next is hypergeometric whatever the
first one is, and overlaps of successive batches are independent of each other; the chance that the
first batches share no record is a product of binomial coefficients; and how many draws of the later
half fall into a set that the first half chose is a sum of hypergeometric variables, whose tails are
below those of Chernoff for a binomial one [Hoeffding 1963]. Two sizes of Poisson sampling, given
their sum, are a draw of so many out of two equal urns. P-values of independent tests are combined
by Fisher's method, which is safe for discrete ones.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any, TypeAlias

import numpy as np
import scipy

from dpverify.arrays import Floats, Ints
from dpverify.errors import InvalidParameter, check_count, check_level, shown
from dpverify.mechanisms import (
    RandomAllocation,
    Shuffled,
    Subsampled,
    SubsampledWithoutReplacement,
    SubsampledWithReplacement,
)

Sampling: TypeAlias = (
    Subsampled
    | SubsampledWithoutReplacement
    | SubsampledWithReplacement
    | RandomAllocation
    | Shuffled
)
_MOST_INDICES = 200_000_000
_LEAST_P = 1e-300
_FEW = 2  # batches, at least
_NOTHING = "no amplification by sampling is known for it"


@dataclass(frozen=True, slots=True)
class BatchTest:
    """What one test saw in the batches, and its p-value under the claim."""

    seen: str
    p_value: float

    def __str__(self) -> str:
        if self.p_value == 0.0:
            return f"{self.seen}: impossible"
        return f"{self.seen}: probability at most {_up(self.p_value)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchVerdict:
    """Whether batches contradict the claimed sampling, and which sampling they look like.

    `looks_like` describes and proves nothing; `account_with` names what such batches are accounted
    for by, if there is anything.

    >>> import dpverify as dpv
    >>> batches = np.split(np.random.default_rng(0).permutation(100), 20)
    >>> shuffled = dpv.Shuffled(dpv.Gaussian(1.0), batches=20)
    >>> print(dpv.audit_batches(batches, claimed=shuffled, records=100, level=0.1))
    not refuted: shuffled epochs of 20 batches (20 batches, level 0.1)
    it looks like shuffled epochs of 20 batches: account for it with Shuffled(…, batches=20)
    """

    claimed: str
    refuted: bool
    level: float
    batches: int
    records: int
    tests: tuple[BatchTest, ...]
    looks_like: str
    account_with: str

    def __str__(self) -> str:
        head = "refuted" if self.refuted else "not refuted"
        lines = [f"{head}: {self.claimed} ({self.batches:,} batches, level {self.level:g})"]
        share = self.level / max(len(self.tests), 1)
        lines += [f"  {test}" for test in self.tests if test.p_value <= share]
        advice = f"account for it with {self.account_with}" if self.account_with else _NOTHING
        lines.append(f"it looks like {self.looks_like}: {advice}")
        return "\n".join(lines)


def audit_batches(  # noqa: PLR0913  # what is drawn, as what, and for how long
    batches: Iterable[Any],
    *,
    claimed: Sampling,
    records: int | None = None,
    epochs: int = 1,
    steps: int | None = None,
    level: float = 0.001,
) -> BatchVerdict:
    """Try to refute that batches of records are drawn as the accountant was told.

    Parameters
    ----------
    batches
        Batches of the indices 0 ≤ index < `records`; or a loader of PyTorch, or anything else that
        has a `batch_sampler` that gives them.
    claimed
        What the accounting composes: `Subsampled` for Poisson sampling,
        `SubsampledWithoutReplacement`, `SubsampledWithReplacement`, `Shuffled` or
        `RandomAllocation`.
    records
        The number of records; that of the loader's dataset if None. The rate of Opacus' loaders
        is 1/len(loader), which is not the size of a batch over the number of records.
    epochs
        How often to go through `batches`: a loader begins anew each time.
    steps
        Stop after so many batches.
    level
        Bound on the probability that batches that are drawn as claimed are refuted.

    >>> import dpverify as dpv
    >>> rng = np.random.default_rng(0)
    >>> shuffled = np.split(rng.permutation(1_000), 50)
    >>> poisson = dpv.Subsampled(dpv.Gaussian(1.0), rate=0.02)
    >>> print(audit_batches(shuffled, claimed=poisson, records=1_000))
    refuted: Poisson sampling at rate 0.02 (50 batches, level 0.001)
      the first 50 batches share no record: probability at most 1e-300
      what the first half drew often, the second draws less often: probability at most 6.2e-151
      sizes of batches are distributed otherwise: probability at most 5.5e-10
      sizes of batches are too even: probability at most 1.5e-05
    it looks like shuffled epochs of 50 batches: account for it with Shuffled(…, batches=50)
    """
    check_level(level)
    check_count("epochs", epochs)
    if steps is not None:
        check_count("steps", steps)
    scheme = _scheme_of(claimed)
    size = _records(batches, records)
    population = getattr(claimed, "population", None)
    if population is not None and population != size:
        raise InvalidParameter(
            f"claimed has population={population}, which must be the number of records, {size}"
        )
    seen = _Batches.read(batches, size, epochs, steps)
    tests = tuple(sorted(scheme.tests(seen), key=lambda test: test.p_value))
    likely, advice = _likeness(seen)
    return BatchVerdict(
        claimed=str(scheme),
        refuted=any(test.p_value <= level / len(tests) for test in tests),
        level=float(level),
        batches=len(seen.sizes),
        records=size,
        tests=tests,
        looks_like=likely,
        account_with=advice,
    )


# Batches, and what is counted in them.


@dataclass(frozen=True, slots=True, eq=False)
class _Batches:
    """Batches of indices, each sorted."""

    rows: list[Ints]
    records: int

    @classmethod
    def read(cls, batches: Any, records: int, epochs: int, steps: int | None) -> "_Batches":  # noqa: ANN401
        sampler = getattr(batches, "batch_sampler", None)
        if sampler is None and hasattr(batches, "batch_sampler"):
            raise InvalidParameter(
                f"batches={shown(batches)} must have a batch_sampler that is not None: a loader "
                "without one gives records, not their indices"
            )
        source = batches if sampler is None else sampler
        if not isinstance(source, Iterable):
            raise InvalidParameter(f"batches={shown(batches)} must be batches, one after another")
        rows, held = [], 0
        for number, batch in enumerate(islice(_again(source, epochs), steps)):
            row = _indices(batch, number, records)
            held += row.size
            if held > _MOST_INDICES:
                raise InvalidParameter(
                    f"steps={steps} must be fewer: batches hold more than {_MOST_INDICES:,} indices"
                )
            rows.append(row)
        if len(rows) < _FEW:
            raise InvalidParameter(
                f"batches must be {_FEW} at least to be told apart, got {len(rows)}"
            )
        return cls(rows, records)

    @property
    def sizes(self) -> Ints:
        return np.array([row.size for row in self.rows], dtype=np.int64)

    @property
    def repeats(self) -> list[int]:
        """The batches in which some record occurs twice."""
        return [i for i, row in enumerate(self.rows) if _distinct(row).size < row.size]

    def counts(self, first: int, last: int) -> Ints:
        """How often each record was drawn in a range of batches."""
        drawn = np.concatenate([*self.rows[first:last], np.zeros(0, dtype=np.int64)])
        return np.bincount(drawn, minlength=self.records)

    def overlap(self, one: int, other: int) -> int:
        return int(np.isin(self.rows[other], self.rows[one]).sum())

    @property
    def disjoint(self) -> int:
        """How many batches from the first on share no record."""
        met = np.zeros(self.records, dtype=bool)
        for i, row in enumerate(self.rows):
            if met[row].any() or _distinct(row).size < row.size:
                return i
            met[row] = True
        return len(self.rows)


def _again(source: Any, epochs: int) -> Iterator[Any]:  # noqa: ANN401
    for _ in range(epochs):
        yield from source


def _indices(batch: Any, number: int, records: int) -> Ints:  # noqa: ANN401
    told = batch.tolist() if hasattr(batch, "tolist") else batch
    try:
        row = np.asarray(told if isinstance(told, np.ndarray | list | tuple) else list(told))
    except (TypeError, ValueError):
        row = np.array([None])
    whole = row.ndim == 1 and (row.size == 0 or np.issubdtype(row.dtype, np.integer))
    if not whole or (row.size and (row.min() < 0 or row.max() >= records)):
        raise InvalidParameter(
            f"batches must hold whole numbers from 0 to {records - 1}, the indices of records; "
            f"number {number} is {shown(batch)}"
        )
    return np.sort(row.astype(np.int64))


def _records(batches: Any, records: int | None) -> int:  # noqa: ANN401
    if records is None:
        dataset = getattr(batches, "dataset", None)
        if not hasattr(dataset, "__len__"):
            raise InvalidParameter("records=None must be a number: batches have no dataset")
        return len(dataset)  # type: ignore[arg-type]  # it has a length
    check_count("records", records)
    return int(records)


def _distinct(row: Ints) -> Ints:
    return row[np.flatnonzero(np.diff(row, prepend=-1))]


# What batches would be, were they drawn as claimed.


@dataclass(frozen=True, slots=True)
class _Poisson:
    rate: float
    at_most: int | None = None

    def __str__(self) -> str:
        cut = "" if self.at_most is None else f", at most {self.at_most} records a batch"
        return f"Poisson sampling at rate {self.rate:g}{cut}"

    def tests(self, seen: _Batches) -> Iterator[BatchTest]:
        yield from _never_twice(seen)
        if self.at_most is None:
            yield self._total(seen)
            yield from _evenness(seen.sizes, 2 * seen.records)
        else:
            yield _impossible(seen.sizes > self.at_most, f"more than {self.at_most} records")
        yield self._law(seen)
        yield from _independence(seen)

    def _law(self, seen: _Batches) -> BatchTest:
        """By Dvoretzky, Kiefer, Wolfowitz and Massart: P(sup |F̂ − F| > x) ≤ 2·e^(−2·T·x²)."""
        sizes, number = np.unique(seen.sizes, return_counts=True)
        most = np.inf if self.at_most is None else self.at_most
        below, upto = (
            np.where(at >= most, 1.0, scipy.stats.binom.cdf(at, seen.records, self.rate))
            for at in (sizes - 1, sizes)
        )
        found = np.cumsum(number) / len(seen.sizes)
        before = found - number / len(seen.sizes)
        gap = float(np.max(np.maximum(np.abs(found - upto), np.abs(before - below))))
        p = min(1.0, 2.0 * math.exp(-2.0 * len(seen.sizes) * gap * gap))
        return BatchTest("sizes of batches are distributed otherwise", max(p, _LEAST_P))

    def _total(self, seen: _Batches) -> BatchTest:
        cells, drawn = seen.records * len(seen.sizes), int(seen.sizes.sum())
        tails = (
            scipy.stats.binom.cdf(drawn, cells, self.rate),
            scipy.stats.binom.sf(drawn - 1, cells, self.rate),
        )
        told = f"{drawn:,} records were drawn, {cells * self.rate:,.0f} are expected"
        return BatchTest(told, _twice(*tails))


@dataclass(frozen=True, slots=True)
class _Fixed:
    batch: int

    def __str__(self) -> str:
        return f"batches of {self.batch} without replacement"

    def tests(self, seen: _Batches) -> Iterator[BatchTest]:
        yield from _never_twice(seen)
        yield _impossible(seen.sizes != self.batch, f"not {self.batch} records")
        yield from _independence(seen)


@dataclass(frozen=True, slots=True)
class _Replaced:
    batch: int

    def __str__(self) -> str:
        return f"batches of {self.batch} with replacement"

    def tests(self, seen: _Batches) -> Iterator[BatchTest]:
        yield _impossible(seen.sizes != self.batch, f"not {self.batch} records")
        n, size = seen.records, len(seen.sizes)
        free = size - len(seen.repeats)
        alone = 0.0
        if self.batch <= n:
            alone = math.exp(float(np.log1p(-np.arange(self.batch) / n).sum()))
        tails = (
            scipy.stats.binom.cdf(free, size, alone),
            scipy.stats.binom.sf(free - 1, size, alone),
        )
        yield BatchTest(f"{free:,} of {size:,} batches draw no record twice", _twice(*tails))
        met = np.array([_distinct(row).size for row in seen.rows[:-1]]) / n
        hits = np.array([seen.overlap(i, i + 1) for i in range(size - 1)])
        yield from _both(
            scipy.stats.binom.cdf(hits, seen.sizes[1:], met),
            scipy.stats.binom.sf(hits - 1, seen.sizes[1:], met),
            ("successive batches share too few records", "successive batches share too many"),
        )
        yield _preference(seen)


@dataclass(frozen=True, slots=True)
class _Epochs:
    """Each record is in `selected` of so many batches; if `even`, batches are cuts of a shuffle."""

    batches: int
    selected: int
    even: bool

    def __str__(self) -> str:
        if self.even:
            return f"shuffled epochs of {self.batches} batches"
        return f"records in {self.selected} of every {self.batches} batches, at random"

    def tests(self, seen: _Batches) -> Iterator[BatchTest]:
        yield from _never_twice(seen)
        size, t = len(seen.sizes), self.batches
        wrong = []
        for start in range(0, size, t):
            counts = seen.counts(start, start + t)
            missing = int((self.selected - counts).sum()) if start + t <= size else 0
            # What is left over of a shuffle is less than a batch.
            allowed = max(int(seen.sizes[start]), 1) if self.even else 1
            wrong.append(bool((counts > self.selected).any()) or missing >= allowed)
        times = "once" if self.selected == 1 else f"{self.selected} times"
        yield _impossible(np.array(wrong), f"not every record {times}", what="epochs")
        if self.even:
            whole = np.array([i % t != t - 1 for i in range(size)])  # the last one may be smaller
            sizes = seen.sizes[whole]
            told = "other sizes than the first"  # by one, if the records are split evenly
            yield _impossible(np.abs(sizes - seen.sizes[0]) > 1, told)
        else:
            yield from self._swaps(seen)
        starts = range(0, size, t)
        yield from _overlaps(seen, list(starts), _EPOCHS)
        yield _ordered(seen)

    def _swaps(self, seen: _Batches) -> Iterator[BatchTest]:
        """Test which of two batches a record is in: each with probability 1/2, independently."""
        tails: list[tuple[float, float]] = []
        for start in range(0, len(seen.sizes), self.batches):
            for i in range(start, min(start + self.batches, len(seen.sizes)) - 1, 2):
                shared = seen.overlap(i, i + 1)
                one, other = (int(seen.sizes[j]) - shared for j in (i, i + 1))
                tails.append(_halves(min(one, other), scipy.stats.binom, one + other, 0.5))
        low, high = np.array(tails).reshape(-1, 2).T
        yield from _both(low, high, _EVENNESS)


_Scheme: TypeAlias = _Poisson | _Fixed | _Replaced | _Epochs


def _scheme_of(claimed: object) -> _Scheme:
    match claimed:
        case Subsampled():
            return _Poisson(float(claimed.rate), claimed.at_most)
        case SubsampledWithoutReplacement():
            return _Fixed(claimed.batch)
        case SubsampledWithReplacement():
            return _Replaced(claimed.batch)
        case RandomAllocation():
            return _Epochs(claimed.steps, claimed.selected, even=False)
        case Shuffled():
            return _Epochs(claimed.batches, 1, even=True)
        case _:
            raise InvalidParameter(
                f"claimed={shown(claimed)} must be what the accounting composes: Subsampled, "
                "SubsampledWithoutReplacement, SubsampledWithReplacement, RandomAllocation or "
                "Shuffled"
            )


# Tests.

_EVENNESS = ("sizes of batches are too even", "sizes of batches vary too much")
_EPOCHS = (
    "the first batch of an epoch shares too few records with that of the next",
    "the first batch of an epoch shares too many records with that of the next",
)
_SHARING = ("successive batches share too few records", "successive batches share too many records")


def _impossible(wrong: Any, told: str, *, what: str = "batches") -> BatchTest:  # noqa: ANN401
    """A test for what cannot happen under the claim: one occurrence refutes."""
    found = np.flatnonzero(wrong)
    if not found.size:
        return BatchTest(f"no {what} have {told}", 1.0)
    which = (
        f"{what} {found[0] + 1} and {found.size - 1:,} others"
        if found.size > 1
        else (f"{what} {found[0] + 1}")
    )
    return BatchTest(f"{which} of {len(wrong):,} have {told}", 0.0)


def _never_twice(seen: _Batches) -> Iterator[BatchTest]:
    wrong = np.zeros(len(seen.rows), dtype=bool)
    wrong[seen.repeats] = True
    yield _impossible(wrong, "a record twice")


def _evenness(sizes: Ints, cells: int) -> Iterator[BatchTest]:
    """Test whether two sizes, given their sum, split as a draw from two equal urns."""
    ones, others = sizes[:-1:2], sizes[1::2]
    tails = [
        _halves(min(a, b), scipy.stats.hypergeom, cells, cells // 2, a + b)
        for a, b in zip(ones.tolist(), others.tolist(), strict=True)
    ]
    low, high = np.array(tails).reshape(-1, 2).T
    yield from _both(low, high, _EVENNESS)


def _halves(least: int, law: Any, *parameters: Any) -> tuple[float, float]:  # noqa: ANN401
    """Two p-values for the smaller of two counts: one for too even a split, one for too uneven."""
    total = parameters[-1] if law is scipy.stats.hypergeom else parameters[0]
    beyond = 2.0 * float(law.cdf(least - 1, *parameters))
    uneven = min(1.0, 2.0 * float(law.cdf(least, *parameters))) if 2 * least < total else 1.0
    return max(1.0 - beyond, float(law.pmf(least, *parameters))), uneven


def _independence(seen: _Batches) -> Iterator[BatchTest]:
    """Tests whether batches are independent, uniform subsets of their sizes."""
    yield from _overlaps(seen, list(range(len(seen.sizes))), _SHARING)
    yield _disjointness(seen)
    yield _preference(seen)
    yield _ordered(seen)


def _overlaps(seen: _Batches, which: Sequence[int], told: tuple[str, str]) -> Iterator[BatchTest]:
    pairs = list(pairwise(which))
    if not pairs:
        return
    hits = np.array([seen.overlap(a, b) for a, b in pairs])
    one, other = (seen.sizes[list(side)] for side in zip(*pairs, strict=True))
    n = seen.records
    low, high = (
        scipy.stats.hypergeom.cdf(hits, n, one, other),
        scipy.stats.hypergeom.sf(hits - 1, n, one, other),
    )
    yield from _both(low, high, told)


def _both(low: Any, high: Any, told: tuple[str, str]) -> Iterator[BatchTest]:  # noqa: ANN401
    """Combine the p-values of independent tests, for each direction by itself."""
    for tails, what in zip((low, high), told, strict=True):
        yield BatchTest(what, _fisher(np.asarray(tails, dtype=np.float64)))


def _fisher(p_values: Floats) -> float:
    if not p_values.size:
        return 1.0
    logs = np.log(np.clip(p_values, _LEAST_P, 1.0))
    return max(float(scipy.stats.chi2.sf(-2.0 * logs.sum(), 2 * p_values.size)), _LEAST_P)


def _disjointness(seen: _Batches) -> BatchTest:
    count = seen.disjoint
    told = f"the first {count:,} batches share no record"
    sizes = seen.sizes[:count]
    before = np.cumsum(sizes) - sizes
    n = float(seen.records)
    # C(n − before, size)/C(n, size), whose term (size)! cancels.
    logs = scipy.special.gammaln(n - before + 1) - scipy.special.gammaln(n - before - sizes + 1)
    logs -= scipy.special.gammaln(n + 1) - scipy.special.gammaln(n - sizes + 1)
    rounding = 1e-12 * count * float(scipy.special.gammaln(n + 1) + 1.0)
    return BatchTest(told, max(math.exp(min(float(logs.sum()) + rounding, 0.0)), _LEAST_P))


def _preference(seen: _Batches) -> BatchTest:
    """Test whether records that were frequent in the first half are more frequent in the second."""
    middle = len(seen.sizes) // 2
    before = seen.counts(0, middle)
    chosen = before > before.mean()
    drawn = int(seen.sizes[middle:].sum())
    hits = int(seen.counts(middle, len(seen.sizes))[chosen].sum())
    told = "what the first half drew often, the second draws"
    share = float(chosen.mean())
    if not drawn or not 0.0 < share < 1.0:
        return BatchTest(f"{told} as often", 1.0)
    often = hits / drawn
    p = _chernoff(often, share, drawn)
    return BatchTest(f"{told} {'more often, too' if often > share else 'less often'}", p)


def _chernoff(found: float, mean: float, number: int) -> float:
    """An upper bound on the two-sided tail of a mean of draws, with or without replacement."""
    distance = float(
        scipy.special.rel_entr(found, mean) + scipy.special.rel_entr(1.0 - found, 1.0 - mean)
    )
    return max(min(1.0, 2.0 * math.exp(-number * distance * (1.0 - 1e-12))), _LEAST_P)


def _ordered(seen: _Batches) -> BatchTest:
    """Test whether the first batch favors low or high indices."""
    n, row = seen.records, seen.rows[0]
    half, drawn = n // 2, _distinct(row).size
    hits = int((_distinct(row) < half).sum())
    tails = (
        scipy.stats.hypergeom.cdf(hits, n, half, drawn),
        scipy.stats.hypergeom.sf(hits - 1, n, half, drawn),
    )
    return BatchTest(
        f"{hits:,} of the {drawn:,} records of the first batch have low indices", _twice(*tails)
    )


def _twice(low: float, high: float) -> float:
    return max(min(1.0, 2.0 * float(min(low, high))), _LEAST_P)


# A description, for the reader.


def _likeness(seen: _Batches) -> tuple[str, str]:
    """Which sampling the batches look like, and which accounting fits that."""
    sizes, n = seen.sizes, seen.records
    level = 1e-3
    preference = _preference(seen)
    if preference.p_value <= level and "more" in preference.seen:
        return "sampling in which some records are drawn more often than others", ""
    same = bool((sizes == sizes[0]).all())
    if seen.repeats:
        if same:
            told = f"batches of {sizes[0]} with replacement"
            return told, f"SubsampledWithReplacement(…, batch={sizes[0]}, population={n})"
        return "batches in which a record may be drawn several times", ""
    count = seen.disjoint
    left_out = n - int(sizes[:count].sum())
    if _disjointness(seen).p_value <= level or left_out == 0:
        if _ordered(seen).p_value <= level:
            return "batches in the order of the data, without a shuffle", ""
        if bool((sizes[: count - 1] == sizes[0]).all()):
            told = f"shuffled epochs of {count} batches"
            if 0 < left_out < sizes[0]:
                told += f", with {left_out} records left out"
            return told, f"Shuffled(…, batches={count})"
        told = f"records in one of every {count} batches"
        return told, f"RandomAllocation(…, steps={count})"
    if same:
        told = f"batches of {sizes[0]} without replacement"
        return told, f"SubsampledWithoutReplacement(…, batch={sizes[0]}, population={n})"
    rate = float(sizes.mean()) / n
    tests = [*_evenness(sizes, 2 * n), *_independence(seen)]
    if min(test.p_value for test in tests) > level / len(tests):
        return f"Poisson sampling at a rate of about {rate:.3g}", "Subsampled(…, rate=…)"
    return "no way of sampling that is known here", ""


def _up(p: float) -> str:
    """Two digits, rounded up."""
    exponent = math.floor(math.log10(p))
    digits = math.ceil(p / 10.0**exponent * 10.0 - 1e-9) / 10.0
    return f"{digits * 10.0**exponent:.2g}"
