"""`satisfies`: turn a mechanism into a test that searches for a pair refuting its claim.

Misuse is found when the test is defined: a test that cannot fail must not pass.
"""

import dis
import inspect
import math
from collections.abc import Callable
from typing import Any, Literal

from hypothesis.strategies import SearchStrategy

from dpverify.claims import AuditClaim, Claim, Claimable, ProfileClaim, read_claim
from dpverify.errors import InvalidParameter, check_between, check_count, check_member
from dpverify.guarantees import ApproxDP, PureDP
from dpverify.neighbors import Relation
from dpverify.schema import Schema
from dpverify.schema.rows import Neighboring, check_relation
from dpverify.testing.context import FEWEST, LEVELS
from dpverify.testing.execution import Subject, Test, execute, points_of
from dpverify.testing.neighboring import relation_of
from dpverify.testing.schemas import pairs_of, relation_in, schema_of

_EXAMPLE = "for example dpv.PureDP(epsilon=1.0)"


def satisfies(  # noqa: PLR0913  # one keyword a setting
    claim: Claimable | None = None,
    *,
    on: SearchStrategy[Any] | None = None,
    relation: Neighboring | None = None,
    level: float | None = None,
    samples: int | None = None,
    by: Literal["audit", "decide"] = "audit",
    schema: Schema | None = None,
) -> Callable[[Test], Test]:
    """Turn a mechanism into a test that fails if `claim` is refuted on some neighboring pair.

    The function that is decorated takes `data` and `rng` and returns what the mechanism releases;
    other parameters are fixtures or parametrized, as for any test. A correct mechanism fails with
    probability at most `level`, however many pairs are tried.

    Each pair is traced first (`dpverify.trace`): where all data pass through noise that is seen, a
    few calls tell its exact loss and the line that spends it. Draws confirm what a trace refutes,
    decide where noise steers the code or is not followed, and test the pair that seems worst.

    Parameters
    ----------
    claim
        What an audit takes: a guarantee, a `Claim` with its relation, a pair, an accountant, a
        function ε ↦ δ, points (ε, δ) or a list of claims that hold together.
    on
        Neighboring pairs: `neighbors(datasets, relation=…)`, or any strategy of pairs
        (left, right) together with `relation`, a relation or a predicate of left and right.
    level
        1e-6 unless this, the marker `privacy` or the option `--privacy-level` says otherwise.
    samples
        Most draws on each side before a failure is found, and again to shrink it; 40,000 unless
        this, the marker or `--privacy-samples` says otherwise. At least 500.
    by
        "decide" climbs the whole ladder (`dpverify.decide`): the claim is certified first. If it is
        proved the test passes without a draw, if it is refuted exactly it fails with the
        counterexample; else traces and draws decide, as they do with "audit".
    schema
        What data look like, for "decide"; derived from `on` where that is `neighbors` of lists of
        bounded numbers, booleans or sampled values, with a `max_size`. Without `on`, pairs are
        taken from the schema.

    >>> from hypothesis import strategies as st
    >>> from dpverify.guarantees import PureDP
    >>> from dpverify.testing import neighbors
    >>> pairs = neighbors(st.lists(st.booleans()), relation="add-remove")
    >>> @satisfies(PureDP(epsilon=1.0), on=pairs, level=1e-9)
    ... def test_private_count(data, rng):
    ...     return sum(data) + rng.laplace(scale=1.0)
    >>> test_private_count()
    """
    check_given(claim)
    check_member("by", by, ("audit", "decide"))
    pairs, known, stated = check_neighbors(on, relation, claim, schema)
    if by == "decide" and schema is None:
        schema = schema_of(pairs, known)
    promised = check_claim(claim, stated)
    check_limits(level, samples)

    def decorate(test: Test) -> Test:
        read = schema if by == "decide" else None
        subject = Subject(check_function(test), promised, pairs, known, level, samples, read)
        if relation_of(pairs) is None:
            subject.try_pairs()
        return subject.as_test(execute)

    return decorate


def check_given(claim: object) -> None:
    """Raise if the claim is missing, or if the decorator was used without parentheses."""
    known = getattr(claim, "__code__", None)
    if claim is None or (known is not None and known.co_argcount != 1):
        raise InvalidParameter(f"claim={claim!r} must be a guarantee, {_EXAMPLE}")


def check_claim(claim: Claimable | None, relation: Relation | None = None) -> AuditClaim:
    """The claim as audits read it; raise if samples can never refute it."""
    check_given(claim)
    promised = read_claim(claim, relation)
    if isinstance(promised, ProfileClaim):
        return promised
    largest = max(getattr(promised, name) for name in promised.__dataclass_fields__)
    if isinstance(promised, (PureDP, ApproxDP)) or not math.isfinite(largest):
        points_of(promised)  # quick for these; it raises if there are none
    return promised


def check_limits(level: object, samples: object) -> None:
    """Raise unless the level and the number of draws, if given, are in range."""
    if level is not None:
        check_between("level", level, *LEVELS)
    if samples is not None:
        check_count("samples", samples)
        check_between("samples", samples, FEWEST, math.inf)


def check_pairs(on: object, relation: object, claim: object) -> tuple[Any, Neighboring]:
    """The strategy of pairs, and the relation under which they are neighbors."""
    if not isinstance(on, SearchStrategy):
        raise InvalidParameter(
            f"on={on!r} must be a strategy of neighboring pairs: neighbors(datasets, relation=…)"
        )
    made = relation_of(on)
    if made is None and relation is None:
        raise InvalidParameter(
            "relation=None must be given for a strategy of pairs that neighbors(…) did not make"
        )
    known = made if relation is None else check_relation(relation)
    several = claim if isinstance(claim, list | tuple) else [claim]
    claimed = [("claim", each.relation) for each in several if isinstance(each, Claim)]
    for name, other in (("on", made), *claimed):
        if other is not None and other is not known:
            raise InvalidParameter(f"relation={known!r} must be {other!r}, that of {name}")
    return on, known  # type: ignore[return-value]  # made is not None where relation is


def check_neighbors(
    on: object, relation: object, claim: object, schema: Schema | None
) -> tuple[Any, Neighboring, Relation | None]:
    """The pairs, checked to be neighbors, and the relation for the claim."""
    if on is None and schema is not None:
        return pairs_of(schema), relation_in(schema), schema.relation
    pairs, known = check_pairs(on, relation, claim)
    if not isinstance(known, Relation):
        return pairs, known, None
    if schema is not None and schema.relation not in {None, known}:
        raise InvalidParameter(f"schema with relation {schema.relation} must have {known}, as on=…")
    return pairs, known, known


def check_function(test: object) -> Callable[..., object]:
    """Raise unless `test` is a function of data and rng that returns its output."""
    if not inspect.isfunction(test):
        raise InvalidParameter(f"test={test!r} must be a function test(data, rng)")
    parameters = inspect.signature(test).parameters
    for wanted in ("data", "rng"):
        if wanted not in parameters:
            raise InvalidParameter(
                f"{test.__name__}{inspect.signature(test)} must take {wanted!r}: write "
                f"def {test.__name__}(data, rng) and draw all randomness from rng"
            )
        if parameters[wanted].kind is inspect.Parameter.POSITIONAL_ONLY:
            raise InvalidParameter(f"{test.__name__} must take {wanted!r} by keyword too")
    if inspect.iscoroutinefunction(test) or inspect.isgeneratorfunction(test):
        raise InvalidParameter(f"{test.__name__} must be a plain function: no async, no yield")
    if returns_nothing(test):
        raise InvalidParameter(
            f"{test.__name__} must return what the mechanism releases; it returns None always"
        )
    return test


def returns_nothing(function: Callable[..., object]) -> bool:
    """Whether the function's code can only return None.

    >>> returns_nothing(lambda data, rng: data)
    False
    """
    found = False
    before = None
    for step in dis.get_instructions(function):
        match step.opname:
            case "RETURN_CONST" if step.argval is None:
                found = True
            case "RETURN_VALUE" if not step.is_jump_target and _loads_none(before):
                found = True
            case "RETURN_CONST" | "RETURN_VALUE":
                return False
            case _:
                pass
        before = step
    return found


def _loads_none(step: dis.Instruction | None) -> bool:
    return step is not None and step.opname == "LOAD_CONST" and step.argval is None
