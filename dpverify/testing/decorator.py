"""`satisfies`: a mechanism becomes a test that looks for the pair that refutes its claim."""

from collections.abc import Callable
from typing import Any

from hypothesis.strategies import SearchStrategy

from dpverify.claims import Claim
from dpverify.guarantees import Guarantee
from dpverify.schema.rows import Neighboring
from dpverify.testing.execution import execute
from dpverify.testing.ledger import check_level, check_samples
from dpverify.testing.neighboring import relation_of
from dpverify.testing.subject import Subject, Test
from dpverify.testing.usage import check_claim, check_function, check_pairs


def satisfies(
    claim: Guarantee | Claim | None = None,
    *,
    on: SearchStrategy[Any] | None = None,
    relation: Neighboring | None = None,
    level: float | None = None,
    samples: int | None = None,
) -> Callable[[Test], Test]:
    """A test that fails if `claim` is refuted on some neighboring pair.

    The function that is decorated takes `data` and `rng` and returns what the mechanism releases;
    other parameters are fixtures or parametrized, as for any test. A correct mechanism fails with
    probability at most `level`, however many pairs are tried.

    Parameters
    ----------
    claim
        A guarantee, or a `Claim` with its relation.
    on
        Neighboring pairs: `neighbors(datasets, relation=…)`, or any strategy of pairs
        (left, right) together with `relation`, a relation or a predicate of left and right.
    level
        1e-6 unless this, the marker `privacy` or the option `--privacy-level` says otherwise.
    samples
        Most draws on each side before a failure is found, and again to shrink it; 40,000 unless
        this, the marker or `--privacy-samples` says otherwise. At least 500.

    >>> from hypothesis import strategies as st
    >>> from dpverify.guarantees import PureDP
    >>> from dpverify.testing import neighbors
    >>> pairs = neighbors(st.lists(st.booleans()), relation="add-remove")
    >>> @satisfies(PureDP(epsilon=1.0), on=pairs, level=1e-9)
    ... def test_private_count(data, rng):
    ...     return sum(data) + rng.laplace(scale=1.0)
    >>> test_private_count()
    """
    guarantee = check_claim(claim)
    pairs, known = check_pairs(on, relation, claim)
    if level is not None:
        check_level(level)
    if samples is not None:
        check_samples(samples)

    def decorate(test: Test) -> Test:
        subject = Subject(check_function(test), guarantee, pairs, known, level, samples)
        if relation_of(pairs) is None:
            subject.try_pairs()
        return subject.as_test(execute)

    return decorate
