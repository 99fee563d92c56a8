"""Programs that rarely, or in small ways, do on numbers what they do not do on symbols."""

import gc
import json
import numbers
import pickle
import types
from collections.abc import Callable
from fractions import Fraction
from typing import Any, SupportsIndex

import numpy as np
import pytest

import dpverify as dpv
from dpverify.certifying.extracting.extraction import Extraction
from dpverify.certifying.rehearsal import rehearse
from dpverify.certifying.symbolic.reading import unit_of
from dpverify.certifying.symbolic.reasons import NotUnderstood
from dpverify.schema import Answers, Number, Records
from tests.certifying.elsewhere import few_digits

Rng = np.random.Generator
NUMBER = Answers(sensitivity=1.0)
ANSWER = Answers(dimension=1, sensitivity=1.0, low=0.0, high=1.0)
LARGE = Answers(dimension=1, sensitivity=1.0, low=0, high=1_000_000, integer=True)
LIST = Records(
    record=Number(low=0.0, high=1.0), length=1, relation=dpv.Relation.REPLACE_ONE, layout="rows"
)
BIT = Records(
    record=Number(low=0, high=1, integer=True), length=None, relation=dpv.Relation.REPLACE_ONE
)


def seldom(x: Any) -> bool:  # noqa: ANN401
    """On neighbors that no search happens upon."""
    return bool(x > 0.6131 and x < 0.6134)


def told_by_its_type(data: Any, _rng: Rng) -> int:  # noqa: ANN401
    return int(seldom(data[0]) and isinstance(data[0], numbers.Complex))


def told_by_its_class(data: Any, _rng: Rng) -> int:  # noqa: ANN401
    return int(seldom(data[0]) and data[0].__class__.__name__ != "Symbolic")


def told_by_its_digits(data: Any, _rng: Rng) -> int:  # noqa: ANN401
    real = isinstance(data[0], numbers.Real)
    return int(real and 8 < Fraction(data[0]).denominator < 1000)


def told_by_what_numpy_says(data: Any, _rng: Rng) -> int:  # noqa: ANN401
    return int(isinstance(data[0], np.floating) and 8 < Fraction(float(data[0])).denominator < 99)


def told_elsewhere(data: Any, _rng: Rng) -> int:  # noqa: ANN401
    return few_digits(data[0])


class Told:
    """A mechanism that asks another method of its own."""

    def asked(self, x: Any) -> int:  # noqa: ANN401
        return int(type(x) == float and 8 < Fraction(x).denominator < 1000)  # noqa: E721

    def __call__(self, data: Any, _rng: Rng) -> int:  # noqa: ANN401
        return self.asked(data[0])


def told_by_its_bits(data: Any, _rng: Rng) -> int:  # noqa: ANN401
    return int(data.dtype.kind == "f" and data.view(np.int64)[0] % 2**45 == 0 and data[0] < 0.2)


def told_by_its_pickle(data: Any, _rng: Rng) -> int:  # noqa: ANN401
    return int(pickle.dumps(data[0])[14:18] == b"\0\0\0\0")


def told_by_an_exception(data: Any, _rng: Rng) -> int:  # noqa: ANN401
    try:
        return int(len(json.dumps(data[0])) < 6)
    except TypeError:
        return 0


def told_by_any_exception(data: Any, _rng: Rng) -> int:  # noqa: ANN401
    try:
        return int(len(json.dumps(data[0])) < 6)
    except:  # noqa: E722
        return 0


def told_by_a_complex_number(data: Any, _rng: Rng) -> int:  # noqa: ANN401
    if not seldom(data[0]):
        return 0
    try:
        return int((data[0] + 1j).imag)
    except TypeError:
        return 0


def numpy_truth_values_add_up_otherwise(data: Any, _rng: Rng) -> int:  # noqa: ANN401
    rare = (data[0] > 0.6131) & (data[0] < 0.6134)
    return int((rare + rare) - 2 * rare)


def numpy_truth_values_are_inverted_otherwise(data: Any, _rng: Rng) -> int:  # noqa: ANN401
    rare = (data[0] > 0.6131) & (data[0] < 0.6134)
    return 0 if ~rare else 1


def whole_numbers_overflow(data: Any, _rng: Rng) -> bool:  # noqa: ANN401
    return bool(data[0] * (2**63 // 999_990) >= 0)


def zero_has_a_sign(data: Any, _rng: Rng) -> Any:  # noqa: ANN401
    return (data[0] - 0.5) * 0


def zero_is_negated(data: Any, _rng: Rng) -> Any:  # noqa: ANN401
    zero = data[0] - data[0]
    return -zero if data[0] > 0.5 else zero


def zero_of_whole_noise_is_negated(bit: Any, rng: Rng) -> float:  # noqa: ANN401
    noise = float(rng.geometric(0.5) - rng.geometric(0.5))
    return -noise if bit else noise


def integers_of_eight_bits(bit: Any, rng: Rng) -> int:  # noqa: ANN401
    return int(abs(bit - rng.integers(0, 2, dtype=np.uint8)))


def chosen_lists_are_arrays(bit: Any, rng: Rng) -> int:  # noqa: ANN401
    return int((rng.choice([[0], [0]]) + [bit])[0])  # noqa: RUF005


def chosen_truth_values_are_numpys(bit: Any, rng: Rng) -> int:  # noqa: ANN401
    chosen = rng.choice([bit == 1])
    return int((chosen + chosen) - 2 * chosen)


def permuted_truth_values_are_numpys(bit: Any, rng: Rng) -> int:  # noqa: ANN401
    chosen = rng.permutation([bit == 1])[0]
    return int((chosen + chosen) - 2 * chosen)


def shuffled_truth_values_stay(bit: Any, rng: Rng) -> bool:  # noqa: ANN401
    flags = [bit == 1]
    rng.shuffle(flags)
    return flags[0] is True


def drawn_into_an_array(bit: Any, rng: Rng) -> int:  # noqa: ANN401
    held = np.zeros(1)
    rng.random(out=held)
    return int(bit) if held[0] > 0.5 else 0


def drawn_in_single_precision(bit: Any, rng: Rng) -> Any:  # noqa: ANN401
    return rng.standard_normal(dtype=np.float32) + 1e-12 * bit


def chosen_rows_are_copies(bit: Any, rng: Rng) -> int:  # noqa: ANN401
    table = np.array([[int(bit)]])
    row = rng.choice(table)
    row[:] = 0
    return int(table.sum())


def methods_have_names(bit: Any, rng: Rng) -> int:  # noqa: ANN401
    return int(bit) if rng.laplace.__qualname__ == "Generator.laplace" else 0


def methods_have_no_code(bit: Any, rng: Rng) -> int:  # noqa: ANN401
    return 0 if hasattr(rng.laplace, "__code__") else int(bit)


def noise_of_scale_minus_zero(bit: Any, rng: Rng) -> float:  # noqa: ANN401
    return float(rng.laplace(scale=-0.0 if bit else 0.0))


@pytest.mark.parametrize(
    ("mechanism", "schema"),
    [
        (chosen_rows_are_copies, BIT),
        (methods_have_names, BIT),
        (methods_have_no_code, BIT),
        (noise_of_scale_minus_zero, BIT),
        (told_by_its_type, ANSWER),
        (told_by_its_class, LIST),
        (told_by_its_digits, LIST),
        (told_by_what_numpy_says, ANSWER),
        (told_elsewhere, LIST),
        (Told(), LIST),
        (told_by_its_bits, ANSWER),
        (told_by_its_pickle, LIST),
        (told_by_an_exception, LIST),
        (told_by_any_exception, LIST),
        (told_by_a_complex_number, ANSWER),
        (numpy_truth_values_add_up_otherwise, ANSWER),
        (numpy_truth_values_are_inverted_otherwise, ANSWER),
        (whole_numbers_overflow, LARGE),
        (zero_has_a_sign, ANSWER),
        (zero_is_negated, ANSWER),
        (zero_of_whole_noise_is_negated, BIT),
        (integers_of_eight_bits, BIT),
        (chosen_lists_are_arrays, BIT),
        (chosen_truth_values_are_numpys, BIT),
        (permuted_truth_values_are_numpys, BIT),
        (shuffled_truth_values_stay, BIT),
        (drawn_into_an_array, BIT),
        (drawn_in_single_precision, BIT),
    ],
)
def test_a_disguise_is_not_proved(mechanism: Callable[..., Any], schema: Any) -> None:  # noqa: ANN401
    found = dpv.certify(mechanism, schema, dpv.PureDP(epsilon=0.1), seconds=1.0)
    assert not found.proved
    assert found.refuted or found.reason


def cut_by_astype(data: Any, rng: Rng) -> bool:  # noqa: ANN401
    return bool(data.astype(int)[0] + rng.laplace(scale=100.0) > 0)


def cut_by_a_sum(data: Any, rng: Rng) -> bool:  # noqa: ANN401
    return bool(np.sum(data, dtype=int) + rng.laplace(scale=100.0) > 0)


def cut_by_a_running_sum(data: Any, rng: Rng) -> bool:  # noqa: ANN401
    return bool(np.cumsum(data, dtype=int)[0] + rng.laplace(scale=100.0) > 0)


def cut_one_by_one(data: Any, rng: Rng) -> bool:  # noqa: ANN401
    return bool(np.fromiter(data, dtype=int)[0] + rng.laplace(scale=100.0) > 0)


def rounded_to_half_precision(data: Any, rng: Rng) -> bool:  # noqa: ANN401
    return bool(np.array(data, dtype=np.float16)[0] + rng.laplace(scale=100.0) > 0)


def held_in_single_precision(data: Any, rng: Rng) -> bool:  # noqa: ANN401
    held = np.zeros(1, dtype=np.float32)
    held[0] = data[0]
    return bool(held[0] + rng.laplace(scale=100.0) > 0)


@pytest.mark.parametrize(
    "mechanism",
    [
        *(cut_by_astype, cut_by_a_sum, cut_by_a_running_sum, cut_one_by_one),
        *(rounded_to_half_precision, held_in_single_precision),
    ],
)
def test_what_rounds_is_open_and_says_where(mechanism: Callable[..., Any]) -> None:
    """From 0.999 to 1 an answer moves by 0.001, and by 1 once its digits are cut."""
    schema = Answers(dimension=1, sensitivity=0.001, low=0.0, high=3.0)
    found = dpv.certify(mechanism, schema, dpv.PureDP(epsilon=1e-5), seconds=1.0)
    assert found.verdict == "open"
    assert "test_disguises.py" in found.reason


def shared_by_asarray(data: Any, rng: Rng) -> bool:  # noqa: ANN401
    same = np.asarray(data)
    same *= 3
    return bool(data[0] + rng.laplace(scale=100.0) > 0)


def shared_as_floats(data: Any, rng: Rng) -> bool:  # noqa: ANN401
    same = np.asarray(data, dtype=float)
    same *= 3
    return bool(data[0] + rng.laplace(scale=100.0) > 0)


def copied_by_array(data: Any, rng: Rng) -> bool:  # noqa: ANN401
    other = np.array(data)
    other *= 3
    return bool(data[0] + rng.laplace(scale=100.0) > 0)


@pytest.mark.parametrize(
    ("mechanism", "epsilon"),
    [(shared_by_asarray, 0.03), (shared_as_floats, 0.03), (copied_by_array, 0.01)],
)
def test_an_array_is_shared_as_numpy_shares_it(
    mechanism: Callable[..., Any], epsilon: float
) -> None:
    assert dpv.certify(mechanism, ANSWER, dpv.PureDP(epsilon=epsilon)).proved
    assert dpv.certify(mechanism, ANSWER, dpv.PureDP(epsilon=0.9 * epsilon)).refuted


def divides() -> bool:
    """NumPy's numbers divide by zero."""
    with np.errstate(all="ignore"):
        try:
            np.ones(1) / 0
        except ZeroDivisionError:
            return False
    return True


def is_written(x: Any) -> bool:  # noqa: ANN401
    same = Exception
    try:
        json.dumps(x)
    except same:
        return False
    return True


TELLS: dict[str, Callable[[Any, Rng], Any]] = {
    "a protocol": lambda x, _: not isinstance(x, SupportsIndex),
    "the collector": lambda x, _: not gc.is_tracked(x),
    "a text": lambda *_: "object" not in repr(np.zeros(1)),
    "a part of an array": lambda *_: isinstance(np.zeros(1)[0], np.generic),
    "a division": lambda *_: divides(),
    "another name for exceptions": lambda x, _: is_written(x),
    "the name of a type": lambda *_: float.__name__ == "float",
    "a module": lambda *_: isinstance(np, types.ModuleType),
    "equal types": lambda *_: type(1.0) == float,  # noqa: E721, UP003
    "an attribute": lambda *_: hasattr(np.zeros(1)[0], "shape"),
    "a name": lambda *_: max.__name__ == "max",
}


@pytest.mark.parametrize("tell", TELLS.values(), ids=TELLS.keys())
def test_a_step_that_no_symbol_takes_is_open_with_its_line(tell: Callable[..., Any]) -> None:
    """What follows from it is seldom: neither a search nor a random dataset finds it."""

    def mechanism(data: Any, rng: Rng) -> Any:  # noqa: ANN401
        if tell(data[0], rng) and 0.61312 < data[0] < 0.61337:
            return 5.0
        return data[0] + rng.laplace(scale=1.0)

    extraction = Extraction(mechanism, LIST, *unit_of(1.0))
    extraction.on_symbols(1)
    with pytest.raises(
        NotUnderstood, match=r"test_disguises.py:\d+: it computes something else on plain"
    ):
        rehearse(extraction)


@pytest.mark.parametrize("tell", TELLS.values(), ids=TELLS.keys())
def test_a_bound_that_numbers_move_is_open_with_its_line(tell: Callable[..., Any]) -> None:
    """The same steps are taken in both runs; only data between two bounds would tell."""

    def mechanism(data: Any, rng: Rng) -> Any:  # noqa: ANN401
        x = data[0]
        if (x > 0.613 + 1e-5 * bool(tell(x, rng))) != (x > 0.613):
            return 5.0
        return x + rng.laplace(scale=1.0)

    extraction = Extraction(mechanism, LIST, *unit_of(1.0))
    extraction.on_symbols(1)
    with pytest.raises(NotUnderstood, match=r"test_disguises.py:\d+: it computes something else"):
        rehearse(extraction)


def far_away(x: Any, rng: Rng) -> Any:  # noqa: ANN401
    if x > 1e12 and repr(np.zeros(1)) == "array([0.])":
        return 8.0
    return x + rng.laplace(scale=1.0)


def with_other_bits(x: Any, rng: Rng) -> Any:  # noqa: ANN401
    bits = object.__getattribute__(rng, "bit_generator")
    state = bits.state
    rare = np.random.Generator.random(rng) < 1e-3
    bits.state = state
    return x if rare else x + rng.laplace(scale=1.0)


@pytest.mark.parametrize("mechanism", [far_away, with_other_bits])
def test_what_no_random_dataset_finds_is_open(mechanism: Callable[..., Any]) -> None:
    found = dpv.certify(mechanism, NUMBER, dpv.PureDP(epsilon=1.0), seconds=4.0)
    assert found.verdict == "open"


def test_a_gaussian_that_symbols_alone_take_for_thin_is_not_refuted() -> None:
    def mechanism(x: Any, rng: Rng) -> Any:  # noqa: ANN401
        scale = (0.1, 10.0)[repr(np.zeros(1)) == "array([0.])"]
        return x + rng.normal(scale=scale)

    found = dpv.certify(mechanism, NUMBER, dpv.GaussianDP(mu=1.0), seconds=4.0)
    assert found.verdict == "open"


def test_code_without_a_source_is_open() -> None:
    names: dict[str, Any] = {}
    exec("def mechanism(x, rng):\n    return x + rng.laplace(scale=1.0)", names)  # noqa: S102
    found = dpv.certify(names["mechanism"], NUMBER, dpv.PureDP(epsilon=1.0), seconds=4.0)
    assert found.verdict == "open"
    assert "source cannot be read" in found.reason


def test_a_step_that_no_symbol_takes_is_found_in_loops_of_any_length() -> None:
    def mechanism(data: Any, rng: Rng) -> bool:  # noqa: ANN401
        threshold, usual = rng.laplace(scale=2.0), divides()
        for x in data:
            if usual and 0.61312 < x < 0.61337:
                return True
            if x + rng.laplace(scale=4.0) > threshold:
                return True
        return False

    schema = Answers(dimension=(1, None), sensitivity=1.0)
    assert not dpv.certify(mechanism, schema, dpv.PureDP(epsilon=1.0), seconds=2.0).proved


def a_uniform_draw_is_a_float(data: Any, rng: Rng) -> Any:  # noqa: ANN401
    usual = isinstance(rng.random(), float) and issubclass(bool, int)
    return data[0] + rng.laplace(scale=1.0) if usual else data[0]


def chosen_rows_are_not_written_through(bit: Any, rng: Rng) -> int:  # noqa: ANN401
    table = np.array([[0]])
    row = rng.choice(table)
    row[:] = bit
    return int(table.sum())


def noise_of_scale_zero(bit: Any, rng: Rng) -> float:  # noqa: ANN401
    return float(rng.laplace(2.0, 0.0)) + float(rng.laplace(0 * bit, 1.0))


def test_many_permutations_are_open_at_once() -> None:
    found = dpv.certify(
        lambda _, rng: int(rng.permutation(3_000_000)[0]), BIT, dpv.PureDP(epsilon=1.0)
    )
    assert found.verdict == "open"
    assert "too many permutations" in found.reason


class Labeled(float):
    """A number that carries something else."""


def labeled(bit: int) -> float:
    made = Labeled(1.0)
    made.label = bit  # type: ignore[attr-defined]
    return made


def deeply(depth: int) -> list[Any]:
    made: list[Any] = []
    for _ in range(depth):
        made = [made]
    return made


def leaves() -> None:
    raise SystemExit(3)


RETURNS: dict[str, Callable[[int], Any]] = {
    "which is not understood": labeled,
    "a longdouble": lambda bit: np.longdouble(1) + bit * np.longdouble(2) ** -60,
    "a float32": lambda bit: np.float32(1.0) if bit else 1.0,
    "a int8": lambda bit: np.int8(1) if bit else 1,
    "an array of objects": lambda bit: np.array([1 if bit else 1.0, 0.5], dtype=object),
    "too large for a float": lambda bit: 10**400 + bit,
    "more than 50 deep": lambda bit: deeply(900 + bit),
    "it raises SystemExit": lambda _: leaves(),
}


@pytest.mark.parametrize(("says", "made"), RETURNS.items(), ids=RETURNS.keys())
def test_an_output_that_is_not_understood_is_open(says: str, made: Callable[[int], Any]) -> None:
    def mechanism(bit: Any, _rng: Rng) -> Any:  # noqa: ANN401
        return made(int(bit))

    found = dpv.certify(mechanism, BIT, dpv.PureDP(epsilon=1.0), seconds=1.0)
    assert found.verdict == "open"
    assert says in found.reason


def test_a_bare_answer_is_refuted_at_any_epsilon() -> None:
    assert dpv.certify(lambda bit, _: int(bit), BIT, dpv.PureDP(epsilon=800.0)).refuted


def test_noise_beyond_all_floats_is_open() -> None:
    found = dpv.certify(
        lambda bit, rng: 1e308 * bit + rng.laplace(scale=1e308), BIT, dpv.PureDP(epsilon=1.0)
    )
    assert found.verdict == "open"


def signs_do_not_matter(answers: Any, rng: Rng) -> list[Any]:  # noqa: ANN401
    weights = [0.0, -1.0]
    return [sum(w * x for w, x in zip(weights, answers, strict=True)) + rng.laplace(scale=1.0), 0.0]


def counted(bit: Any, rng: Rng) -> list[Any]:  # noqa: ANN401
    order = [0, 1]
    rng.shuffle(order)
    return [order, bool(rng.choice([True, False])) ^ bool(rng.integers(0, 2)), 0 * bit]


def caught(answers: Any, rng: Rng) -> float:  # noqa: ANN401
    try:
        return float(answers[1] + rng.laplace(scale=1.0))
    except IndexError:
        return 0.0


@pytest.mark.parametrize(
    ("mechanism", "schema", "epsilon"),
    [
        (signs_do_not_matter, Answers(dimension=2, sensitivity=1.0), 1.0),
        (counted, BIT, 0.0),
        (chosen_rows_are_not_written_through, BIT, 0.0),
        (noise_of_scale_zero, BIT, 0.0),
        (a_uniform_draw_is_a_float, LIST, 1.0),
        (caught, Answers(dimension=2, sensitivity=1.0), 1.0),
    ],
)
def test_what_only_looks_like_one_is_proved(
    mechanism: Callable[..., Any],
    schema: Any,  # noqa: ANN401
    epsilon: float,
) -> None:
    found = dpv.certify(mechanism, schema, dpv.PureDP(epsilon=epsilon))
    assert found.proved, found
