"""Extract a mechanism's trees, on symbols for data of any value or on given datasets."""

import functools
import inspect
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from dpverify.certifying.language.checked import Program
from dpverify.certifying.language.interpreter import Interpreter
from dpverify.certifying.language.values import as_python
from dpverify.certifying.symbolic.exact import EpsilonUnit, ExactNumber
from dpverify.certifying.symbolic.generator import SymbolicGenerator
from dpverify.certifying.symbolic.outputs import holds_objects, plain_output, values
from dpverify.certifying.symbolic.reasons import NotUnderstood
from dpverify.certifying.symbolic.running import Course, Limits, Shared, Tree, current, explore
from dpverify.certifying.symbolic.schemas import Rows, concrete, flattened, slots, symbolic
from dpverify.certifying.symbolic.symbols import Symbolic
from dpverify.schema import Schema


@dataclass
class Extraction:
    """Runs one mechanism with one unit on symbols or data; noises keep their names across runs."""

    mechanism: Callable[..., Any]
    schema: Schema
    unit: EpsilonUnit
    epsilon: ExactNumber
    limits: Limits = field(default_factory=Limits)
    releasing: bool = False

    def __post_init__(self) -> None:
        self.program = Program(self.mechanism)
        self.more = (Symbolic({}, self.epsilon),) if self._wants_epsilon() else ()
        self.shared = Shared(self.unit, self.limits, releasing=self.releasing)
        self.courses: dict[Rows | int, list[Course]] = {}
        self._trees: dict[Rows, Tree] = {}

    def start_over(self) -> None:
        """Forget the names given to noises."""
        self.shared = Shared(self.unit, self.limits, releasing=self.releasing)

    def _wants_epsilon(self) -> bool:
        """Whether to pass `epsilon`: if the claim is for every ε, or if it has no default."""
        if not takes_epsilon(self.mechanism):
            if self.unit.every:
                raise NotUnderstood(
                    "a proof for every epsilon needs a mechanism(data, rng, epsilon)"
                )
            return False
        default = parameters(self.mechanism)["epsilon"].default
        return self.unit.every or default is inspect.Parameter.empty

    def on_symbols(self, length: int) -> tuple[int, Tree]:
        """The tree for datasets of so many records or answers, and the number of symbols."""
        declared = slots(self.schema, length)
        shared = self.shared
        shared.bounds = {n: b for n, b in shared.bounds.items() if not n.startswith("x")}
        for i, slot in enumerate(declared):
            shared.bounds[f"x{i}"] = (slot.low, slot.high)
            if slot.whole:
                shared.whole.add(f"x{i}")
        return len(declared), self._explored(lambda: symbolic(self.schema, length), length)

    def on(self, rows: Rows) -> Tree:
        """The tree for one dataset."""
        if rows not in self._trees:
            shared = self.shared
            shared.bounds = {n: b for n, b in shared.bounds.items() if not n.startswith("x")}
            self._trees[rows] = self._explored(lambda: concrete(self.schema, rows), rows)
        return self._trees[rows]

    def named(self, data: Any) -> tuple[dict[str, float], Any]:  # noqa: ANN401
        """The values of the symbols that stand for a dataset, and the dataset in symbols."""
        flat, length = flattened(self.schema, data)
        return {f"x{i}": float(x) for i, x in enumerate(flat)}, symbolic(self.schema, length)

    def fresh_shared(self, *, symbols: bool) -> Shared:
        """Shared state for one run outside the exploration, on symbols or on data."""
        if not symbols:
            return Shared(self.unit, self.limits)
        names = {f"x{i}" for i, s in enumerate(slots(self.schema, 1) * 64) if s.whole}
        return Shared(self.unit, self.limits, whole=names)

    def call_plainly(self, data: Any, rng: Any) -> Any:  # noqa: ANN401
        """Run the mechanism as it was given, without stand-ins."""
        multiple = self.epsilon.multiple()
        more = (float(multiple or 0) * self.unit.value,) if self.more else ()
        returned = self.mechanism(data, rng, *more)
        plain = plain_output(returned)
        if holds_objects(returned):
            raise NotUnderstood("it returns an array of objects", self._place())
        return plain

    def call(self, data: Any, rng: Any) -> Any:  # noqa: ANN401
        """One run: the plain form of what the mechanism returns."""
        returned = Interpreter(self.program).call(data, rng, *self.more)
        return plain_output(as_python(returned))

    def _place(self) -> str:
        main = self.program.main
        return f"{main.file}:{main.definition.lineno}"

    def _explored(self, data: Callable[[], Any], key: Rows | int) -> Tree:
        def program() -> Any:  # noqa: ANN401
            run = current.get()
            if run is None:  # pragma: no cover
                raise NotUnderstood("no run")
            output = self.call(data(), SymbolicGenerator(run))
            for value in values(output):
                run.check_spent(value)
            return output

        found: list[Course] = []
        tree = explore(program, self.shared, found)
        self.courses[key] = found
        return tree


def takes_epsilon(mechanism: Callable[..., Any]) -> bool:
    """Whether the mechanism takes `epsilon` as its third argument."""
    return list(parameters(mechanism))[2:3] == ["epsilon"]


def parameters(mechanism: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The parameters that a call of the function takes, whatever its attributes state."""
    try:
        return dict(inspect.signature(_bare(mechanism)).parameters)
    except (TypeError, ValueError):
        return {}


def _bare(mechanism: Callable[..., Any]) -> Callable[..., Any]:
    """The same function without its attributes."""
    if type(mechanism) is functools.partial:
        return functools.partial(_bare(mechanism.func), *mechanism.args, **mechanism.keywords)
    if isinstance(mechanism, types.FunctionType):
        plain = types.FunctionType(
            mechanism.__code__, {}, argdefs=mechanism.__defaults__, closure=mechanism.__closure__
        )
        plain.__kwdefaults__ = mechanism.__kwdefaults__
        return plain
    return mechanism
