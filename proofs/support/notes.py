"""The statements of the five lecture notes and of papers, and the theorem that settles each."""

from dataclasses import dataclass
from enum import Enum


class Status(Enum):
    """What was found about a statement: right, right and not tight, false, or no claim."""

    RIGHT = "right"
    LOOSE = "loose"
    WRONG = "wrong"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of notes or of a paper; `theorems` are the names of those that settle it.

    Without any, `remark` says why: a name or a notation that is wrong has no proof.
    """

    text: str
    status: Status
    theorems: tuple[str, ...] = ()
    remark: str = ""


RIGHT, LOOSE, WRONG, OPEN = Status.RIGHT, Status.LOOSE, Status.WRONG, Status.OPEN

NOTES: dict[str, tuple[Statement, ...]] = {
    "002: composition and the simulation lemma": (
        Statement("basic composition, (kε, kδ)", LOOSE, ("basic-composition",)),
        Statement(
            "advanced composition, ε√(2k·ln 1/δ′) + kε(e^ε−1)/(e^ε+1)",
            LOOSE,
            ("advanced-composition",),
        ),
        Statement(
            "the lemma on the slide, with ln(1/δ)", WRONG, ("notes-advanced-composition-lemma",)
        ),
        Statement(
            "the privacy loss lies in [−ε, ε], with mean ε(e^ε−1)/(e^ε+1) a round",
            RIGHT,
            ("mean-loss", "advanced-composition"),
        ),
        Statement(
            "the table of leaky randomized response", RIGHT, ("leaky-table", "leaky-response")
        ),
        Statement("simulation lemma; and its converse", RIGHT, ("simulation-lemma", "blackwell")),
        Statement(
            "F* simulates the composition; the tight rule",
            RIGHT,
            ("adaptive-domination", "optimal-composition", "unequal-composition"),
        ),
        Statement("post-processing", RIGHT, ("post-processing",)),
        Statement("two bad events, Chernoff e^(−t²/2)", RIGHT, ("advanced-composition",)),
        Statement("'KL divergence' as a mean over A(x′)", WRONG, ("notes-kl-divergence",)),
        Statement(
            "a mean loss of kε² after k rounds",
            LOOSE,
            ("advanced-composition",),
            "kε·tanh(ε/2) ≤ kε²/2",
        ),
        Statement(
            "the exponential mechanism is (ε, Δ)-DP",
            LOOSE,
            ("exponential-mechanism-delta",),
            "a slip of the pen: Δ is not a δ",
        ),
        Statement("EM with Δ = G·R on the ball of radius R", WRONG, ("notes-erm-radius",)),
    ),
    "000: ERM and the exponential mechanism": (
        Statement(
            "mean, median, least squares, SVM as decomposable losses", RIGHT, ("lipschitz-losses",)
        ),
        Statement(
            "misclassification loss, 1 if y⟨w, x⟩ > 0", WRONG, ("notes-misclassification-loss",)
        ),
        Statement(
            "population loss E[L(w; x)]", WRONG, remark="notation: E[ℓ(w; x)] over one record x"
        ),
        Statement(
            "Exercise 2.1: Lipschitz on a diameter R ⇒ bounded by G·R", RIGHT, ("lipschitz-losses",)
        ),
        Statement(
            "the same with 'bounded' as defined, values in [0, G·R]",
            WRONG,
            ("notes-bounded-from-zero",),
        ),
        Statement(
            "'the overall loss has sensitivity Δ'",
            LOOSE,
            ("erm-utility",),
            "Δ/n for the mean of n losses, Δ for their sum",
        ),
        Statement(
            "maximum likelihood: the mean for Gaussian, the median for Laplace noise",
            RIGHT,
            ("maximum-likelihood",),
        ),
        Statement("the median minimizes Σ|w − x|", RIGHT, ("maximum-likelihood",)),
        Statement("a bounded gradient makes a loss Lipschitz (why?)", RIGHT, ("gradients",)),
        Statement("(x−1)³ is not convex (why?)", RIGHT, ("gradients",)),
        Statement("Exercise 2.2: least squares, on which C and U", OPEN, ("lipschitz-losses",)),
        Statement("Exercise 2.3: averages of Lipschitz losses", RIGHT, ("lipschitz-losses",)),
        Statement(
            "Lemma 2.4: ExpMech-ERM is ε-DP for ℓ in [0, Δ]",
            RIGHT,
            ("exponential-mechanism", "erm-utility"),
        ),
        Statement("Theorem 2.5: Δ = G·R on the ball of radius R", WRONG, ("notes-erm-radius",)),
        Statement("its inner ball, centered at ((R−r)/R)·w*", WRONG, ("notes-inner-ball",)),
        Statement(
            "its bound on the excess risk, 'with probability at most β'",
            WRONG,
            ("notes-erm-probability",),
        ),
        Statement("the same with Δ = 2GR and at least 1 − β", RIGHT, ("erm-utility",)),
        Statement(
            "'for any convex set C of diameter R, not just the Euclidean ball'",
            RIGHT,
            ("erm-convex-body",),
        ),
        Statement(
            "'when L is convex', no logarithmic factor", RIGHT, ("erm-convex-losses",), "2Δ·d/(εn)"
        ),
        Statement("ln(x) is convex", WRONG, ("notes-logarithm-convex",)),
        Statement(
            "Definition 3.2: midpoints alone, equivalent to support (Lemma 3.3)",
            WRONG,
            ("notes-midpoint-convexity",),
            "right for continuous functions: convexity",
        ),
        Statement("Lemma 3.3, support at every point of C", WRONG, ("notes-supporting-lines",)),
        Statement("tangents, and Exercise 3.4: Jensen", RIGHT, ("convexity",)),
    ),
    "001: private gradient descent": (
        Statement("uniform convergence, n ≥ ln(|C|/β)/(2α²)", RIGHT, ("uniform-convergence",)),
        Statement(
            "logistic gradient ≤ √(d+1), sensitivity 2√(d+1)/n", RIGHT, ("logistic-gradient",)
        ),
        Statement("the logistic loss is convex", RIGHT, ("gradients",)),
        Statement("k queries are one query of sensitivity √k·Δ", RIGHT, ("stacked-queries",)),
        Statement("k Gaussian queries: kρ + √(2kρ·ln 1/δ)", LOOSE, ("lecture-gaussian",)),
        Statement(
            "the exact rule: √(kρ)-GDP", RIGHT, ("gaussian-composition", "analytic-gaussian")
        ),
        Statement("Z_t ~ N(0, (4d+1)/(n²ρ)·I)", WRONG, ("notes-gradient-noise",)),
        Statement(
            "Z_t outside of η(·) in the second listing", WRONG, ("notes-noise-outside-step",)
        ),
        Statement("ρ² ≈ dT·log(1/δ)/(ε²n²)", WRONG, ("notes-squared-rho",)),
        Statement("E‖∇L + Z‖² ≤ (d+1)/ε² + σ²(d+1)", WRONG, ("notes-gradient-second-moment",)),
        Statement("excess risk ≤ R·B/√T", RIGHT, ("gradient-descent",)),
        Statement(
            "the final error R√d/√T + Rd√ln(1/δ)/(εn)", RIGHT, ("descent-error",), "up to constants"
        ),
    ),
    "003: objective perturbation": (
        Statement(
            "Theorem 14.3, pure: ln(1+2β/λ) + ε",
            LOOSE,
            ("objective-perturbation", "determinant-ratio", "chaudhuri-monteleoni-sarwate"),
        ),
        Statement(
            "Theorem 14.3, Gaussian: σ² = 10·L²·ln(1/δ)/ε²",
            WRONG,
            ("notes-objective-perturbation-gaussian",),
        ),
        Statement(
            "Gaussian noise from the exact profile, generalized linear losses",
            RIGHT,
            ("objective-perturbation-gaussian", "objective-perturbation-replaced"),
            "beyond the notes",
        ),
        Statement(
            "the same for the logistic loss, from its own curvature",
            RIGHT,
            ("objective-perturbation-logistic", "objective-perturbation-logistic-gaussian"),
            "beyond the notes",
        ),
        Statement("⟨b, g⟩ ~ N(0, ‖g‖²σ²)", WRONG, ("notes-noise-independent-of-gradient",)),
        Statement(
            "'sample b from the Gamma distribution'",
            LOOSE,
            ("norm-mechanism",),
            "‖b‖ is Gamma(d, 2L/ε), the direction uniform",
        ),
        Statement("Lemma 14.4 for a surjective map", WRONG, ("notes-change-of-variables",)),
        Statement(
            "Lemma 14.5, determinants after a change of rank 2", RIGHT, ("determinant-ratio",)
        ),
        Statement(
            "its exponent, with √2·σL",
            WRONG,
            ("notes-objective-perturbation-gaussian",),
            "2√2·σL",
        ),
        Statement("the line before (14.7), with 1/(2n)", WRONG, ("notes-perturbed-gap",)),
        Statement("(14.7): 2‖b‖/λ and ‖b‖²/(nλ)", LOOSE, ("perturbed-minimum",)),
        Statement(
            "utility (14.8) and (14.9)", LOOSE, ("objective-utility",), "without the factor ln p"
        ),
        Statement(
            "Hessians of rank above one",
            OPEN,
            ("objective-perturbation-softmax",),
            "answered for softmax losses; no rule is known here for others",
        ),
        Statement(
            "'no algorithm handles all three issues together'",
            OPEN,
            ("certified-minimum", "objective-perturbation-limit", "approximate-minimum"),
            "inexact minima, domains and corners together, for generalized linear losses",
        ),
        Statement(
            "Theorem 14.6's λ = O(p·ln p/‖θ*‖)", WRONG, ("notes-objective-perturbation-lambda",)
        ),
        Statement(
            "its λ = O(√(p·ln 1/δ)/‖θ*‖) for Gaussian noise",
            WRONG,
            ("notes-gaussian-lambda",),
            "√p·σ/‖θ*‖ balances, above a floor: objective-utility",
        ),
        Statement("AMP: σ₂ made for nγ/Λ", WRONG, ("notes-approximate-minima",)),
        Statement("the same made for 2nγ/Λ", RIGHT, ("approximate-minimum",)),
        Statement("AMP: an approximate minimum is within nγ/Λ", RIGHT, ("perturbed-minimum",)),
        Statement(
            "AMP: Λ ≥ rβ/(ε₁−ε₃) and σ₁, for ε₃ ≤ 2(1 + √(2·ln 1/δ₁))",
            LOOSE,
            ("approximate-minima",),
            "generalized linear losses; no proof is known here for others",
        ),
        Statement("the same for any ε₃", WRONG, ("notes-approximate-minima-any-epsilon",)),
        Statement(
            "any bounded convex C, non-smooth r(θ)", RIGHT, ("objective-perturbation-limit",)
        ),
        Statement(
            "the published rules for Gaussian noise",
            LOOSE,
            ("kifer-smith-thakurta", "redberg-koskela-wang"),
            "beyond the notes",
        ),
    ),
    "004: machine learning with DP": (
        Statement("'(This is called LASSO)'", WRONG, ("notes-ridge-is-lasso",)),
        Statement(
            "output perturbation: sensitivity of the minimizer",
            RIGHT,
            ("minimizer-sensitivity", "output-perturbation"),
        ),
        Statement(
            "exponential mechanism ∝ exp(−(εn/2Δ)(Σℓ − R))",
            WRONG,
            ("notes-exponential-mechanism-exponent",),
        ),
        Statement("norm mechanism, density e^(ε‖z‖/(2GS))", WRONG, ("notes-norm-mechanism-sign",)),
        Statement(
            "Gaussian mechanism, 2(GS/ε)²·ln(1.25/δ), for ε ≤ 1", RIGHT, ("classical-gaussian",)
        ),
        Statement("the same without a bound on ε", WRONG, ("notes-gaussian-any-epsilon",)),
        Statement(
            "Theorem 5.6: coordinates of a Gaussian in an orthogonal basis are independent",
            WRONG,
            ("notes-gaussian-coordinates",),
        ),
        Statement("the ℓ1 norm mechanism is Laplace", RIGHT, ("laplace-is-a-norm-mechanism",)),
        Statement("'DP generalizes'", RIGHT, ("generalization",)),
        Statement("Exercises 3.2 and 5.2: gradients, and what is convex", RIGHT, ("gradients",)),
        Statement(
            "Exercise 5.3: steps of gradient descent on least squares",
            OPEN,
            ("least-squares-descent",),
            "κ·ln(1/a)/2 steps to a share a of the excess",
        ),
        Statement(
            "Theorem 4.1 (KLNRS): what is learnable on a finite universe is so with DP",
            RIGHT,
            ("private-learning",),
            "records, not time; a multiple of ln|X|",
        ),
        Statement("convex ⇒ unique minimum", WRONG, ("notes-convex-one-minimum",)),
        Statement(
            "sufficient statistics with Laplace noise",
            RIGHT,
            ("sufficient-statistics", "normed-statistics", "laplace"),
        ),
        Statement(
            "DP gradient descent with clipping",
            RIGHT,
            ("clipped-gradients", "gaussian-composition"),
        ),
        Statement(
            "DP-SGD with batches",
            RIGHT,
            (
                "noisy-batches",
                "poisson-subsampling",
                "without-replacement",
                "numerical-composition",
            ),
            "the notes do not say which batches",
        ),
    ),
}

PUBLISHED: dict[str, tuple[Statement, ...]] = {
    "Steinke, Nasr, Jagielski, NeurIPS 2023: auditing in one run": (
        Statement(
            "Theorem 5.2: P(N ≥ v) ≤ β + 2mδ·max P(v−i ≤ W < v)/i, for every v",
            WRONG,
            ("published-one-run",),
            "true where β ≤ q + α, so wherever it is at most 1/2",
        ),
        Statement("the same with δ = 0", RIGHT, ("one-run",)),
    ),
    "Filters: privacy losses composed as they are asked for": (
        Statement(
            "what keeps (ε, δ) on every path, parameters fixed, keeps it when they are chosen",
            WRONG,
            ("published-profile-filter",),
            "true for a list fixed in advance, in any order: plan-filter",
        ),
        Statement("Σμᵢ² ≤ μ² is a filter", RIGHT, ("gaussian-filter",)),
        Statement(
            "Σρᵢ ≤ ρ is a filter, with advanced composition's constants", RIGHT, ("zcdp-filter",)
        ),
    ),
    "Iyengar et al., IEEE S&P 2019: approximate minima perturbation": (
        Statement(
            "Theorem 1: (ε, δ)-DP for all ε",
            WRONG,
            ("published-approximate-minima",),
            "true for ε₃ ≤ 2(1 + √(2·ln(1/δ₁))), with 2nγ/Λ: approximate-minima",
        ),
    ),
    "Code that is widely used": (
        Statement(
            "dp-accounting 0.6.0: ε at the default grid is an upper bound",
            WRONG,
            ("published-default-grid",),
            "below it at δ = 10^-10 after 10⁶ steps",
        ),
        Statement(
            "diffprivlib 0.6.6: logistic regression is ε-DP for every data_norm",
            WRONG,
            ("published-logistic-constant",),
            "where ε_p > 0, true for norms up to 2, an intercept counted, or C ≥ 4",
        ),
    ),
}
