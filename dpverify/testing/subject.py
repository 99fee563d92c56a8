"""What a decorated test is made of, and the function that pytest and hypothesis see."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import SearchStrategy

from dpverify.errors import InvalidParameter
from dpverify.guarantees import Guarantee
from dpverify.schema.rows import Neighboring, check_neighboring
from dpverify.testing.neighboring import NeighboringPair

Test: TypeAlias = Callable[..., Any]

_TRIED_BEFORE = 10  # pairs that are checked to be neighbors when the test is defined


@dataclass(frozen=True, slots=True)
class Subject:
    """What one decorated test is made of."""

    function: Test
    claim: Guarantee
    pairs: SearchStrategy[Any]
    relation: Neighboring
    level: float | None
    samples: int | None

    def as_test(self, execute: Callable[..., None]) -> Test:
        """The test: like one of hypothesis, with its decorators and its settings."""
        subject = self

        @functools.wraps(self.function)
        def test(*arguments: Any, **fixtures: Any) -> None:  # noqa: ANN401
            __tracebackhide__ = True
            execute(subject, test, arguments, fixtures)

        outline = self.body(lambda _pair: None)
        model = given(pair=self.pairs)(outline)
        test.__signature__ = self.signature()  # type: ignore[attr-defined]
        test.is_hypothesis_test = True  # type: ignore[attr-defined]
        test.hypothesis = model.hypothesis  # type: ignore[attr-defined]
        test.mechanism = self.function  # type: ignore[attr-defined]
        test.claim = self.claim  # type: ignore[attr-defined]
        return test

    def signature(self) -> inspect.Signature:
        """Of the test: all parameters but data and rng."""
        own = inspect.signature(self.function)
        kept = [p for name, p in own.parameters.items() if name not in {"data", "rng"}]
        return own.replace(parameters=kept)

    def body(self, see: Callable[[Any], None]) -> Test:
        """A function of one pair that hypothesis takes for the decorated one."""

        def body(pair: Any) -> None:  # noqa: ANN401
            see(pair)

        functools.update_wrapper(body, self.function)
        for name in [name for name in vars(body) if name.startswith("_hypothesis_internal")]:
            delattr(body, name)  # settings below this decorator are the test's, not the body's
        only = inspect.Parameter("pair", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        body.__signature__ = inspect.Signature([only])  # type: ignore[attr-defined]
        return body

    def sides(self, pair: Any) -> tuple[Any, Any]:  # noqa: ANN401
        """Left and right of what the strategy drew, which must be neighbors."""
        if isinstance(pair, NeighboringPair):
            left, right = pair.left, pair.right
        elif isinstance(pair, (tuple, list)) and len(pair) == 2:
            left, right = pair
        else:
            raise InvalidParameter(f"on=… must yield pairs (left, right), not {pair!r}")
        check_neighboring(left, right, self.relation)
        return left, right

    def try_pairs(self) -> None:
        """Raise if one of the first pairs of a strategy that we did not make is none."""
        trial = self.body(lambda pair: (self.sides(pair), None)[1])
        plain = settings(
            max_examples=_TRIED_BEFORE,
            database=None,
            derandomize=True,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        plain(given(pair=self.pairs)(trial))()
