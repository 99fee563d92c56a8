"""Settings of noisy gradient methods, for those who do not want the defaults."""

from dataclasses import dataclass

from dpverify.errors import (
    InvalidParameter,
    check_count,
    check_member,
    check_positive,
    settle_fields,
)
from solvers.descent import Output, check_path
from solvers.gradient_descent import ACCOUNTING, Accounting
from solvers.sgd import Batches


@dataclass(frozen=True, slots=True, kw_only=True)
class Descent:
    """Settings of noisy gradient descent, for `descent=` of a linear model.

    What is None is chosen from public numbers. None of it changes what a fit costs, which is the
    budget; it changes how much noise that buys, and what is made of it.

    Parameters
    ----------
    steps : int or None
        How many noisy gradients there are.
    learning_rate : float or None
        How far a step goes along the mean gradient.
    clip : float or None
        No record's gradient is longer than this.
    momentum : float
        Steps follow an average of gradients in which earlier ones weigh less by this factor each.
    output : {"average", "tail", "last"} or None
        The average of all iterates, of their later half, or the last.
    batches : PoissonBatches, FixedBatches, AllocatedBatches or None
        Which records a step looks at: for `method="sgd"`.
    accounting : {"steps", "last"}
        Whether the claim is about all steps or about the last iterate alone, which takes less
        noise for many steps where records are replaced: for `method="gradient"`.

    >>> from solvers import AllocatedBatches
    >>> Descent(momentum=0.9, batches=AllocatedBatches(10)).method
    'sgd'
    """

    steps: int | None = None
    learning_rate: float | None = None
    clip: float | None = None
    momentum: float = 0.0
    output: Output | None = None
    batches: Batches | None = None
    accounting: Accounting = "steps"

    def __post_init__(self) -> None:
        settle_fields(self)
        if self.steps is not None:
            check_count("steps", self.steps)
        for name in ("learning_rate", "clip"):
            if getattr(self, name) is not None:
                check_positive(name, getattr(self, name))
        check_path(self.output or "last", self.momentum)
        check_member("accounting", self.accounting, ACCOUNTING)
        if self.batches is not None and not isinstance(self.batches, Batches):
            raise InvalidParameter(
                f"batches={self.batches!r} must be PoissonBatches, FixedBatches, AllocatedBatches "
                "or None"
            )
        if self.batches is not None and self.accounting == "last":
            raise InvalidParameter(
                "accounting='last' must be 'steps' for batches: each step looks at other records"
            )

    @property
    def method(self) -> str:
        """The method that these settings are for."""
        return "gradient" if self.batches is None else "sgd"

    def check_method(self, method: str) -> None:
        """Raise if the method cannot use what is declared here."""
        allowed = ("auto", "gradient", "sgd") if self.batches is None else ("auto", "sgd")
        if self.accounting == "last":
            allowed = ("auto", "gradient")
        if method not in allowed:
            told = " or ".join(repr(name) for name in allowed)
            raise InvalidParameter(f"method={method!r} must be {told} for descent={self!r}")
