"""The goals of a proof as a file for Coq, which checks them with nothing but its own kernel and real numbers.

A goal is a theorem about all real values of its variables, within their signs, wherever no denominator is 0: those are its hypotheses. What is no
arithmetic, as an exponential, is a variable of any value. Identities are left to Coq's `field`. For an inequality this file writes down the certificate:
the difference of both sides times its denominator is a sum of terms that are plainly not negative. Coq checks that it is that sum, and the sign of every term.

What needs more than arithmetic is left out, and named in a comment.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from proofs.support.recheck import (
    ONE,
    Polynomial,
    Undecided,
    holds,
    plain,
    plus,
    power,
    times,
)

_HEAD = """\
From Coq Require Import Reals Lra.
Open Scope R_scope.

Lemma strictly : forall x, 0 <= x -> x <> 0 -> 0 < x.
Proof. intros x [less | zero] other; [ exact less | exfalso; apply other; symmetry; exact zero ]. Qed.

Lemma from_product : forall x bottom, 0 < bottom -> 0 <= x * bottom -> x >= 0.
Proof.
  intros x bottom above product. destruct (Rlt_or_le x 0) as [less | more]; [ | lra ].
  pose proof (Rmult_lt_compat_r _ _ _ above less). lra.
Qed.

Lemma from_product_strictly : forall x bottom, 0 < bottom -> 0 < x * bottom -> x > 0.
Proof.
  intros x bottom above product. destruct (Rle_or_lt x 0) as [less | more]; [ | exact more ].
  pose proof (Rmult_le_compat_r _ _ _ (Rlt_le _ _ above) less). lra.
Qed.

(* Sums and products of what is not negative, even powers. *)
Ltac nonnegative := first [ assumption | lra | apply pow2_ge_0 | apply Rplus_le_le_0_compat; nonnegative
  | apply Rmult_le_pos; nonnegative | apply pow_le; nonnegative ].
Ltac positive := first [ assumption | lra | apply Rplus_lt_le_0_compat; [ positive | nonnegative ]
  | apply Rmult_lt_0_compat; positive | apply pow_lt; positive ].
Ltac product := first [ lra | apply pow_lt; assumption
  | apply strictly; [ apply pow2_ge_0 | repeat apply pow_nonzero; assumption ]
  | apply Rmult_lt_0_compat; product ].
(* A denominator is not 0: as was assumed, up to its form. *)
Ltac nonzero := repeat match goal with |- _ /\\ _ => split end; first [ assumption | lra
  | match goal with H : ?given <> 0 |- ?asked <> 0 => replace asked with given by ring; exact H end
  | apply Rmult_integral_contrapositive_currified; nonzero | apply pow_nonzero; nonzero ].
"""


def coq_file(name: str, statement: str, goals: list[dict[str, Any]]) -> str:
    """A file that `coqc` accepts if and only if it shows every goal that is arithmetic."""
    told = [f"(* {_comment(name)}: {_comment(statement)} *)", _HEAD]
    for index, goal in enumerate(goals):
        shown = (
            _Writer(goal).theorem(f"goal_{index}")
            if _arithmetic(goal)
            else "(* needs more than arithmetic *)\n"
        )
        told.append(f"(* {_comment(goal['text'])} *)\n{shown}")
    return "\n".join(told)


def _arithmetic(goal: dict[str, Any]) -> bool:
    try:
        return holds(goal)
    except Undecided:
        return False


def _comment(text: str) -> str:
    return text.replace("(*", "( *").replace("*)", "* )").replace('"', "'")


@dataclass(frozen=True)
class _Quotient:
    """A polynomial over a product of powers of `factors`, each the numerator of something that was divided by."""

    top: Polynomial
    bottom: dict[int, int] = field(default_factory=dict)


class _Writer:
    """One goal as a theorem: names for its variables, and what was divided by."""

    def __init__(self, goal: dict[str, Any]) -> None:
        self.goal, self.signs = goal, goal["signs"]
        variables = sorted({*goal["signs"], *goal["atoms"]})
        self.names = {v: f"v{i}_{re.sub('[^A-Za-z0-9_]', '_', v)}" for i, v in enumerate(variables)}
        self.factors: list[Polynomial] = []
        self.shown: list[str] = []  # that the factors are not 0

    def quotient(self, tree: Any) -> _Quotient:  # noqa: ANN401  # a tree, from JSON
        if isinstance(tree, str):
            return _Quotient({((tree, 1),): Fraction(1)})
        kind, *parts = tree
        if kind == "number":
            value = Fraction(parts[0])
            return _Quotient({(): value} if value else {})
        if kind == "^":
            inner, exponent = self.quotient(parts[0]), int(parts[1])
            if exponent < 0:
                inner = self._inverse(inner, parts[0])
            raised = {f: n * abs(exponent) for f, n in inner.bottom.items()}
            return _Quotient(power(inner.top, abs(exponent)), raised)
        found = [self.quotient(part) for part in parts]
        if kind == "*":
            product, bottom = ONE, dict[int, int]()
            for each in found:
                product = times(product, each.top)
                bottom = {f: bottom.get(f, 0) + each.bottom.get(f, 0) for f in bottom | each.bottom}
            return _Quotient(product, bottom)
        bottom = {}
        for each in found:
            bottom = {f: max(bottom.get(f, 0), each.bottom.get(f, 0)) for f in bottom | each.bottom}
        total: Polynomial = {}
        for each in found:
            total = plus(
                total,
                times(
                    each.top,
                    self._expanded({f: n - each.bottom.get(f, 0) for f, n in bottom.items()}),
                ),
            )
        return _Quotient(total, bottom)

    def _inverse(self, inner: _Quotient, tree: Any) -> _Quotient:  # noqa: ANN401
        """1 over a quotient: its numerator is a factor, and not 0 as the quotient is not."""
        if inner.top not in self.factors:
            self.factors.append(inner.top)
            numerator, given = self.plainly(inner.top), self.term(tree)
            over = f"{numerator} / ({self._product(inner.bottom)})"
            self.shown.append(
                f"assert ({numerator} <> 0) by (let zero := fresh in intro zero; match goal with H : {given} <> 0 |- _ => apply H end; "
                f"replace {given} with ({over}) by (field; nonzero); rewrite zero; unfold Rdiv; ring)."
            )
        return _Quotient(self._expanded(inner.bottom), {self.factors.index(inner.top): 1})

    def _expanded(self, product: dict[int, int]) -> Polynomial:
        result = ONE
        for factor, exponent in product.items():
            result = times(result, power(self.factors[factor], exponent))
        return result

    def _product(self, product: dict[int, int]) -> str:
        powers = [f"{self.plainly(self.factors[f])} ^ {n}" for f, n in product.items() if n]
        return " * ".join(powers or ["1"])

    def term(self, tree: Any) -> str:  # noqa: ANN401
        if isinstance(tree, str):
            return self.names[tree]
        kind, *parts = tree
        if kind == "number":
            return _number(Fraction(parts[0]))
        if kind == "^":
            exponent = int(parts[1])
            base = self.term(parts[0])
            raised = base if abs(exponent) == 1 else f"({base} ^ {abs(exponent)})"
            return raised if exponent >= 0 else f"(/ {raised})"
        return "(" + f" {kind} ".join(map(self.term, parts)) + ")"

    def plainly(self, polynomial: Polynomial) -> str:
        """The terms one by one, those that are plainly > 0 first; an even power of a variable of any sign as a square."""
        ordered = sorted(
            polynomial.items(),
            key=lambda term: not all(self.signs.get(n) == ">" for n, _ in term[0]),
        )
        terms = []
        for monomial, coefficient in ordered:
            powers = [
                f"({self.names[n]} ^ {p})"
                if p % 2 or self.signs.get(n)
                else f"(({self.names[n]} ^ {p // 2}) ^ 2)"
                for n, p in monomial
            ]
            terms.append(" * ".join([_number(coefficient), *powers]))
        return "(" + " + ".join(terms or ["0"]) + ")"

    def theorem(self, name: str) -> str:
        sides = [self.goal["left"], self.goal["right"]]
        given = [
            f"{self.names[v]} {'>' if sign == '>' else '>='} 0"
            for v, sign in self.signs.items()
            if sign
        ]
        given += dict.fromkeys(
            f"{self.term(base)} <> 0" for side in sides for base in _denominators(side)
        )
        left, right = map(self.term, sides)
        relation = {"=": "=", "≥": ">=", ">": ">"}[self.goal["relation"]]
        quantified = f"forall {' '.join(self.names.values())} : R,\n  " if self.names else ""
        stated = " ->\n  ".join([*given, f"{left} {relation} {right}"])
        proof = "\n  ".join(self._certificate(left, right))
        return f"Theorem {name} : {quantified}{stated}.\nProof.\n  intros.\n  {proof}\nQed.\n"

    def _certificate(self, left: str, right: str) -> list[str]:
        found = self.quotient(["+", self.goal["left"], ["*", ["number", "-1"], self.goal["right"]]])
        if self.goal["relation"] == "=":
            return [*self.shown, "field; nonzero."]
        top, bottom = found.top, dict(found.bottom)
        asserted = []
        for factor, exponent in found.bottom.items():
            polynomial = self.factors[factor]
            if plain(polynomial, self.signs):
                told = self.plainly(polynomial)
                asserted.append(
                    f"assert (0 < {told}) by (apply strictly; [ nonnegative | nonzero ])."
                )
            elif exponent % 2:  # of unknown sign: once more, above and below, is a square
                top, bottom[factor] = times(top, polynomial), exponent + 1
        below = self._positive(bottom)
        strict = self.goal["relation"] == ">"
        shown = ("from_product_strictly", "positive") if strict else ("from_product", "nonnegative")
        return [
            *self.shown,
            *asserted,
            f"assert (difference : ({left} - {right}) {'>' if strict else '>='} 0).",
            f"{{ apply ({shown[0]} _ ({below})).",
            "  - product.",
            f"  - replace (({left} - {right}) * ({below})) with {self.plainly(top)} by (field; nonzero).",
            f"    {shown[1]}. }}",
            "lra.",
        ]

    def _positive(self, product: dict[int, int]) -> str:
        powers = []
        for factor, exponent in product.items():
            told = self.plainly(self.factors[factor])
            square = not plain(self.factors[factor], self.signs)
            powers.append(f"({told} ^ {exponent // 2}) ^ 2" if square else f"{told} ^ {exponent}")
        return " * ".join(powers or ["1"])


def _denominators(tree: Any) -> Iterator[Any]:  # noqa: ANN401
    """What is raised to a negative power, anywhere."""
    if isinstance(tree, str) or tree[0] == "number":
        return
    if tree[0] == "^":
        if int(tree[2]) < 0:
            yield tree[1]
        yield from _denominators(tree[1])
        return
    for part in tree[1:]:
        yield from _denominators(part)


def _number(value: Fraction) -> str:
    return (
        f"({value.numerator})"
        if value.denominator == 1
        else f"({value.numerator} / {value.denominator})"
    )
