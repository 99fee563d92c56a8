"""`assert_private`: test a claim on one given pair."""

from typing import Any

from dpverify.auditing import NotRefuted, Refuted, audit
from dpverify.auditing.sampling.drawing import Target
from dpverify.auditing.search.judging import confirmed
from dpverify.auditing.search.trials import Calls
from dpverify.claims import Claimable
from dpverify.errors import InvalidParameter
from dpverify.testing.context import PrivacyFinding, current
from dpverify.testing.decorator import check_claim, check_limits
from dpverify.testing.failure import PrivacyViolation, described, replay_line


def assert_private(  # noqa: PLR0913  # one keyword a setting
    mechanism: Target,
    claim: Claimable | None,
    left: Any,  # noqa: ANN401  # whatever the mechanism takes
    right: Any,  # noqa: ANN401
    *,
    level: float | None = None,
    samples: int | None = None,
    seed: int = 0,
) -> NotRefuted:
    """Raise PrivacyViolation if `claim` is refuted on this pair; return what was shown if not.

    A correct mechanism fails with probability at most `level`: 1e-6, unless this argument, the
    marker `privacy` or `--privacy-level` says otherwise. `samples` bounds the draws on each side.
    A refutation that fresh draws do not confirm is a warning: calls are then hardly independent.

    >>> from dpverify.guarantees import PureDP
    >>> def noisy_sum(data, rng): return sum(data) + rng.laplace(scale=1.0)
    >>> shown = assert_private(noisy_sum, PureDP(epsilon=1.0), [0.0], [1.0], level=1e-9)
    >>> shown.epsilon_lower < 1.0
    True
    """
    guarantee = check_claim(claim)
    check_limits(level, samples)
    around = current()
    level, samples = around.limits(level, samples)
    vectorized = callable(getattr(mechanism, "sample", None))
    if not vectorized and not callable(mechanism):
        raise InvalidParameter(
            f"mechanism={mechanism!r} must be a callable mechanism(data, rng) or have "
            "sample(data, size, *, rng)"
        )
    target = mechanism if vectorized else Calls(mechanism)
    name = getattr(mechanism, "__name__", type(mechanism).__name__)
    judged = audit(
        target, left=left, right=right, claim=guarantee, level=level, samples=samples, seed=seed
    )
    verdict = confirmed(name, judged, target)
    around.findings.append(
        PrivacyFinding(
            name=around.name or name,
            claim=str(guarantee),
            refuted=verdict.refuted,
            epsilon_lower=verdict.epsilon_lower,
            delta=verdict.delta,
            level=level,
            samples=verdict.samples,
            pairs=1,
        )
    )
    if isinstance(verdict, Refuted):
        message = described(
            name,
            guarantee,
            (left, right),
            verdict.witness,
            epsilon_lower=verdict.epsilon_lower,
            level=level,
            effort=f"1 pair, {verdict.samples:,} draws a side",
            hints=[replay_line(name, guarantee, verdict.witness)],
        )
        raise PrivacyViolation(
            message, witness=verdict.witness, epsilon_lower=verdict.epsilon_lower
        )
    return verdict
