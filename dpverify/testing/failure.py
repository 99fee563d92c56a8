"""The exception of a failing privacy test, and its message."""

import ast
import re
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from dpverify.auditing.sampling.drawing import Side
from dpverify.auditing.verdict import Witness
from dpverify.claims import AuditClaim
from dpverify.guarantees import GUARANTEES
from dpverify.schema.rows import is_frame

_WIDTH = 2_000  # characters of a dataset that are printed
_SMALL = 1_000_000  # seeds below this were typed
_UNBOUNDED = re.compile(r"(?<![\w'\"])(-?inf|nan)(?![\w'\"])")


class PrivacyViolation(AssertionError):
    """Raised if a claim is refuted on a pair of neighboring datasets.

    `witness` holds the pair, the event and its counts; `witness.save(path)` writes it as JSON and
    `witness.replay(mechanism, seed=…)` judges the event again.
    """

    __module__ = "dpverify.testing"  # where it is imported from, and what pytest prints

    def __init__(
        self, message: str, *, witness: Witness | None = None, epsilon_lower: float = 0.0
    ) -> None:
        super().__init__(message)
        self.witness = witness
        self.epsilon_lower = epsilon_lower

    def add_note(self, note: str) -> None:
        """Keep the notes that hypothesis adds, except for the score that it maximized."""
        if not note.startswith("Highest target score"):
            super().add_note(note)


def shown(data: Any) -> str:  # noqa: ANN401  # whatever the mechanism takes
    """A dataset on one line, as one would type it.

    >>> import numpy as np
    >>> shown(np.eye(2))
    'array([[1.0, 0.0], [0.0, 1.0]])'
    """
    if is_frame(data):
        text = f"DataFrame({data.to_dict('list')!r})"
    elif isinstance(data, np.ndarray):
        text = f"array({data.tolist()!r})"
    else:
        text = " ".join(repr(data).split())
    return text if len(text) <= _WIDTH else f"{text[:_WIDTH]} …"


def described(  # noqa: PLR0913  # the lines of a message
    name: str,
    claim: AuditClaim,
    pair: tuple[Any, Any],
    witness: Witness | None,
    *,
    epsilon_lower: float,
    level: float,
    relation: str = "",
    effort: str = "",
    exactly: Sequence[str] = (),
    hints: Sequence[str] = (),
) -> str:
    """The failure message: pair, event, counts, what they refute, and how to reproduce it."""
    left, right = map(shown, pair)
    lines = [
        f"{name} does not keep {claim}",
        f"  left:   {left}",
        f"  right:  {right}" + (f"   ({relation})" if relation else ""),
    ]
    if exactly:
        lines += [f"  {line}" for line in exactly]
    elif witness is None:
        lines.append(f"  so:     ε ≥ {epsilon_lower:.6g} by the noise that was seen, exactly")
    else:
        lines += _evidence(witness, epsilon_lower, level)
    if effort:
        lines.append(f"  tried:  {effort}")
    return "\n".join([*lines, *(f"  {hint}" for hint in hints)])


def _evidence(witness: Witness, epsilon_lower: float, level: float) -> list[str]:
    sides = {Side.LEFT: "left", Side.RIGHT: "right"}
    favored, other = sides[witness.favors], sides[witness.favors.other]
    counts = witness.counts
    often = f"{counts.hits:,} of {counts.trials:,} draws"
    seldom = f"{counts.other_hits:,} of {counts.other_trials:,}"
    surety = f"wrong with probability at most {level:g}"
    second = []
    if (also := counts.also) is not None:
        often_too = f"{other} {also.hits:,} of {also.trials:,} draws"
        seldom_too = f"{favored} {also.other_hits:,} of {also.other_trials:,}"
        second = [f"  also:   {witness.also}", f"  counts: {often_too}, {seldom_too}"]
    return [
        f"  event:  {witness.event}",
        f"  counts: {favored} {often}, {other} {seldom}",
        *second,
        f"  so:     ε ≥ {epsilon_lower:.3f} at δ = {witness.delta:g}; {surety}",
    ]


def replay_line(name: str, claim: AuditClaim, witness: Witness) -> str:
    """A call that tests the same pair again with fresh draws.

    It runs as it is pasted, under `import dpverify as dpv` and the import of `assert_private`.
    The seeds of decorated tests are large numbers, so none is that of `assert_private`, 0. After
    `assert_private` with a small seed it takes the next one.
    """
    pair = f"{typed(witness.left)}, {typed(witness.right)}"
    seed = f", seed={witness.seed + 1}" if witness.seed < _SMALL else ""
    public = "dpv." if isinstance(claim, GUARANTEES) else ""
    return f"replay: assert_private({name}, {public}{claim!r}, {pair}{seed})"


def with_parameters(name: str, given: dict[str, Any]) -> str:
    """The mechanism's call in a parametrized test, or in one with fixtures.

    >>> with_parameters("test_sum.mechanism", {"scale": 2.0})
    'lambda data, rng: test_sum.mechanism(data=data, rng=rng, scale=2.0)'
    """
    if not given:
        return name
    told = (f"{n}={typed(v) if _is_typed(v) else n}" for n, v in given.items())
    return f"lambda data, rng: {name}(data=data, rng=rng, {', '.join(told)})"


def _is_typed(value: Any) -> bool:  # noqa: ANN401  # of a parameter or a fixture
    """Whether `typed` can reproduce the value, unlike some that fixtures make."""
    if is_frame(value) or isinstance(value, np.ndarray):
        return True
    try:
        return bool(eval(typed(value), {"__builtins__": {"float": float}}) == value)  # noqa: S307
    except Exception:  # noqa: BLE001  # a repr is any text
        return False


def typed(data: Any) -> str:  # noqa: ANN401  # whatever the mechanism takes
    """An expression for the data, given `import numpy as np` and `import pandas as pd`.

    >>> typed(np.array([1, 2], dtype="int8")), typed([float("inf")])
    ("np.array([1, 2], dtype='int8')", "[float('inf')]")
    """
    if is_frame(data):
        text = f"pd.{shown(data)}".replace(" Timestamp(", " pd.Timestamp(")
        text = text.replace("[Timestamp(", "[pd.Timestamp(")
        kept = data.dtypes != type(data)(data.to_dict("list")).dtypes
        if kept.any():
            text += f".astype({ {n: str(kind) for n, kind in data.dtypes[kept].items()}!r})"
    elif isinstance(data, np.ndarray):
        plain = np.array(data.tolist())
        kind = "" if plain.dtype == data.dtype else f", dtype={str(data.dtype)!r}"
        text = f"np.{shown(data)[:-1]}{kind})"
        text += "" if plain.shape == data.shape else f".reshape({data.shape})"
    else:
        text = shown(data)
    return _UNBOUNDED.sub(r"float('\g<0>')", text)


def raise_at(function: Any, violation: PrivacyViolation) -> NoReturn:  # noqa: ANN401
    """Raise with a traceback that ends at the test's definition, not in this library."""
    __tracebackhide__ = True
    code = function.__code__
    tree = ast.parse("def test(): raise violation")
    for node in ast.walk(tree):
        if isinstance(node, (ast.stmt, ast.expr)):
            node.lineno = node.end_lineno = code.co_firstlineno
            node.col_offset = node.end_col_offset = 0
    names: dict[str, Any] = {"violation": violation}
    exec(compile(tree, code.co_filename, "exec"), names)  # noqa: S102
    names["test"]()
    raise violation  # the call has raised it; this is for type checkers
