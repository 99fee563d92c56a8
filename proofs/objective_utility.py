"""The utility of objective perturbation: (14.8) and (14.9) with their constants, and the ridge that balances them.

With θ* any comparison and L̄ = L + (λ/2n)‖·‖², L(θ_priv) − L(θ*) ≤ ‖b‖²/(2nλ) + (λ/2n)‖θ*‖² (perturbed-minimum, with J = L̄). In expectation E‖b‖² is
p(p+1)·τ² for noise ∝ e^(−‖b‖/τ), and p·σ² for Gaussian noise. The sum is least at λ = √E‖b‖²/‖θ*‖, where it is √E‖b‖²·‖θ*‖/n: p·τ‖θ*‖/n but for a factor
√(1 + 1/p), without a logarithm, and √p·σ‖θ*‖/n. Privacy asks for λ to be at least β/(e^(ε/2) − 1) besides (notes-objective-perturbation-lambda).
"""

import sympy as sp

from dpverify.theorems import Step, Theorem
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import positive, same
from solvers.privacy.theorems import PERTURBED_MINIMUM

OBJECTIVE_UTILITY = Theorem(
    name="objective-utility",
    statement=(
        "Objective perturbation has an expected excess over any θ* of at most E‖b‖²/(2nλ) + λ‖θ*‖²/(2n), which is "
        "√(E‖b‖²)·‖θ*‖/n at λ = √(E‖b‖²)/‖θ*‖; E‖b‖² is p(p+1)·τ² for noise ∝ e^(−‖b‖/τ), and p·σ² for N(0, σ²I)."
    ),
    source="Wang, CS 325, lecture 14, (14.8) and (14.9), with constants and without ln p",
    proof="proofs/objective_utility.py",
)


def the_balance(two: int = 2) -> Step:
    """s/(2nλ) + λt²/(2n) is least at λ = √s/t, where it is √s·t/n."""
    s, t, n, lam = sp.symbols("s t n lambda", positive=True)
    bound = s / (2 * n * lam) + lam * t**2 / (two * n)
    best = sp.sqrt(s) / t
    holds = same(sp.diff(bound, lam).subs(lam, best), 0) & positive(sp.diff(bound, lam, 2))
    holds &= same(bound.subs(lam, best), sp.sqrt(s) * t / n)
    return Step("the balance", holds, "all E‖b‖², ‖θ*‖, n")


def moments_of_the_noise(one: int = 1) -> Step:
    """∫ t²·t^(p−1)·e^(−t/τ) dt over ∫ t^(p−1)·e^(−t/τ) dt is p(p+1)·τ²."""
    t, p, tau = sp.symbols("t p tau", positive=True)
    mass, second = (
        sp.integrate(t ** (p - 1 + k) * sp.exp(-t / tau), (t, 0, sp.oo)) for k in (0, 2)
    )
    holds = same(second / mass, p * (p + one) * tau**2, by=lambda e: sp.simplify(sp.gammasimp(e)))
    return Step("E‖b‖²", holds, "all p, τ > 0")


def the_regularizers_cancel(sign: int = 1) -> Step:
    """L(θ) − L(θ*) = (L̄(θ) − L̄(θ*)) + (λ/2n)(‖θ*‖² − ‖θ‖²), and L̄(θ*) ≥ min L̄."""
    loss, best, ridge, own, other = sp.symbols("L L_star ridge own other", real=True)
    left = loss - best
    right = (loss + ridge * own) - (best + ridge * other) + sign * ridge * (other - own)
    return Step("regularizers", same(left, right), "all losses and ridges")


PROOF = Proof(
    theorem=OBJECTIVE_UTILITY,
    clauses=(
        Clause(
            "Objective perturbation has an expected excess over any θ* of at most E‖b‖²/(2nλ) + λ‖θ*‖²/(2n), which is "
            "√(E‖b‖²)·‖θ*‖/n at λ = √(E‖b‖²)/‖θ*‖;",
            by=(the_regularizers_cancel, the_balance),
            argued="perturbed-minimum for L̄, and that −(λ/2n)‖θ_priv‖² ≤ 0; expectations over b",
        ),
        Clause(
            "E‖b‖² is p(p+1)·τ² for noise ∝ e^(−‖b‖/τ), and p·σ² for N(0, σ²I).",
            by=(moments_of_the_noise,),
            argued="that ‖b‖ has the density ∝ t^(p−1)·e^(−t/τ), by shells; that variances of p coordinates add up",
        ),
    ),
    uses=(PERTURBED_MINIMUM,),
    mutations={
        "λ‖θ*‖²/(3n)": lambda: the_balance(two=3),
        "p²·τ²": lambda: moments_of_the_noise(one=0),
        "regularizers twice": lambda: the_regularizers_cancel(sign=-1),
    },
)
