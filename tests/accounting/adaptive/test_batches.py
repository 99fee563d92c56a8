"""Batches of a fixed size as a game: against closed forms, quadrature in the plane, and itself."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

import dpverify as dpv
from dpverify.accounting.adaptive.batches import Aim, no_games, played
from dpverify.accounting.adaptive.cover import Triangles
from dpverify.accounting.adaptive.lattice import Board, Lattice
from dpverify.accounting.adaptive.triangles import Triangle, split
from dpverify.arrays import Floats
from dpverify.guarantees import End
from dpverify.pairs import GaussianPair, Mixed, SubsampledPair, WithoutReplacementPair
from dpverify.theorems import ADAPTIVE_BATCHES

REPLACE = dpv.Relation.REPLACE_ONE
BATCH = dpv.SubsampledWithoutReplacement(dpv.Gaussian(sigma=1.0), batch=1, population=8)


def pair(size: float, rate: float) -> WithoutReplacementPair:
    return WithoutReplacementPair(GaussianPair(Fraction(size) ** 2), rate)


def one_step(x: Floats, size: float, rate: float) -> Floats:
    """The worst profile of one step: of the removed record above 1, mirrored below. [ZDW22]"""
    high = np.maximum(x, 1.0 / x)
    y = 1.0 + (high - 1.0) / rate
    call = rate * (
        norm.sf(np.log(y) / size - size / 2.0) - y * norm.sf(np.log(y) / size + size / 2.0)
    )
    return np.where(x >= 1.0, call, 1.0 - x + x * call)


def on_plane(first: Floats, second: Floats, rate: float) -> tuple[Floats, Floats, Floats]:
    """Weights and both densities over N(u), u = 0, on a grid of outcomes in the plane."""
    z = np.linspace(-9.0, 9.0, 501)
    weights = norm.pdf(z) * (z[1] - z[0])
    both = np.stack(np.meshgrid(z, z, indexing="ij"), axis=-1)
    left, right = (
        1.0 - rate + rate * np.exp(both @ mean - mean @ mean / 2.0) for mean in (first, second)
    )
    return np.outer(weights, weights), left, right


def means(first: float, second: float, size: float) -> tuple[Floats, Floats]:
    """v and w for squared sides in units of the size, with |v − w| = size.

    Askew, so that no kink lies along a row of the grid.
    """
    along = (1.0 + first - second) / 2.0
    across = math.sqrt(max(first - along**2, 0.0))
    turn = size * np.array([[math.cos(0.4), -math.sin(0.4)], [math.sin(0.4), math.cos(0.4)]])
    return turn @ [along, across], turn @ [along - 1.0, across]


# One triangle


@pytest.mark.parametrize("corner", [(1.0, 1.0), (1.0, 0.3), (0.6, 0.9), (0.25, 0.25)])
def test_profiles_of_triangles_are_those_of_the_plane(corner: tuple[float, float]) -> None:
    size, rate = 1.5, 0.2
    weights, left, right = on_plane(*means(*corner, size), rate)
    x = np.array([1.0, 1.02, 1.3, 2.5])
    truth = np.array([(weights * np.maximum(left - at * right, 0.0)).sum() for at in x])
    triangle = Triangle(*corner, size)
    upper = triangle.calls(x, rate, End.UPPER)
    sides = triangle.calls(x, rate, End.LOWER)
    lower = sides[0] - x * sides[1]
    off = 2e-5 * truth + 1e-9  # of the grid
    assert (lower <= truth + off).all()
    assert (truth <= upper + off).all()
    assert (upper - lower <= 0.02 * truth).all()


def test_profiles_rise_and_fall_along_the_surface() -> None:
    """At ratios from 1 on they rise in A and fall in B: what boxes rest on."""
    x, sides = np.array([1.0, 1.05, 1.5, 4.0]), np.linspace(0.3, 1.0, 6)
    table = np.array([[Triangle(a, b, 1.2).calls(x, 0.1, End.UPPER) for b in sides] for a in sides])
    assert (np.diff(table, axis=0) >= -1e-3 * table[1:]).all()
    assert (np.diff(table, axis=1) <= 1e-3 * table[:, 1:]).all()
    assert (table[-1, 0, 1:] > 1.05 * table[0, -1, 1:]).all()
    assert table[..., 0] == pytest.approx(0.1 * (2.0 * norm.cdf(0.6) - 1.0))  # |v − w| alone counts


@pytest.mark.parametrize("spread", [1e-10, 1e-8, 1e-6, 2e-5, 1e-3, 0.3, 3.0])
def test_splitting_loses_no_mass(spread: float) -> None:
    """Nor any of the mean: nodes that are very close would leave differences of rounding."""
    nodes, weights, beyond = split(spread)
    assert 1.0 <= weights.sum() <= 1.0 + 1e-10
    assert 1.0 <= weights @ nodes + beyond <= 1.0 + 1e-10


# Games


def best_player(
    size: float, rate: float, times: int, reach: float, nodes: int = 601
) -> tuple[Floats, Floats]:
    """V after so many steps by a plain float program: losses of the plane, binned, interpolated.

    Among removed, added, equilateral and some other triangles; at multiples of the bins' width.
    Interpolation adds to V, by about the square of that width.
    """
    corners = [(1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (1.0, 0.4), (0.4, 1.0), (0.8, 0.7)]
    grid = np.linspace(-reach, reach, nodes)
    width, moves = grid[1] - grid[0], []
    for corner in corners:
        weights, left, right = on_plane(*means(*corner, size), rate)
        bins = np.rint(20.0 * np.log(left / right) / width).astype(int).ravel()
        bins -= bins.min()
        p, q = (np.bincount(bins, (weights * side).ravel()) for side in (left, right))
        p, q = p[p > 0.0], q[p > 0.0]
        places = (grid[:, None] - np.log(p / q) - grid[0]) / width
        cells = np.floor(places := np.clip(places, -1.0, len(grid))).astype(int)
        move = np.zeros((len(grid), len(grid) + 3))
        for row, cell, place in zip(move, cells, places, strict=True):
            np.add.at(row, cell + 1, p * (1.0 - place + cell))
            np.add.at(row, cell + 2, p * (place - cell))
        moves.append(move)
    values = np.maximum(-np.expm1(grid), 0.0)
    for _ in range(times):
        padded = np.concatenate([[values[0]], values, [0.0, 0.0]])  # beyond both ends, from below
        values = np.max([move @ padded for move in moves], axis=0)
    return grid, values


@pytest.mark.parametrize(
    ("sigma", "batch", "population", "times"),
    [
        (1.0, 1, 8, 30),
        pytest.param(0.5, 7, 10, 6, marks=pytest.mark.slow),  # most records in the batch
        pytest.param(4.0, 1, 3, 60, marks=pytest.mark.slow),
        pytest.param(0.3, 1, 50, 10, marks=pytest.mark.slow),
    ],
)
def test_no_player_does_better(sigma: float, batch: int, population: int, times: int) -> None:
    noise = dpv.Gaussian(sigma=sigma)
    step = dpv.SubsampledWithoutReplacement(noise, batch=batch, population=population)
    found = dpv.Accountant(relation=REPLACE).compose(step, times=times).epsilon(delta=1e-4)
    ends = []
    for nodes in (201, 401):
        game = (1.0 / sigma, batch / population, times, 2.5 * found.upper)
        grid, values = best_player(*game, nodes)
        ends.append(float(np.interp(-math.log(1e-4), -np.log(np.maximum(values, 1e-300)), grid)))
    reached = ends[1] + (ends[1] - ends[0]) / 3.0  # what is left is of the fourth order
    assert found.lower <= reached * (1.0 + 1e-3)
    assert reached <= found.upper * (1.0 + 1e-3)
    assert found.upper <= 1.02 * reached


@pytest.mark.slow
def test_one_step_is_the_known_profile() -> None:
    found = played(pair(1.25, 0.1), 1, Aim(1.0, 1e-3, 3.0))
    assert found is not None
    for epsilon in (0.0, 0.1, 0.7, 1.5):
        truth = float(one_step(np.array([math.exp(epsilon)]), 1.25, 0.1)[0])
        bracket = found.delta_bracket(epsilon)
        assert bracket.lower <= truth <= bracket.upper <= 1.02 * truth
        assert bracket.lower >= 0.95 * truth


@pytest.mark.slow
def test_two_steps_are_bounded_over_random_triangles() -> None:
    """V₂ is the largest E[V₁(x·S/R)] over triangles, V₁ known, by quadrature in the plane."""
    size, rate = 1.25, 0.1
    found = played(pair(size, rate), 2, Aim(1.0, 1e-3, 3.0))
    assert found is not None
    rng = np.random.default_rng(3)
    corners = [(1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (1.0, 0.5)]
    corners += [(a, b) for a, b in rng.uniform(size=(6, 2)) if math.sqrt(a) + math.sqrt(b) >= 1.0]
    laws = [on_plane(*means(*corner, size), rate) for corner in corners]
    for epsilon in (0.05, 0.5, 1.2):
        x = math.exp(epsilon)
        values = [
            float((weights * left * one_step(x * right / left, size, rate)).sum())
            for weights, left, right in laws
        ]
        bracket = found.delta_bracket(epsilon)
        assert max(values) <= bracket.upper * (1.0 + 1e-4) <= 1.02 * max(values)
        assert bracket.lower <= max(values) * (1.0 + 1e-4)
        assert bracket.lower >= 0.95 * max(values)


def test_a_choice_among_many_is_worth_more_than_one() -> None:
    """Narrower than before, above every fixed instance, and named."""
    spent = dpv.Accountant(relation=REPLACE).compose(BATCH, times=30)
    with no_games():
        before = spent.epsilon(delta=1e-4)
    found = spent.epsilon(delta=1e-4)
    assert before.lower < found.lower < found.upper < before.upper
    assert found.width < 0.3 * before.width
    assert found.theorem is ADAPTIVE_BATCHES
    removed = SubsampledPair(GaussianPair(Fraction(1)), 0.125, Mixed.LEFT)
    alone = dpv.Accountant(relation=dpv.Relation.ADD_REMOVE).compose(removed, times=30)
    assert alone.epsilon(delta=1e-4).upper < found.lower


@pytest.mark.slow
def test_delta_is_narrowed_as_well() -> None:
    spent = dpv.Accountant(relation=REPLACE).compose(BATCH, times=30)
    with no_games():
        before = spent.delta(epsilon=2.0)
    found = spent.delta(epsilon=2.0)
    assert before.lower < found.lower < found.upper < before.upper
    assert found.width < 0.3 * before.width
    next_to_zero = spent.delta(epsilon=1e-300)
    assert next_to_zero.lower <= spent.delta(epsilon=0.0).upper
    assert found.upper < next_to_zero.lower


@pytest.mark.slow
def test_other_parts_are_composed_with_the_game() -> None:
    spent = dpv.Accountant(relation=REPLACE).compose(BATCH, times=30)
    more = spent.compose(dpv.Gaussian(sigma=4.0))
    with no_games():
        before = more.epsilon(delta=1e-4)
    found = more.epsilon(delta=1e-4)
    assert spent.epsilon(delta=1e-4).upper < found.upper < before.upper
    assert found.lower == before.lower


def test_out_of_time_leaves_what_was_known() -> None:
    spent = dpv.Accountant(relation=REPLACE).compose(BATCH, times=31)
    with no_games():
        before = spent.epsilon(delta=1e-4)
    found = spent.epsilon(delta=1e-4, seconds=0.5)
    assert found.lower <= before.upper
    assert found.upper <= before.upper * 1.5


@pytest.mark.slow
def test_a_thousand_steps() -> None:
    """1.6841 by a float game over removed, added and equilateral, on a grid of its own."""
    batch = dpv.SubsampledWithoutReplacement(dpv.Gaussian(sigma=0.8), batch=4, population=1000)
    found = dpv.Accountant(relation=REPLACE).compose(batch, times=1000).epsilon(delta=1e-6)
    assert found.lower <= 1.6841 <= found.upper
    assert found.width <= 0.01


@pytest.mark.parametrize("tilt", [0.5, 3.0])
def test_a_game_with_one_choice_is_a_convolution(tilt: float) -> None:
    """With leaks, whose floor a tilt must not turn into error; by sums over outcomes."""
    lattice = Lattice.reaching(0.02, 1.5)
    step = Triangles(lattice, 0.75, 0.35, 1e-5).choice((1.0, 1.0, 1.0, 1.0))
    board = Board(0.02, -300, 300, tilt)
    reach, truth = lattice.last, np.maximum(-np.expm1(0.02 * np.arange(-900, 901)), 0.0)
    law = np.zeros(2 * reach + 1)
    law[lattice.both + reach] = step.left
    for _ in range(3):
        padded = np.concatenate([np.ones(reach), truth, np.zeros(reach)])
        truth = np.convolve(padded, law, mode="valid") + step.infinite
    upper = board.play([step], 3, End.UPPER)
    lower = board.play([step], 3, End.LOWER)
    middle = truth[900:1201]
    assert (lower <= middle).all()
    assert (middle <= upper).all()
    assert (upper - lower)[:200] == pytest.approx(3.0 * step.infinite, rel=0.5, abs=1e-9)
