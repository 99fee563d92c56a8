"""Random laws and pairs: rational, float, and of every kind."""

import math
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from dpverify.guarantees import ApproxDP
from dpverify.pairs import FinitePair, GaussianPair, LaplacePair, LeakyResponsePair, Pair


def rational_laws(size: int) -> st.SearchStrategy[tuple[Fraction, ...]]:
    """Laws with small denominators, zeros and ties among them."""
    weights = st.lists(st.integers(0, 12), min_size=size, max_size=size).filter(any)
    return weights.map(lambda w: tuple(Fraction(x, sum(w)) for x in w))


@st.composite
def rational_pairs(draw: st.DrawFn, most: int = 6) -> FinitePair:
    size = draw(st.integers(1, most))
    return FinitePair(left=draw(rational_laws(size)), right=draw(rational_laws(size)))


@st.composite
def float_pairs(draw: st.DrawFn, most: int = 6) -> FinitePair:
    """Weights over the whole range of floats, some equal on both sides up to their last bits."""
    size = draw(st.integers(1, most))
    weight = st.one_of(
        st.just(0.0), st.floats(0.1, 1.0), st.integers(-1080, 0).map(lambda e: 2.0**e)
    )
    laws = st.lists(weight, min_size=size, max_size=size).filter(lambda w: math.fsum(w) > 1e-3)
    left = draw(laws)
    nudged = [x * draw(st.sampled_from([1.0, 1.0 + 2.0**-52, 3.0, 1.0 / 3.0])) for x in left]
    right = draw(st.one_of(st.just(nudged), laws))
    p, q = np.array(left), np.array(right)
    return FinitePair(left=p / math.fsum(p), right=q / math.fsum(q))


@st.composite
def kernels(draw: st.DrawFn, rows: int, most: int = 5) -> list[tuple[Fraction, ...]]:
    size = draw(st.integers(1, most))
    return [draw(rational_laws(size)) for _ in range(rows)]


def image(law: tuple[Fraction, ...], kernel: list[tuple[Fraction, ...]]) -> list[Fraction]:
    """The law of the image under a kernel, spelled out."""
    columns = zip(*kernel, strict=True)
    return [
        sum((w * x for w, x in zip(law, column, strict=True)), Fraction(0)) for column in columns
    ]


def post_processed(pair: FinitePair, kernel: list[tuple[Fraction, ...]]) -> FinitePair:
    exact = pair.exact
    assert isinstance(exact.left, tuple)
    assert isinstance(exact.right, tuple)
    return FinitePair(left=image(exact.left, kernel), right=image(exact.right, kernel))


sizes = st.floats(1e-3, 30.0)
gaussian_pairs = sizes.map(lambda mu: GaussianPair(Fraction(mu) ** 2))
laplace_pairs = sizes.map(lambda shift: LaplacePair(scale=1.0, sensitivity=shift))
leaky_pairs = st.builds(
    lambda epsilon, delta: LeakyResponsePair(ApproxDP(epsilon=epsilon, delta=delta)),
    st.one_of(st.floats(0.0, 30.0), st.just(math.inf)),
    st.one_of(st.just(0.0), st.just(1.0), st.floats(1e-12, 1.0)),
)
any_pairs: st.SearchStrategy[Pair] = st.one_of(
    gaussian_pairs, laplace_pairs, leaky_pairs, rational_pairs(), float_pairs()
)
