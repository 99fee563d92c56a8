"""What scikit-learn does around a private fit without any claim, such as scaling or search.

A search that compares many fits, or a step that learned from the data what it does to them, looks
at records and is charged for nothing. A model cannot forbid that, but it can see who calls its
`fit`: it warns, and its claim says what it assumes.
"""

import functools
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags


class NotCharged(UserWarning):
    """A warning: data were used outside the private fit, and no budget was spent on it."""


def watched(fit: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `fit` so that its claim states what it assumes about the code that called it."""

    @functools.wraps(fit)
    def fitted(self: Any, *args: Any, **named: Any) -> Any:  # noqa: ANN401  # as `fit` has them
        uncharged = tuple(_uncharged())
        pipelines = [caller for caller in _callers() if isinstance(caller, Pipeline)]
        others = tuple(text for pipeline in pipelines for text in charged_apart(pipeline))
        for text in uncharged:
            warnings.warn(f"not charged to the budget: {text}", NotCharged, stacklevel=2)
        found = fit(self, *args, **named)
        if uncharged or others:
            assumes = dict.fromkeys((*self.claim_.assumes, *uncharged, *others))
            self.claim_ = replace(self.claim_, assumes=tuple(assumes))
        return found

    return fitted


def learned_steps(pipeline: Pipeline) -> list[str]:
    """Earlier pipeline steps that learn from data but claim no privacy."""
    return [name for name, step in before_last(pipeline) if not is_private(step) and learns(step)]


def stateless_steps(pipeline: Pipeline) -> list[str]:
    """Earlier pipeline steps that learn nothing."""
    return [
        name for name, step in before_last(pipeline) if not is_private(step) and not learns(step)
    ]


def _uncharged() -> Iterator[str]:
    for caller in _callers():
        if isinstance(caller, BaseSearchCV):
            yield (
                f"which settings {type(caller).__name__} keeps is public: it compares them on the "
                "data (solvers.PrivateGridSearch pays for that)"
            )
        if isinstance(caller, Pipeline) and (names := learned_steps(caller)):
            yield (
                f"what the steps {', '.join(names)} of a pipeline learned from the data is public "
                "(solvers.PrivateStandardizer pays for that)"
            )


def charged_apart(pipeline: Pipeline) -> Iterator[str]:
    """A note that private steps before this one are released as well, on budgets of their own."""
    if names := [name for name, step in before_last(pipeline) if is_private(step)]:
        yield f"the steps {', '.join(names)} are charged for themselves, beside this claim"


def _callers() -> list[Any]:
    """The objects whose methods are running, innermost first, each once."""
    found: dict[int, Any] = {}
    frame = sys._getframe(1)  # noqa: SLF001  # the only way to see a caller
    while frame is not None:
        owner = frame.f_locals.get("self")
        if isinstance(owner, (BaseSearchCV, Pipeline)):
            found[id(owner)] = owner
        frame = frame.f_back  # type: ignore[assignment]
    return list(found.values())


def before_last(pipeline: Pipeline) -> list[tuple[str, Any]]:
    """The pipeline steps before the last that do something."""
    return [(name, step) for name, step in pipeline.steps[:-1] if step not in {None, "passthrough"}]


def is_private(step: Any) -> bool:  # noqa: ANN401
    """Whether a step has a budget of its own."""
    return hasattr(step, "budget") and hasattr(step, "relation")


def learns(step: Any) -> bool:  # noqa: ANN401
    """Whether fitting a step looks at the data."""
    return bool(get_tags(step).requires_fit)
