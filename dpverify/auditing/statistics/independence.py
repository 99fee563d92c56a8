r"""Test whether calls are independent, by exact tests on the order of their outputs.

All that an audit shows rests on independent draws. If they are, every order of the draws of one
side is as likely as any other, given which draws there are. So each test reduces a feature to one
bit per draw, x > median or x = the commonest value, which does not depend on the order, and counts:

- *neighbors*: of n/2 pairs of draws that lie `lag` apart, how many have different bits. If m of the
  n bits are set and the pairing is random, d pairs are mixed with probability
  2^d·(n/2)! / (((m − d)/2)!·d!·((n − m − d)/2)!) / C(n, m), d of the parity of m.
- *drift*: how many bits are set in the first half: hypergeometric.
- *sides*: how often the bits of a left draw and of the right draw next to it agree: hypergeometric
  too, as the order of one side is random given the other's.

Each is two-sided, and all tests together wrongly find dependence with probability at most `LEVEL`,
by a union bound.
"""

from collections.abc import Iterator

import numpy as np
import scipy

from dpverify.arrays import Floats, Mask
from dpverify.auditing.attacks.draws import Draws, base_columns
from dpverify.auditing.sampling.outputs import WHOLE, Outputs

LEVEL = 1e-6
_LAGS = (1, 2, 3, 4, 5, 8, 10, 16, 20, 32)
_MOST_FEATURES = 8
_LEAST = 32  # draws
_PROMISING = 4.0  # standard deviations; nearer to the mean no test at this level rejects
_TESTS = _MOST_FEATURES * (2 * (len(_LAGS) + 1) + 2)


def dependence(seen: Draws) -> str | None:
    """What shows that calls are dependent, in words; None if nothing does.

    >>> from dpverify.auditing.sampling.tabulating import from_array
    >>> rng = np.random.default_rng(0)
    >>> fresh, reused = rng.normal(size=400), np.repeat(rng.normal(size=20), 20)
    >>> dependence(Draws(from_array(fresh), from_array(rng.normal(size=400))))
    >>> dependence(Draws(from_array(fresh), from_array(reused)))
    'on the right, the output of one call tells about the next'
    """
    level = LEVEL / _TESTS
    for name in _features(seen):
        left, right = (_bit(outputs, name) for outputs in (seen.left, seen.right))
        for side, bits in (("left", left), ("right", right)):
            if bits is not None:
                for what, chance in _tests_of_order(bits):
                    if chance < level:
                        return f"on the {side}, {what}"
        if left is not None and right is not None:
            for shift in (0, 1):
                if _agreement(left[shift:], right) < level:
                    return "the output of a call on one side tells about the other side's"
    return None


def _features(seen: Draws) -> list[str]:
    parts = base_columns(seen)
    spread = np.unique(np.linspace(0, len(parts) - 1, _MOST_FEATURES - 1).astype(int))
    return [WHOLE, *(parts[i] for i in spread if parts[i] != WHOLE)] if parts else [WHOLE]


def _bit(outputs: Outputs, name: str) -> Mask | None:
    """One bit per draw that is set for about half of the draws."""
    if outputs.size < _LEAST:
        return None
    if name in outputs.columns:
        values = outputs.column(name)
        found = _upper_half(values) if np.isfinite(values).any() else np.isnan(values)
    else:
        keys = outputs.keys(name)
        kinds, counts = np.unique(keys, return_counts=True)
        found = keys == kinds[np.argmax(counts)]
    return found if 0 < np.count_nonzero(found) < len(found) else None


def _upper_half(values: Floats) -> Mask:
    """Which values are above the median, or at it if that is closer to half of them."""
    middle = np.nanmedian(values)
    above, least = values > middle, values >= middle
    return min(above, least, key=lambda bits: abs(2 * np.count_nonzero(bits) - len(bits)))


def _tests_of_order(bits: Mask) -> Iterator[tuple[str, float]]:
    half = len(bits) // 2
    yield "outputs drift as calls go on", _far_off(bits[:half], bits)
    for lag in _LAGS:
        whole = len(bits) // (2 * lag) * 2 * lag
        if whole >= _LEAST:
            blocks = bits[:whole].reshape(-1, 2, lag)
            mixed = int(np.count_nonzero(blocks[:, 0] != blocks[:, 1]))
            after = "the next" if lag == 1 else f"the one {lag} calls later"
            told = f"the output of one call tells about {after}"
            yield told, _random_pairing(mixed, int(np.count_nonzero(bits[:whole])), whole)


def _random_pairing(mixed: int, ones: int, size: int) -> float:
    """Two-sided p-value for the number of mixed pairs; 1 if it is nowhere near a tail."""
    pairs, zeros = size // 2, size - ones
    mean = ones * zeros / (size - 1)
    spread = np.sqrt(max(2.0 * mean * (1.0 - mean / pairs), 0.25))
    if abs(mixed - mean) < _PROMISING * spread / 2.0:
        return 1.0
    d = np.arange(ones % 2, min(ones, zeros) + 1, 2, dtype=np.float64)
    logs = d * np.log(2.0) + scipy.special.gammaln(pairs + 1) - _log_choose(size, ones)
    logs -= (
        scipy.special.gammaln((ones - d) / 2 + 1)
        + scipy.special.gammaln(d + 1)
        + scipy.special.gammaln((zeros - d) / 2 + 1)
    )
    return _two_sided(d, logs, mixed)


def _far_off(part: Mask, whole: Mask) -> float:
    """`_hypergeometric`; 1 if it is nowhere near a tail."""
    mean = len(part) * np.count_nonzero(whole) / len(whole)
    spread = np.sqrt(mean * (1.0 - len(part) / len(whole)) * (1.0 - mean / max(len(part), 1)))
    if abs(np.count_nonzero(part) - mean) < _PROMISING * max(spread, 0.5) / 2.0:
        return 1.0
    return _hypergeometric(part, whole)


def _hypergeometric(part: Mask, whole: Mask) -> float:
    """Two-sided p-value for the number of set bits in one part of the draws."""
    hits, ones = int(np.count_nonzero(part)), int(np.count_nonzero(whole))
    zeros, taken = len(whole) - ones, len(part)
    k = np.arange(max(0, taken - zeros), min(ones, taken) + 1, dtype=np.float64)
    logs = _log_choose(ones, k) + _log_choose(zeros, taken - k) - _log_choose(len(whole), taken)
    return _two_sided(k, logs, hits)


def _agreement(left: Mask, right: Mask) -> float:
    """Two-sided p-value for the number of set right bits next to set left bits."""
    size = min(len(left), len(right))
    return _far_off(right[:size][left[:size]], right[:size])


def _log_choose(n: int, k: Floats | int) -> Floats:
    found: Floats = (
        scipy.special.gammaln(n + 1.0)
        - scipy.special.gammaln(np.add(k, 1.0))
        - scipy.special.gammaln(np.subtract(n + 1.0, k))
    )
    return found


def _two_sided(values: Floats, logs: Floats, seen: int) -> float:
    """Twice the smaller of both tails, each with the observed value."""
    masses = np.exp(logs)
    tails = masses[values <= seen].sum(), masses[values >= seen].sum()
    return float(min(2.0 * min(tails), 1.0))
