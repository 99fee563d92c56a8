"""Adversaries against filters: whole interactions on finite pairs, their joint law exact.

`proofs.support.interactions` finds the best adversary there is, by backward induction. Here are
strategies that anyone might have, which react to the answers; the two laws of everything that such
an adversary sees are a tree of rationals, held against the budget itself.
"""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from flint import arb, ctx

from dpverify.balls import ball
from dpverify.guarantees import (
    ApproxDP,
    GaussianDP,
    Guarantee,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)
from dpverify.ledger import Filter
from dpverify.neighbors import Relation
from dpverify.pairs import FinitePair, GaussianPair
from proofs.support.interactions import (
    Counts,
    Decide,
    Game,
    below_exp,
    by_filter,
    by_static_profile,
    response,
)

Masses: TypeAlias = tuple[tuple[Fraction, Fraction], ...]
Strategy: TypeAlias = Callable[[tuple[int, ...], Fraction, list[int]], int | None]
"""The next item among those granted, from the answers so far and q/p; None to stop."""

POOL: tuple[FinitePair, ...] = (
    *(response(Fraction(r)) for r in ("9/8", "5/4", "3/2", "2", "3")),
    *(response(Fraction(r), Fraction(c)) for r, c in (("4", "1/8"), ("8", "1/32"), ("2", "1/3"))),
    response(Fraction(16), Fraction(1, 64)),
    *(
        FinitePair(left=[Fraction(p), 1 - Fraction(p)], right=[Fraction(q), 1 - Fraction(q)])
        for p, q in (("1/10", "1/5"), ("1/100", "1/20"), ("3/8", "1/2"))
    ),
)
LEAKY: tuple[FinitePair, ...] = tuple(
    FinitePair.leaky_response(Fraction(r), Fraction(d))
    for r, d in (("5/4", "1/100"), ("3/2", "1/1000"), ("2", "1/50"))
)
BUDGETS: tuple[tuple[Guarantee, dict[str, Any]], ...] = (
    (PureDP(epsilon=1.5), {}),
    (PureDP(epsilon=0.75), {}),
    (ZeroConcentratedDP(rho=0.25), {}),
    (GaussianDP(mu=0.8), {}),
    (RenyiDP(order=3.0, epsilon=0.4), {}),
    (ApproxDP(epsilon=1.0, delta=0.05), {"by": "basic"}),
    (ApproxDP(epsilon=0.75, delta=0.05), {"by": "gaussian", "leak_share": 0.5}),
    (ApproxDP(epsilon=1.0, delta=0.03), {"by": "renyi", "orders": (8.0,)}),
    (ApproxDP(epsilon=1.0, delta=0.05), {"by": "renyi", "orders": (3.0, 12.0), "leak_share": 0.5}),
    (ApproxDP(epsilon=0.8, delta=0.06), {}),
)


@dataclass(frozen=True)
class Played:
    """One interaction: against which budget, by whom, and whether it was broken."""

    budget: Guarantee
    strategy: str
    overspent: bool
    rounds: int
    reached: float = 0.0


def leaves(game: Game, strategy: Strategy) -> Masses:
    """The masses of every way that an interaction with this adversary can go."""
    found: list[tuple[Fraction, Fraction]] = []

    def go(
        seen: tuple[int, ...], first: int | None, counts: Counts, masses: tuple[Fraction, Fraction]
    ) -> None:
        p, q = masses
        options = {item: (opening, after) for item, opening, after in game.granted(first, counts)}
        ratio = q / p if p else Fraction(-1)
        chosen = strategy(seen, ratio, list(options)) if options else None
        if chosen is None:
            found.append(masses)
            return
        opening, after = options[chosen]
        for outcome, (a, b) in enumerate(game.menu[chosen].masses()):
            if a or b:
                go((*seen, chosen, outcome), opening, after, (p * a, q * b))

    go((), None, (0,) * len(game.menu), (Fraction(1), Fraction(1)))
    return tuple(found)


def overspent(budget: Guarantee, ends: Masses) -> bool:
    """Whether the joint law breaks the budget, in either direction."""
    return any(_breaks(budget, side) for side in (ends, tuple((q, p) for p, q in ends)))


def _breaks(budget: Guarantee, ends: Masses) -> bool:
    hair = Fraction(1, 2**180)  # e^ε is known from below to 2^-190
    match budget:
        case PureDP(epsilon=epsilon):
            return _gain(ends, below_exp(epsilon)) > hair
        case ApproxDP(epsilon=epsilon, delta=delta):
            return _gain(ends, below_exp(epsilon)) > Fraction(delta) + hair
        case ZeroConcentratedDP(rho=rho):
            return any(_moment_above(ends, order, order * ball(rho)) for order in (2, 3, 8, 32))
        case RenyiDP(order=order, epsilon=epsilon):
            return _moment_above(ends, int(order), ball(epsilon))
        case GaussianDP(mu=mu):
            pair = GaussianPair(Fraction(mu) ** 2)
            points = (0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0)
            return any(_gain(ends, below_exp(e)) > Fraction(pair.delta(e)) for e in points)


def _gain(ends: Masses, x: Fraction) -> Fraction:
    return sum((max(p - x * q, Fraction(0)) for p, q in ends), Fraction(0))


def _moment_above(ends: Masses, order: int, divergence: arb) -> bool:
    if any(p and not q for p, q in ends):
        return True
    moment = sum((p**order / q ** (order - 1) for p, q in ends if p), Fraction(0))
    with ctx.workprec(200):
        return bool(ball(moment) > ((order - 1) * divergence).exp() * (1 + arb(2) ** -100))


# Strategies


def by_chance(seed: int, *, stops: float = 0.05) -> Strategy:
    """Any item, drawn anew for every history; and now and then an end."""

    def choose(seen: tuple[int, ...], ratio: Fraction, options: list[int]) -> int | None:
        del ratio
        draw = random.Random(f"{seed} {seen}")  # noqa: S311  # reproducible
        return None if draw.random() < stops else draw.choice(options)

    return choose


def by_loss(order: list[int], *, ahead_first: bool) -> Strategy:
    """One end of a list of preferences while ahead, the other while behind; stops at a leak."""

    def choose(seen: tuple[int, ...], ratio: Fraction, options: list[int]) -> int | None:
        del seen
        if ratio <= 0:
            return None
        preferred = order if (ratio < 1) == ahead_first else order[::-1]
        return next(item for item in preferred if item in options)

    return choose


def by_target(x: Fraction, menu: tuple[FinitePair, ...]) -> Strategy:
    """The item that gains most in one more round, else the one that moves the ratio farthest."""

    def choose(seen: tuple[int, ...], ratio: Fraction, options: list[int]) -> int | None:
        del seen
        if ratio < 0:
            return None

        def gain(item: int) -> tuple[Fraction, float]:
            masses = list(menu[item].masses())
            more = sum((max(a - x * ratio * b, Fraction(0)) for a, b in masses), Fraction(0))
            return more, max((float(a / b) for a, b in masses if b), default=math.inf)

        return max(options, key=gain)

    return choose


# Whole batteries


@dataclass(frozen=True)
class Arena:
    """A menu and a budget, and the filter's decisions on them, found once for many strategies."""

    budget: Guarantee
    menu: tuple[FinitePair, ...]
    decide: Decide
    rounds: int

    @classmethod
    def drawn(cls, seed: int, *, wrong: bool = False) -> "Arena":
        draw = random.Random(seed)  # noqa: S311  # reproducible
        budget, options = BUDGETS[seed % len(BUDGETS)]
        pool = (*POOL, *LEAKY) if isinstance(budget, ApproxDP) else POOL
        menu = tuple(draw.sample(pool, draw.randint(2, 4)))
        if wrong and isinstance(budget, ApproxDP):
            x, delta = below_exp(budget.epsilon), Fraction(budget.delta)
            decide = by_static_profile(menu, x, delta)
        else:
            decide = by_filter(menu, lambda: Filter(budget, Relation.ADD_REMOVE, **options))
        return cls(budget, menu, decide, draw.randint(3, 5))

    def play(self, seed: int) -> Played:
        """One interaction with a strategy drawn for it."""
        draw = random.Random(seed)  # noqa: S311  # reproducible
        order = draw.sample(range(len(self.menu)), len(self.menu))
        x = below_exp(getattr(self.budget, "epsilon", 1.0))
        name, strategy = draw.choice(
            [
                ("by chance", by_chance(seed)),
                ("by loss", by_loss(order, ahead_first=draw.random() < 0.5)),
                ("by target", by_target(x, self.menu)),
            ]
        )
        ends = leaves(Game(self.menu, self.decide, self.rounds), strategy)
        return Played(self.budget, name, overspent(self.budget, ends), self.rounds)

    def play_best(self) -> Played:
        """The best adversary of all, by backward induction, in the worse direction."""
        reached = max(self._reached(exchanged=way) for way in (False, True))
        broken = reached > 1 + 2.0**-40
        return Played(self.budget, "the best of all", broken, self.rounds, reached)

    def _reached(self, *, exchanged: bool) -> float:
        """How much of what the budget allows the best adversary gains: of δ, or of a divergence."""
        game, gain = Game(self.menu, self.decide, self.rounds), Game.best_gain
        match self.budget:
            case PureDP(epsilon=epsilon):
                # Whether anything is gained at ε; else how close below it something is.
                for share in (1.0, 0.99, 0.9, 0.5):
                    if gain(game, below_exp(share * float(epsilon)), exchanged=exchanged):
                        return 2.0 if share == 1.0 else share
                return 0.0
            case ApproxDP(epsilon=epsilon, delta=delta):
                found = gain(game, below_exp(epsilon), exchanged=exchanged)
                return float(found / Fraction(delta))
            case ZeroConcentratedDP(rho=rho):
                orders = (2, 3, 8, 32)
                return max(self._divergence(game, n, exchanged) / (n * rho) for n in orders)
            case RenyiDP(order=order, epsilon=epsilon):
                return self._divergence(game, int(order), exchanged) / float(epsilon)
            case GaussianDP(mu=mu):
                pair = GaussianPair(Fraction(mu) ** 2)
                shares = [
                    gain(game, below_exp(e), exchanged=exchanged) / Fraction(pair.delta(e))
                    for e in (0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0)
                ]
                return float(max(shares))

    @staticmethod
    def _divergence(game: Game, order: int, exchanged: bool) -> float:  # noqa: FBT001  # passed on
        moment = game.best_moment(order, exchanged=exchanged)
        with ctx.workprec(200):
            return float(ball(moment).log() / (order - 1))
