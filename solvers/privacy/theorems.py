"""The theorems that the claims of solvers rest on, and the files that prove them."""

# ruff: noqa: E501  # statements as the proof files have them

from dpverify.theorems import Theorem

PERTURBED_MINIMUM = Theorem(
    name="perturbed-minimum",
    statement=(
        "For an m-strongly convex objective, ‖∇J(θ)‖ = g implies ‖θ − θ*‖ ≤ g/m and J(θ) − J(θ*) ≤ g²/(2m): "
        "‖b‖/λ and ‖b‖²/(2nλ) for objective perturbation, nγ/Λ for an approximate minimum; both are attained."
    ),
    source="Wang, CS 325, lecture 14, (14.7), without its factors 2; Polyak, 1963",
    proof="proofs/perturbed_minimum.py",
)
MINIMIZER_SENSITIVITY = Theorem(
    name="minimizer-sensitivity",
    statement=(
        "The minimizer of (1/n)·Σℓ + (λ/2)·‖θ‖² for L-Lipschitz convex ℓ moves by at most 2L/(nλ) when one "
        "record is replaced, and by L/(nλ) when one loss is added or removed at fixed n; both are attained."
    ),
    source="Chaudhuri, Monteleoni, Sarwate, JMLR 12, 2011, Cor. 8; lecture on machine learning with DP",
    proof="proofs/minimizer_sensitivity.py",
)
OUTPUT_PERTURBATION = Theorem(
    name="output-perturbation",
    statement=(
        "If the minimum of Σℓ + (λ/2)‖θ‖², on a closed convex domain and with any convex regularizer, is known to within η, "
        "then noise on it that makes a query of ℓ2 sensitivity Δ + 2η ε-DP, (ε, δ)-DP, μ-GDP or ρ-zCDP makes the release so; "
        "Δ = L/λ when a record is added or removed, 2L/λ when one is replaced, for L-Lipschitz convex losses."
    ),
    source="Chaudhuri, Monteleoni, Sarwate, JMLR 12, 2011, Sec. 3.1; lecture on machine learning with DP, Sec. 4.1",
    proof="proofs/output_perturbation.py",
)
NOISY_BATCHES = Theorem(
    name="noisy-batches",
    statement=(
        "Sums over random batches of gradients clipped to length C, each with noise that is made for a sensitivity of C on Poisson "
        "batches and on those of epochs in which every record draws its batch, and of 2C on batches of a fixed size, and each at "
        "parameters that are computed from the sums before it, are together, with all that is computed from them, (ε, δ)-DP if δ "
        "is at least the profile at ε of a product of pairs that dominate the steps or epochs, whatever came before."
    ),
    source="Abadi et al., CCS 2016, Algorithm 1; lecture on machine learning with DP, Sec. 5",
    proof="proofs/noisy_batches.py",
)
OBJECTIVE_PERTURBATION = Theorem(
    name="objective-perturbation",
    statement=(
        "Objective perturbation, the minimum over all θ of Σℓ(θ) + (λ/2)‖θ‖² + ⟨b, θ⟩, with noise b of density "
        "∝ e^(−ε‖b‖/(2L)) and losses that are L-Lipschitz, β-smooth, twice differentiable, convex and have "
        "Hessians of rank at most one, is (ε + ln(1 + β/λ))-DP when one record is replaced."
    ),
    source="Chaudhuri, Monteleoni, Sarwate, JMLR 12, 2011, Thm 9; Wang, CS 325, lecture 14, Thm 14.3",
    proof="proofs/objective_perturbation.py",
)
OBJECTIVE_PERTURBATION_GAUSSIAN = Theorem(
    name="objective-perturbation-gaussian",
    statement=(
        "Objective perturbation with b ~ N(0, σ²I) and generalized linear losses has, for one record added or "
        "removed and ε̃ = ε − ln(1 + β/λ) ≥ 0, δ ≤ H(ε̃, L/σ) if f is monotone; for any convex f, δ ≤ 2·H(ε̃, L/σ) "
        "if ε̃ ≥ L²/(2σ²), else 1 − e^ε̂ + 2·e^ε̂·H(L²/(2σ²), L/σ) with ε̂ = ε̃ − L²/(2σ²)."
    ),
    source=(
        "for any f with ln(1 − β/λ): Redberg, Koskela, Wang, NeurIPS 2023, Thm 3.2; the determinant by "
        "determinant-ratio and the case of monotone f are derived here"
    ),
    proof="proofs/objective_perturbation_gaussian.py",
)
OBJECTIVE_PERTURBATION_REPLACED = Theorem(
    name="objective-perturbation-replaced",
    statement=(
        "Objective perturbation with b ~ N(0, σ²I) and generalized linear losses has, for one record "
        "replaced and ε̃ = ε − ln(1 + β/λ) ≥ 0, δ ≤ H(ε̃, 2L/σ) + 2·H(ε̃, L/σ) if f is monotone; for "
        "logistic losses, δ ≤ the sum over cuts p of [0, 1] and q = p, 1 + p of H(ε − l, qR/σ), l the "
        "largest ln(1 + p(1−p)R²/λ) over the cells that touch p; for any convex f, "
        "δ ≤ (1 − e^c)₊ + a·e^ε̃·√(2π)·Φ(−a − max(c/a, 0)) with a = 2L/σ, c = ε̃ − a²/2."
    ),
    source=("derived here; the Rayleigh tail on span{x, x′}: Kifer, Smith, Thakurta, COLT 2012"),
    proof="proofs/objective_perturbation_replaced.py",
)
OBJECTIVE_PERTURBATION_LOGISTIC = Theorem(
    name="objective-perturbation-logistic",
    statement=(
        "Objective perturbation of logistic losses with ‖x‖ ≤ R and noise ∝ e^(−‖b‖/τ) is ε-DP with "
        "ε = max over p in [0, 1] of q·R/τ + ln(1 + p(1−p)R²/λ); q = p for a record added or removed, "
        "q = 1 + p for one replaced."
    ),
    source="derived here from the change of variables of Chaudhuri, Monteleoni, Sarwate, JMLR 12, 2011",
    proof="proofs/objective_perturbation_logistic.py",
)
OBJECTIVE_PERTURBATION_LOGISTIC_GAUSSIAN = Theorem(
    name="objective-perturbation-logistic-gaussian",
    statement=(
        "Objective perturbation of logistic losses with ‖x‖ ≤ R and b ~ N(0, σ²I) has "
        "δ(ε) ≤ E(1 − e^(ε − PL(u)))₊, PL(u) the largest of (pm)²/2 + pmu + ln(1 + p(1−p)R²/λ) over p in [0, 1], "
        "m = R/σ and u standard normal, for one record added or removed."
    ),
    source="derived here; PL is convex and increasing, so chords bound it",
    proof="proofs/objective_perturbation_logistic_gaussian.py",
)
OBJECTIVE_PERTURBATION_SOFTMAX = Theorem(
    name="objective-perturbation-softmax",
    statement=(
        "Objective perturbation of softmax losses of K classes with ‖x‖ ≤ R and a ridge λ has a log determinant ratio "
        "of at most D = (K−1)·ln(1 + R²/(Kλ)). With noise ∝ e^(−‖b‖/τ) it is (L/τ + D)-DP for a record added or removed, "
        "L = √2·R, and (2L/τ + D)-DP for one replaced; with b ~ N(0, σ²I) and ε̃ = ε − D ≥ 0 it has "
        "δ ≤ (K−1)·H(ε̃, L/σ), or (K−1)²·H(ε̃, 2L/σ) + 2(K−1)·H(ε̃, L/σ)."
    ),
    source="derived here; the change of variables of Chaudhuri, Monteleoni, Sarwate, JMLR 12, 2011",
    proof="proofs/objective_perturbation_softmax.py",
)
OBJECTIVE_PERTURBATION_LIMIT = Theorem(
    name="objective-perturbation-limit",
    statement=(
        "A guarantee of objective perturbation that holds for all twice differentiable convex losses "
        "with given L, β and monotonicity and for all smooth convex regularizers holds as well on a "
        "closed convex domain, with any convex regularizer, and for losses whose slope is only Lipschitz."
    ),
    source="Kifer, Smith, Thakurta, COLT 2012, Thm 1 (successive approximation)",
    proof="proofs/objective_perturbation_limit.py",
)
WEIGHTED_LOSSES = Theorem(
    name="weighted-losses",
    statement=(
        "For a weight w in [0, 1] and a convex loss f of the score, w·f is convex, has slopes of the same sign and the "
        "Lipschitz and smoothness constants of f. If f is logistic, of slope p and curvature p(1−p), then w·f has the slope "
        "q = w·p and a curvature of at most q(1−q). If f is softmax, the slope of w·f is a mixture of 0 and the vectors that "
        "the slope of f is a mixture of. So output perturbation and objective perturbation of weighted records have the "
        "guarantees of records without weights."
    ),
    source="derived here",
    proof="proofs/weighted_losses.py",
)
PUBLISHED_PURE = Theorem(
    name="chaudhuri-monteleoni-sarwate",
    statement=(
        "Objective perturbation with noise ∝ e^(−‖b‖/τ) and Hessians of rank at most one is (2L/τ + 2·ln(1 + β/λ))-DP when "
        "one record is replaced."
    ),
    source="Chaudhuri, Monteleoni, Sarwate, JMLR 12, 2011, Thm 9",
    proof="proofs/chaudhuri_monteleoni_sarwate.py",
)
PUBLISHED_GAUSSIAN = Theorem(
    name="kifer-smith-thakurta",
    statement=(
        "Objective perturbation of generalized linear losses with σ ≥ L·√(8·ln(2/δ) + 4ε)/ε and λ ≥ 2β/ε is (ε, δ)-DP "
        "when one record is added or removed."
    ),
    source="Kifer, Smith, Thakurta, COLT 2012, Thm 2",
    proof="proofs/kifer_smith_thakurta.py",
)
REDBERG = Theorem(
    name="redberg-koskela-wang",
    statement=(
        "Objective perturbation with b ~ N(0, σ²I), generalized linear losses and λ > β has, for one "
        "record added or removed, the δ of objective-perturbation-gaussian for any f, with "
        "|ln(1 − β/λ)| in place of ln(1 + β/λ)."
    ),
    source="Redberg, Koskela, Wang, NeurIPS 2023, Thm 3.2",
    proof="proofs/redberg_koskela_wang.py",
)
APPROXIMATE_MINIMUM = Theorem(
    name="approximate-minimum",
    statement=(
        "If the exact minimum of a perturbed objective is (ε₁, δ₁)-DP and a solver stops within η of it, "
        "then adding noise that makes a query of ℓ2 sensitivity 2η (ε₂, δ₂)-DP to what the solver returns "
        "is (ε₁ + ε₂, δ₁ + δ₂)-DP."
    ),
    source="Iyengar, Near, Song, Thakkar, Thakurta, Wang, IEEE S&P 2019, Thm 1, with 2η in place of η",
    proof="proofs/approximate_minimum.py",
)
CONSTRAINED_MINIMUM = Theorem(
    name="constrained-minimum",
    statement=(
        "On a closed convex domain and with any convex regularizer, the minimum of Σℓ + (λ/2)‖θ‖² moves by at most "
        "L/λ when a record is added or removed and by 2L/λ when one is replaced; a point with a subgradient ξ has "
        "‖θ − θ*‖ ≤ ‖ξ‖/λ, and one with a duality gap has ‖θ − θ*‖² ≤ 2·gap/λ."
    ),
    source="strong monotonicity of subdifferentials; Chaudhuri, Monteleoni, Sarwate, JMLR 12, 2011, Lemma 7",
    proof="proofs/constrained_minimum.py",
)
CERTIFIED_MINIMUM = Theorem(
    name="certified-minimum",
    statement=(
        "For every dataset, linear part b and η > 0, damped Newton steps in ball arithmetic of growing precision end at a "
        "point that is certified to lie within η of the minimum of Σℓ + (λ/2)‖θ‖² + ⟨b, θ⟩; so they do with corners "
        "and on a domain, rounded off ever less. Cutting both coordinatewise keeps the distance and the sensitivity."
    ),
    source="derived here; Armijo, Pacific J. Math. 16, 1966, for the steps",
    proof="proofs/certified_minimum.py",
)
APPROXIMATE_MINIMUM_GAUSSIAN = Theorem(
    name="approximate-minimum-gaussian",
    statement=(
        "If the loss of an exact minimum is at most a variable X, in the sense that δ₁(ε) ≤ E(1 − e^(ε − X))₊ is shown "
        "by bounding the loss at every output, then with Gaussian noise of σ₂ = 2η/μ₂ on a solver's answer within η of it "
        "δ(ε) ≤ E H(ε − X, μ₂). For X the largest of 0 and K Gaussian losses of μ₁ plus D, and ε̃ = ε − D, "
        "that is at most K·H(ε̃, √(μ₁² + μ₂²)) + H(ε̃, μ₂)."
    ),
    source="derived here; Iyengar, Near, Song, Thakkar, Thakurta, Wang, IEEE S&P 2019, adds the two budgets",
    proof="proofs/approximate_minimum_gaussian.py",
)
LAST_ITERATE_ROUNDING = Theorem(
    name="last-iterate-rounding",
    statement=(
        "Steps along mean gradients of convex losses of one score, of smoothness β, whose slopes may be clipped, and a ridge r are Lipschitz with c = "
        "max(|1 − ηr|, |1 − η(β + r)|), at most 1 for η ≤ 2/(β + r). If each of k steps of Lipschitz constant c ≤ 1 is off by at most ρ, and N(0, σ₂²I) is "
        "added to the last iterate, then its release is μ-GDP with μ² = μ₁² + (2ρ·Σ cʲ/σ₂)², j from 0 to k − 1, where the exact last iterate is μ₁-GDP."
    ),
    source="derived here; for the exact iterate Bok, Su, Altschuler, ICML 2024 (arXiv 2403.00278)",
    proof="proofs/last_iterate_rounding.py",
)
POISSON_REPLACED = Theorem(
    name="poisson-subsampling-replaced",
    statement=(
        "If noise B in one dimension dominates what one record's presence does to a mechanism, by "
        "likelihood ratios of B(s) and B(−s) to B of which one rises and the other falls, then "
        "(1−q)·B + q·B(s) against (1−q)·B + q·B(−s) dominates its Poisson-subsampled version when "
        "a record is replaced; where presence costs ε, the largest loss is at most "
        "ln((1−q+q·e^ε)/(1−q+q·e^(−ε)))."
    ),
    source="derived here; Zhu, Dong, Wang, AISTATS 2022, Thm 11 (arXiv 2106.08567v4), for one side",
    proof="proofs/replaced_subsampling.py",
)
PARALLEL_COMPOSITION = Theorem(
    name="parallel-composition",
    statement=(
        "If a dataset is cut into parts such that neighbors differ in one part only, and each part is given to a mechanism "
        "that is (ε, δ)-DP whatever came out for the parts before it, then all outputs together are (ε, δ)-DP; largest "
        "losses, Rényi divergences and trade-offs that hold for every part hold for all together as well."
    ),
    source="McSherry, SIGMOD 2009, Thm 4, for pure privacy and fixed mechanisms",
    proof="proofs/parallel_composition.py",
)
