"""Theorems as objects: what is true, who showed it, and the proof file that runs.

Code that prints a number names one of these; `proofs/` executes them. `proof` is None for a
theorem that is cited and not yet executed.
"""

from dataclasses import dataclass
from enum import Enum


class Evidence(Enum):
    """How strong a check in a proof is, strongest first; helpers say it, no author does.

    >>> import dpverify as dpv
    >>> [kind.value for kind in dpv.Evidence]
    ['symbolic', 'exact', 'certified', 'numeric']
    """

    SYMBOLIC = "symbolic"
    EXACT = "exact"
    CERTIFIED = "certified"
    NUMERIC = "numeric"


@dataclass(frozen=True, slots=True)
class Check:
    """Whether something held, as strong as its weakest part; made by comparisons, joined with &.

    `count` is the number of comparisons; one that compared nothing shows nothing. `goals` are the
    identities and signs that were shown for all values of their symbols. `denied`: a comparison is
    certainly false, which is more than that it was not shown: wide balls decide neither. `broken`
    counts the comparisons that did not hold; where there is none, only a condition failed.
    """

    holds: bool
    evidence: Evidence
    count: int = 1
    goals: tuple[object, ...] = ()
    denied: bool = False
    broken: int | None = None

    def __post_init__(self) -> None:
        if self.broken is None:
            object.__setattr__(self, "broken", int(not self.holds and self.count > 0))

    def __and__(self, other: "Check") -> "Check":
        ranked = list(Evidence)
        weakest = max(self.evidence, other.evidence, key=ranked.index)
        holds = self.holds and other.holds
        denied = self.denied or other.denied
        goals, broken = self.goals + other.goals, (self.broken or 0) + (other.broken or 0)
        return Check(holds, weakest, self.count + other.count, goals, denied, broken)

    def __bool__(self) -> bool:
        raise TypeError("checks must be joined with &, every(…) or some(…): `and` forgets evidence")


@dataclass(frozen=True, slots=True)
class Step:
    """One named check in a proof.

    `scope` says for which parameters, or on how many instances, it was checked.

    >>> import dpverify as dpv
    >>> from proofs.support.checks import equal
    >>> step = dpv.Step("1 + 1", equal(1 + 1, 2), "nothing else")
    >>> step.holds, step.evidence.value
    (True, 'exact')
    """

    name: str
    check: Check
    scope: str = ""

    @property
    def holds(self) -> bool:
        """Whether something was checked, and held."""
        return self.check.holds and self.check.count > 0

    @property
    def evidence(self) -> Evidence:
        """The weakest evidence among what was checked; symbolic only with symbols that range."""
        found = self.check.evidence
        return Evidence.EXACT if found is Evidence.SYMBOLIC and not self.check.goals else found


@dataclass(frozen=True, slots=True, kw_only=True)
class Theorem:
    """A citation that code and proofs share.

    >>> import dpverify as dpv
    >>> found = dpv.Laplace(scale=2.0).claim.theorem
    >>> found.name, found.proof
    ('laplace', 'proofs/laplace.py')
    """

    name: str
    statement: str
    source: str
    proof: str | None = None

    def __str__(self) -> str:
        return f"{self.name} [{self.source}]"


LEAKY_RESPONSE = Theorem(
    name="leaky-response",
    statement="Leaky randomized response with parameters (ε, δ) is exactly (ε, δ)-DP.",
    source="Kairouz, Oh, Viswanath, ICML 2015, Thm 2.5",
    proof="proofs/leaky_response.py",
)
SIMULATION_LEMMA = Theorem(
    name="simulation-lemma",
    statement=(
        "Two distributions are (ε, δ)-indistinguishable if and only if one kernel maps the two "
        "distributions of leaky randomized response to them; so of all that is (ε, δ)-DP this has "
        "the largest profile, the largest (ε′, δ′), and the largest Rényi divergences."
    ),
    source="Kairouz, Oh, Viswanath, ICML 2015, Thm 2.5; Murtagh, Vadhan, TCC 2016, Lemma 3.2",
    proof="proofs/simulation_lemma.py",
)
BLACKWELL = Theorem(
    name="blackwell",
    statement=(
        "One finite pair is a post-processing of another if and only if its profile lies nowhere "
        "above the other's, for every ratio e^ε from 0 to ∞."
    ),
    source="Blackwell, Ann. Math. Stat. 24, 1953; Kairouz, Oh, Viswanath, ICML 2015, Thm 2.5",
    proof="proofs/blackwell.py",
)
EXACT_PROFILE = Theorem(
    name="exact-profile",
    statement=(
        "The smallest δ at ε of a pair is sup over events E of P(E) − e^ε·Q(E); it is an upper "
        "bound on that of whatever the pair dominates."
    ),
    source="Zhu, Dong, Wang, AISTATS 2022, Def. 7 (arXiv 2106.08567v4)",
    proof="proofs/exact_profile.py",
)
TRADE_OFF = Theorem(
    name="trade-off",
    statement=(
        "The best test between two distributions that errs under Q with probability α detects P "
        "with probability inf over x > 0 of x·α + sup over events E of P(E) − x·Q(E); for x < 1 "
        "the supremum is 1 − x + x·δ′(ln(1/x)), δ′ the profile with the sides exchanged."
    ),
    source="Neyman, Pearson, 1933; Dong, Roth, Su, JRSS B 84, 2022, Prop. 6 (arXiv 1905.02383v3)",
    proof="proofs/trade_off.py",
)
ATTACK_RISK = Theorem(
    name="attack-risk",
    statement=(
        "If a record is there with probability π ≤ 1/2, the best guess is right with probability "
        "1 − π + π·δ(ln((1−π)/π)); no output makes anyone surer than π·e^ε/(1 − π + π·e^ε), ε the "
        "largest loss; and an alarm of a test with rates α and T is right with probability "
        "π·T/(π·T + (1−π)·α)."
    ),
    source="Bayes' rule; Kifer, Machanavajjhala, TODS 39, 2014; Kulynych et al., 2407.02191v3",
    proof="proofs/attack_risk.py",
)
GAUSSIAN_SUMMARY = Theorem(
    name="gaussian-summary",
    statement=(
        "A profile of neighbors in both directions that lies below lines cᵢ − αᵢ·e^ε, one on each "
        "of intervals that cover ε ≥ 0, is nowhere above that of μ-GDP if μ ≥ Φ⁻¹(cᵢ) − Φ⁻¹(αᵢ) "
        "for all i. If it is nowhere above another profile of neighbors in both directions, the "
        "trade-off curves f and g, which are their own mirror images, have as least κ with f(α + "
        "κ) − κ ≤ g(α) for all α the largest (δ_g(ε) − δ_f(ε))/(1 + e^ε) over ε ≥ 0, which is "
        "also the most by which a guess is right more often under g, for any prior."
    ),
    source=(
        "Gomez et al., SaTML 2026 (arXiv 2503.10945); Kaissis et al., ICML 2024, Def. 3 and Thm 1 "
        "(arXiv 2406.08918v3)"
    ),
    proof="proofs/gaussian_summary.py",
)
RECONSTRUCTION = Theorem(
    name="reconstruction",
    statement=(
        "If without the record in the data no guess of it succeeds with probability above κ, "
        "whatever its distribution and whatever counts as success, then with it no guess succeeds "
        "with probability above T(κ), T the largest true-positive rate at a false-positive rate."
    ),
    source="Hayes, Mahloujifar, Balle, NeurIPS 2023; Kulynych et al., 2507.06969v1",
    proof="proofs/reconstruction.py",
)
SINGLING_OUT = Theorem(
    name="singling-out",
    statement=(
        "Of n independent records, a predicate of weight at most w that is computed from the "
        "output holds for exactly one with probability at most n·T(w), T as for reconstruction."
    ),
    source="Cohen, Nissim, PNAS 117, 2020, with a trade-off curve in place of (ε, δ)",
    proof="proofs/singling_out.py",
)
BASIC_COMPOSITION = Theorem(
    name="basic-composition",
    statement="Parts that are (εᵢ, δᵢ)-DP compose, adaptively, to (Σεᵢ, Σδᵢ)-DP.",
    source="Dwork, Kenthapadi et al., EUROCRYPT 2006; Dwork, Roth, 2014, Thm 3.16",
    proof="proofs/basic_composition.py",
)
ADVANCED_COMPOSITION = Theorem(
    name="advanced-composition",
    statement=(
        "Parts that are (εᵢ, δᵢ)-DP compose, adaptively, to (Σεᵢ·tanh(εᵢ/2) + √(2·ln(1/δ′)·Σεᵢ²), "
        "1 − (1−δ′)·Π(1−δᵢ))-DP, for every δ′ in (0, 1]."
    ),
    source="Kairouz, Oh, Viswanath, ICML 2015, Thm 3.5",
    proof="proofs/advanced_composition.py",
)
OPTIMAL_COMPOSITION = Theorem(
    name="optimal-composition",
    statement=(
        "Among all adaptive compositions of k parts that are (ε, δ)-DP, k leaky randomized "
        "responses have the largest profile."
    ),
    source="Kairouz, Oh, Viswanath, ICML 2015, Thm 3.3 (arXiv 1311.0776v4)",
    proof="proofs/optimal_composition.py",
)
UNEQUAL_COMPOSITION = Theorem(
    name="unequal-composition",
    statement=(
        "Among all adaptive compositions of parts that are (εᵢ, δᵢ)-DP, the product of their leaky "
        "randomized responses has the largest profile."
    ),
    source="Murtagh, Vadhan, TCC 2016, Thm 1.5 (arXiv 1507.03113v3)",
    proof="proofs/unequal_composition.py",
)
ANALYTIC_GAUSSIAN = Theorem(
    name="analytic-gaussian",
    statement=(
        "N(μ, 1) against N(0, 1) has the profile Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ), and dominates "
        "Gaussian noise of standard deviation σ on a query of ℓ2 sensitivity μσ."
    ),
    source="Balle, Wang, ICML 2018, Thm 8 (arXiv 1805.06530v2)",
    proof="proofs/analytic_gaussian.py",
)
GAUSSIAN_COMPOSITION = Theorem(
    name="gaussian-composition",
    statement=(
        "Parts that are μᵢ-GDP compose, adaptively, to √(Σμᵢ²)-GDP; so to (ε, δ)-DP with δ the "
        "profile at ε of N(√(Σμᵢ²), 1) against N(0, 1)."
    ),
    source="Dong, Roth, Su, J. R. Stat. Soc. B 84, 2022, Cor. 2 (arXiv 1905.02383v3)",
    proof="proofs/gaussian_composition.py",
)
GAUSSIAN_FILTER = Theorem(
    name="gaussian-filter",
    statement=(
        "Releases that are μₖ-GDP given those before, where μₖ may depend on these but Σμₖ² ≤ μ² "
        "always, are together μ-GDP; so (ε, δ)-DP with δ the profile at ε of N(μ, 1) against "
        "N(0, 1)."
    ),
    source="Smith, Thakurta, Fully Adaptive Composition for Gaussian DP (arXiv 2210.17520)",
    proof="proofs/gaussian_filter.py",
)
PURE_TO_GDP = Theorem(
    name="pure-to-gdp",
    statement="ε-DP implies 2Φ⁻¹(e^ε/(1 + e^ε))-GDP.",
    source=(
        "the trade-off curve of randomized response consists of two chords of the Gaussian one: "
        "Dong, Roth, Su, J. R. Stat. Soc. B 84, 2022, Prop. 3 and convexity"
    ),
    proof="proofs/pure_to_gdp.py",
)
ZCDP_COMPOSITION = Theorem(
    name="zcdp-composition",
    statement=(
        "Parts that are ρᵢ-zCDP compose, adaptively, to (Σρᵢ)-zCDP; so to (ε, δ)-DP wherever a "
        "Rényi divergence of α·Σρᵢ at one order α implies it."
    ),
    source="Bun, Steinke, TCC 2016, Lemma 1.7 (arXiv 1605.02065v1)",
    proof="proofs/zcdp_composition.py",
)
PURE_TO_ZCDP = Theorem(
    name="pure-to-zcdp",
    statement="ε-DP implies (ε²/2)-zCDP.",
    source="Bun, Steinke, TCC 2016, Prop. 1.4 (arXiv 1605.02065v1)",
    proof="proofs/pure_to_zcdp.py",
)
GDP_TO_ZCDP = Theorem(
    name="gdp-to-zcdp",
    statement="μ-GDP implies (μ²/2)-zCDP.",
    source="Dong, Roth, Su, JRSS B 84, 2022, Cor. B.6; Bun, Steinke, TCC 2016, Prop. 1.6",
    proof="proofs/gdp_to_zcdp.py",
)
RENYI_COMPOSITION = Theorem(
    name="renyi-composition",
    statement=(
        "Parts with Rényi divergence εᵢ at one order compose, adaptively, to Σεᵢ at it; so to "
        "(ε, δ)-DP wherever that divergence, at any order at which all are known, implies it."
    ),
    source="Mironov, CSF 2017, Prop. 1 (arXiv 1702.07476v3)",
    proof="proofs/renyi_composition.py",
)
DEFINITIONS = Theorem(
    name="definitions",
    statement=(
        "A guarantee implies itself: ε-DP is (ε, 0)-DP, ρ-zCDP is a Rényi divergence of at most "
        "α·ρ at every order α > 1, and μ-GDP is μ-GDP."
    ),
    source="Bun, Steinke, TCC 2016, Def. 1.1 (arXiv 1605.02065v1); Dwork, Roth, 2014, Def. 2.4",
    proof="proofs/definitions.py",
)
RENYI_TO_APPROX = Theorem(
    name="renyi-to-approx",
    statement=(
        "Of all distributions P, Q with Rényi divergence at most ε′ at one order, a pair on two "
        "outcomes has the largest P(E) − e^ε·Q(E); so the best (ε, δ) is a convex program in one "
        "variable."
    ),
    source="Asoodeh, Liao, Calmon, Kosut, Sankar, IEEE JSAIT 2021, Thm 2 (arXiv 2008.06529v2)",
    proof="proofs/renyi_to_approx.py",
)
LAPLACE = Theorem(
    name="laplace",
    statement=(
        "Laplace noise of scale b on a query of ℓ1 sensitivity Δ is (Δ/b)-DP, and is dominated by "
        "Laplace(Δ, b) against Laplace(0, b) in one dimension, whatever the query's dimension."
    ),
    source="Dwork, McSherry, Nissim, Smith, TCC 2006, Prop. 1",
    proof="proofs/laplace.py",
)
NORM_MECHANISM = Theorem(
    name="norm-mechanism",
    statement="Noise with density ∝ exp(−‖z‖/b) on a query of ‖·‖ sensitivity Δ is (Δ/b)-DP. Its "
    "profile is at most that of Laplace noise, 1 − e^((t − Δ/b)/2), which one dimension attains.",
    source="Hardt, Talwar, STOC 2010, Sec. 4; Dwork, McSherry, Nissim, Smith, TCC 2006",
    proof="proofs/norm_mechanism.py",
)
RANDOMIZED_RESPONSE = Theorem(
    name="randomized-response",
    statement="Telling the truth with odds e^ε : 1 is ε-DP.",
    source="Warner, JASA 60, 1965; Dwork, Roth, 2014, Sec. 3.2",
    proof="proofs/randomized_response.py",
)
EXPONENTIAL_MECHANISM = Theorem(
    name="exponential-mechanism",
    statement=(
        "Choosing with probability ∝ exp(ε·score/(2Δ)) is ε-DP for scores of sensitivity Δ; ∝ "
        "exp(ε·score/Δ) if between neighbors no score rises while another falls."
    ),
    source="McSherry, Talwar, FOCS 2007, Thm 6; Dwork, Roth, 2014, Thm 3.10",
    proof="proofs/exponential_mechanism.py",
)
NOISY_MAX = Theorem(
    name="noisy-max",
    statement=(
        "Releasing the index alone of the largest score after adding exponential or Laplace noise "
        "of scale 2Δ/ε to each is ε-DP; scale Δ/ε if between neighbors no score rises while "
        "another falls. Of two candidates, the one that is behind by t scales wins with "
        "probability e^(−t)/2 for exponential noise, and e^(−t)·(2 + t)/4 for Laplace noise."
    ),
    source="Dwork, Roth, 2014, Claim 3.9; Ding, Kifer, Steinke et al., 2021 (arXiv 2105.07260)",
    proof="proofs/noisy_max.py",
)
SPARSE_VECTOR = Theorem(
    name="sparse-vector",
    statement=(
        "AboveThreshold on queries of sensitivity Δ, with Laplace noise of scale Δ/ε₁ on the "
        "threshold and 2cΔ/ε₂ on each query, on the reals, or rounded to whole numbers if all "
        "answers, the threshold and Δ are whole, stopping after c answers above, is (ε₁ + ε₂)-DP; "
        "cΔ/ε₂ is enough if between neighbors no answer rises while another falls."
    ),
    source="Lyu, Su, Li, PVLDB 10(6), 2017, Thm 4 (arXiv 1603.01699v4)",
    proof="proofs/sparse_vector.py",
)
POISSON_SUBSAMPLING = Theorem(
    name="poisson-subsampling",
    statement=(
        "If (P, Q) dominates a mechanism when a record is removed, then ((1−q)·Q + q·P, Q) "
        "dominates its Poisson-subsampled version when one is removed, and the exchanged pair "
        "when one is added."
    ),
    source="Zhu, Dong, Wang, AISTATS 2022, Thm 11 (arXiv 2106.08567v4)",
    proof="proofs/poisson_subsampling.py",
)

SHUFFLED_BATCHES = Theorem(
    name="shuffled-batches",
    statement=(
        "If (P, Q) dominates a mechanism when one record of a batch is replaced, it dominates an "
        "epoch of batches of fixed size in random order. The mean over places of noise moved in "
        "one of them, against noise that is not moved, is an instance; so is, for Gaussian noise "
        "moved by s, the mixture p·N(s/2) + (1−p)·N(0) against p·N(−s/2) + (1−p)·N(0), where p is "
        "the probability that a normal with mean √3/2·s exceeds t − 1 standard normals."
    ),
    source=(
        "Chua et al., ICML 2024 (arXiv 2403.17673), and arXiv 2411.04205, for the upper bound and "
        "this kind of instance"
    ),
    proof="proofs/shuffled_batches.py",
)

WITH_REPLACEMENT = Theorem(
    name="with-replacement",
    statement=(
        "Let a sample hold j copies of a record with probability wⱼ, and j replaced records move "
        "Gaussian or Laplace noise B by at most j·s. With η = 1 − w₀, f the profile of Σ wⱼ·B(j·s) "
        "against B and fⱼ that of B(j·s) against B, at every x = e^ε ≥ 1 the profile is at most "
        "(1−c)·f(x) + c·Σ wⱼ·fⱼ(y) over j ≥ 1, y = 1 + (x−1)/η and c = x/y; and at most "
        "the convex envelope of this bound."
    ),
    source=(
        "Balle, Barthe, Gaboardi, NeurIPS 2018, Thms 2 and 10 (arXiv 1807.01647v2), with the first "
        "term sharper"
    ),
    proof="proofs/with_replacement.py",
)

SEVERAL_RECORDS = Theorem(
    name="several-records",
    statement=(
        "If j of a user's records are drawn with probability wⱼ and j of them move noise by at "
        "most j·s, then Σ wⱼ·B(j·s) against B dominates when the user is removed, and against "
        "Σ wⱼ·B(−j·s) when the user is replaced, for Gaussian and Laplace noise B."
    ),
    source="Dhaene et al., Insurance Math. Econ. 31, 2002, Thm 7, for comonotonic sums",
    proof="proofs/several_records.py",
)

TRUNCATED_POISSON = Theorem(
    name="truncated-poisson",
    statement=(
        "Let τ be the probability that at least B of the other records are drawn. A Poisson sample "
        "of rate q that is cut down to B records is dominated by the Poisson pair with probability "
        "1−τ, and by that of twice the shift with probability τ, where it is told which."
    ),
    source="after Chua et al., 2024 (arXiv 2411.04205), who add (1 + e^ε)·τ to δ",
    proof="proofs/truncated_poisson.py",
)

RANDOM_ALLOCATION = Theorem(
    name="random-allocation",
    statement=(
        "If (P, Q) dominates each of t steps when a record is removed, whatever was seen before, "
        "then the mean over i of the products with P in place i and Q elsewhere, against the "
        "product of Q alone, dominates t steps of which the record takes part in one, drawn at "
        "random; the exchanged pair when a record is added. Its ratio is the mean of t independent "
        "ratios of one step: splitting their masses around their mean bounds it from above, "
        "merging them from below. For k steps a record, the product of k such pairs, over blocks "
        "of steps that add up to t, dominates."
    ),
    source="Feldman, Shenfeld, 2025 (arXiv 2502.08202v4); Shaked, Shanthikumar 2007, Thm 3.A.12",
    proof="proofs/random_allocation.py",
)

RENYI_MONOTONE = Theorem(
    name="renyi-monotone",
    statement="A Rényi divergence of order α is at most that of every larger order.",
    source="van Erven, Harremoës, IEEE Trans. Inf. Theory 60, 2014, Thm 3 (arXiv 1206.2459v2)",
    proof="proofs/renyi_monotone.py",
)
ADAPTIVE_BATCHES = Theorem(
    name="adaptive-batches",
    statement=(
        "Gaussian noise on batches of a fixed size, in k steps that may each depend on all outputs "
        "so far, has a profile of at most V_k, where V₀(x) = (1−x)₊ and V_j(x) is the largest "
        "E_P[V_{j−1}(x·dQ/dP)] over pairs whose mixtures dominate ((1−q)·N(u) + q·N(v), (1−q)·N(u) "
        "+ q·N(w)) for all triangles u, v, w with sides of at most the sensitivity; and of at "
        "least V_k over some of these."
    ),
    source="derived here; adaptive domination: Zhu, Dong, Wang, AISTATS 2022, Thm 10",
    proof="proofs/adaptive_batches.py",
)
WITHOUT_REPLACEMENT = Theorem(
    name="without-replacement",
    statement=(
        "If (P, Q) dominates a mechanism when one record is replaced, then at every ε ≥ 0 the "
        "mechanism on a uniformly random batch of fixed size, which holds each record with "
        "probability q, has a profile of at most that of ((1−q)·Q + q·P, Q)."
    ),
    source=(
        "Balle, Barthe, Gaboardi, NeurIPS 2018, Thm 11 (arXiv 1807.01647v2); "
        "Zhu, Dong, Wang, AISTATS 2022, Thm 11 (arXiv 2106.08567v4)"
    ),
    proof="proofs/without_replacement.py",
)
NUMERICAL_COMPOSITION = Theorem(
    name="numerical-composition",
    statement=(
        "A product of distributions on a grid that dominate the parts has a profile above the "
        "composition's; of ones that the parts dominate, a profile below it."
    ),
    source=(
        "Doroshenko, Ghazi, Kamath, Kumar, Manurangsi, PoPETs 2022 (arXiv 2207.04380v1), for the "
        "upper end; Blackwell, 1953, for both"
    ),
    proof="proofs/numerical_composition.py",
)

BETTING = Theorem(
    name="betting",
    statement=(
        "Under the claim, wealth that starts at 1 and multiplies, at each fresh pair x ~ P, y ~ Q "
        "that is independent of the past, by 1 + λ·(1_E(x) − e^ε·1_E(y) − δ), with E and λ "
        "chosen from the past, λ ≥ 0 and λ·(e^ε + δ) ≤ 1, ever reaches 1/level with probability "
        "at most level."
    ),
    source=(
        "Ville, 1939; Shafer, JRSS A 184, 2021; Shekhar, Ramdas, IEEE Trans. Inf. Theory 70, 2024"
    ),
    proof="proofs/betting.py",
)
CLOPPER_PEARSON = Theorem(
    name="clopper-pearson",
    statement=(
        "The limit L(a), the p with P(Bin(n, p) ≥ a) = level for a ≥ 1, and L(0) = 0, exceeds the "
        "true p with probability at most level."
    ),
    source="Clopper, Pearson, Biometrika 26, 1934",
    proof="proofs/clopper_pearson.py",
)
STOUFFER = Theorem(
    name="stouffer",
    statement=(
        "For independent A ~ Bin(n, p) and B ~ Bin(m, q) with tails u = P(Bin(n, p) ≥ A) and v = "
        "P(Bin(m, q) ≤ B), the sum w₁·Φ⁻¹(1−u) + w₂·Φ⁻¹(1−v), w₁, w₂ ≥ 0, w₁² + w₂² = 1, exceeds "
        "Φ⁻¹(1 − level) with probability at most level; so P(E) ≤ e^ε·Q(E) + δ, if true, is "
        "rejected at all its (p, q) with probability at most level."
    ),
    source="Stouffer et al., The American Soldier, 1949; Clopper, Pearson, Biometrika 26, 1934",
    proof="proofs/stouffer.py",
)

ONE_RUN = Theorem(
    name="one-run",
    statement=(
        "If each of m canaries is included by its own fair coin and r of them, a number fixed in "
        "advance, are guessed after one (ε, δ)-DP run, then for 1 ≤ v ≤ r ≤ m P(at least v "
        "guesses are right) ≤ β + mδ·β(1−β)/(v·P(W = v)), with W ~ Bin(r, e^ε/(1+e^ε)) and β = "
        "P(W ≥ v); where this is at most 1, it is attained."
    ),
    source=(
        "Steinke, Nasr, Jagielski, NeurIPS 2023, Thm 5.2 (arXiv 2305.08846v1), for δ = 0; "
        "Stein's equation of the binomial distribution for δ > 0"
    ),
    proof="proofs/one_run.py",
)

ONE_RUN_TIERS = Theorem(
    name="one-run-tiers",
    statement=(
        "If each of m canaries is included by its own fair coin, r_t of them are guessed in tier t "
        "after one run that is (ε_j, δ_j)-DP for each j, with E_j = e^(ε_j), and Z is the sum over "
        "wrong guesses of the whole numbers w_t ≥ 1, all of these fixed in advance, then P(Z ≤ c) "
        "≤ θ + mΣ λ_j·δ_j for all u_tj(z) in [0, λ_j] and θ ≥ 0 with 1[z ≤ c] ≤ θ + Σ_s r_s·U_s(z) "
        "− (z/w_t)·(U_t(z) + V_t(z−w_t)) for all z ≥ 0 and w_t ≤ z, and at z = 0 without the last "
        "term, where U_t = Σ_j u_tj and V_t = Σ_j E_j·u_tj, both 0 below z = 0;"
        " and if guesses are made one after another, each chosen by the release and the coins "
        "already shown, and bets at odds E = e^ε raise a capital from 1 and never above x, then "
        "under (ε, δ)-DP P(the capital reaches x) ≤ 1/x + mδ/(1+E)."
    ),
    source="Stein's method of exchangeable pairs, and a capped test supermartingale",
    proof="proofs/one_run_tiers.py",
)

CDF_BAND = Theorem(
    name="cdf-band",
    statement=(
        "If lo_i ≤ #{U_j ≤ t_i} ≤ hi_i for all i has probability 1 − level for n uniform draws, "
        "then for n draws of any distribution, with that probability and for all i and x at once, "
        "P(S < x) ≤ t_i where x ≤ S_(lo_i), and P(S ≤ x) ≥ t_i where x ≥ S_(hi_i + 1)."
    ),
    source=(
        "Berk, Jones, Z. Wahrscheinlichkeitstheorie 47, 1979; "
        "Moscovich, Nadler, Statist. Probab. Lett. 123, 2017 (arXiv 1503.04363)"
    ),
    proof="proofs/cdf_band.py",
)

FROZEN_REPLAY = Theorem(
    name="frozen-replay",
    statement=(
        "If a run releases r = v + c·z, c ≠ 0, with fresh z of density f, independent of the data "
        "and of all that came before, where v and c are functions of the data and of earlier "
        "releases alone (everything random that the code reads is released), and the same run on "
        "a neighbor has v′ and c′ where all that was released before is the same, then given that "
        "the release has the densities of v + c·z and v′ + c′·z; so the loss of a transcript is "
        "the sum of ln f(z) − ln f(z′) + ln|c′/c| with z′ = (r − v′)/c′, and the pairs at v, v′ "
        "are the conditional pairs."
    ),
    source="change of variables and the chain rule; Re:cord-play, arXiv 2602.17454, for the idea",
    proof="proofs/frozen_replay.py",
)
TRANSCRIPT_LOSS = Theorem(
    name="transcript-loss",
    statement=(
        "An output that is computed from a transcript, by the same function on both sides, has a "
        "profile nowhere above that of the composition of the transcript's conditional pairs; "
        "where a release adds up several draws, any shifts of the draws that make up for the gap "
        "give such pairs, and draws with a least value need such shifts, upwards, for either "
        "direction."
    ),
    source="Zhu, Dong, Wang, AISTATS 2022, Thm 10 (arXiv 2106.08567v4), and post-processing",
    proof="proofs/transcript_loss.py",
)
DETERMINED_OUTPUT = Theorem(
    name="determined-output",
    statement=(
        "If one function recovers the transcript from the output on both sides, then output and "
        "transcript have the same profile; so a set of transcripts of positive probability whose "
        "loss exceeds ε refutes ε-DP, as does one transcript if both densities are positive and "
        "continuous there."
    ),
    source="post-processing in both directions; Kairouz, Oh, Viswanath, ICML 2015, Thm 2.5",
    proof="proofs/determined_output.py",
)
ALIGNMENT = Theorem(
    name="alignment",
    statement=(
        "Let a program draw independent noises: Laplace noise, ∝ e^(−|n|/bᵢ) on the reals or on "
        "whole numbers, or exponential or geometric noise, ∝ e^(−n/bᵢ) for n ≥ 0. If on every one "
        "of countably many paths the noise, translated by an s that is fixed on the path, with sᵢ "
        "≥ 0 where noise is one-sided and whole sᵢ where it is whole, gives the same output on a "
        "neighbor, and different translations never meet, then P(E) ≤ e^c·Q(E) for every event E, "
        "where c is the largest Σ|sᵢ|/bᵢ."
    ),
    source=(
        "Zhang, Kifer, POPL 2017 (arXiv 1607.08228v3); Wang, Ding, Kifer, Zhang, CCS 2020 "
        "(arXiv 2008.07485v2)"
    ),
    proof="proofs/alignment.py",
)
INDUCTION = Theorem(
    name="induction",
    statement=(
        "Take two runs step by step. If at every place the noise, translated by shifts that are "
        "fixed on the step's path, upwards where it is one-sided and whole where it is whole, "
        "takes the neighbor's run the same way, to numbers that are apart as the next place says, "
        "what a step costs is no more than its place has left beyond the next one, and what is "
        "left at the end is not below 0, then runs of every length are aligned, at the cost that "
        "the first place has."
    ),
    source=(
        "from alignments, by induction; cf. Zhang, Kifer, POPL 2017 (arXiv 1607.08228v3), where a "
        "loop keeps a type"
    ),
    proof="proofs/induction.py",
)
PATH_MASSES = Theorem(
    name="path-masses",
    statement=(
        "The probability that independent Laplace, exponential or geometric noises satisfy linear "
        "inequalities in one or two of them each, without a circle, is summed out leaf by leaf, "
        "with pieces of t^j·base^t; and where they are a box, each noise from a bound in those "
        "after it to infinity or a fixed end, it is a product of geometric sums and integrals."
    ),
    source="summation and integration by parts; Barthe et al., LICS 2020 (arXiv 1910.04137v2)",
    proof="proofs/path_masses.py",
)
BERNSTEIN = Theorem(
    name="bernstein",
    statement=(
        "A polynomial whose Bernstein coefficients on an interval are all ≥ 0 is ≥ 0 there; one "
        "change of sign among them means exactly one zero inside; and the coefficients on both "
        "halves follow by averaging."
    ),
    source="Bernstein, 1915; Lane, Riesenfeld, BIT 21, 1981",
    proof="proofs/bernstein.py",
)
GROUP_PRIVACY = Theorem(
    name="group-privacy",
    statement=(
        "Datasets k steps apart, each step of which keeps to the profile δ either way, keep to Σ "
        "e^(ε₁+…+εᵢ₋₁)·δ(εᵢ) at ε = ε₁ + … + ε_k, for every split; symmetric log-concave noise, "
        "on the reals or on whole numbers, whose shift is k times as large, attains the best "
        "split."
    ),
    source="Dong, Roth, Su, JRSS B 2022, Thm 2.14 (arXiv 1905.02383v3); Dwork, Roth, 2014, Thm 2.2",
    proof="proofs/group_privacy.py",
)
PRIVATE_SELECTION = Theorem(
    name="private-selection",
    statement=(
        "If only the best, by a score of the output alone, of K independent runs is released, K "
        "drawn beforehand without the data, f is the generating function of K and r the least "
        "f′(1−v)/f′(1−u) over the trade-off curve, then δ(ε) ≤ ∫ f′(1−u)·(1 − e^ε·r/ℓ(u))₊ du, "
        "with ℓ the likelihood ratios in falling order; so ε-DP runs stay (2+η)·ε-DP for a "
        "negative binomial K of shape η, 3ε-DP for a geometric one."
    ),
    source=(
        "Liu, Talwar, STOC 2019 (arXiv 1811.07971); Papernot, Steinke, ICLR 2022 (arXiv "
        "2110.03620v2); the weighting of outcomes here sharpens Koskela, Redberg, Wang, ICML 2024"
    ),
    proof="proofs/private_selection.py",
)
GAUSSIAN_MIXTURE = Theorem(
    name="gaussian-mixture",
    statement=(
        "Gaussian noise on an answer that moves by a random vector of length at most cᵢ, with "
        "probability wᵢ, is dominated in both directions by Σ wᵢ·N(cᵢ, σ²) against N(0, σ²)."
    ),
    source=(
        "Choquette-Choo, Ganesh, Steinke, Thakurta, ICLR 2024 (arXiv 2310.15526); here by "
        "comonotone sums"
    ),
    proof="proofs/gaussian_mixture.py",
)
MATRIX_MECHANISM = Theorem(
    name="matrix-mechanism",
    statement=(
        "C·x + N(0, σ²) is the Gaussian mechanism whose sensitivity is the largest length of Σ "
        "C[:, j]·u_j over the steps of one record, whose rows of x move by u_j of length at most "
        "1: the root of the largest Σ Xᵢⱼ where every entry of X = CᵀC is ≥ 0; its profile is no "
        "larger if rows of x depend on outputs that come before all those they enter; with b bands "
        "on and below the diagonal and Poisson samples drawn in turn from b parts of the data, n "
        "steps are at most ⌈n/b⌉ subsampled Gaussians, each of the longest column."
    ),
    source=(
        "Denisov et al., NeurIPS 2022 (arXiv 2202.08312); Choquette-Choo et al., NeurIPS 2023 "
        "(arXiv 2306.08153v2), Thm 4 and Alg. 2"
    ),
    proof="proofs/matrix_mechanism.py",
)
BOUNDED_RANGE = Theorem(
    name="bounded-range",
    statement=(
        "The losses of the exponential mechanism lie in a range of length ε, and such pairs are "
        "dominated by one with δ(ε′) = (1 − e^((ε′−ε)/2))²/(1 − e^(−ε)); one such pair attains it "
        "at one ε′ only."
    ),
    source="Dong, Durfee, Rogers, ICML 2020 (arXiv 1909.13830v2), Lemma 3.4 and Thm 3.1",
    proof="proofs/bounded_range.py",
)
PERMUTE_AND_FLIP = Theorem(
    name="permute-and-flip",
    statement=(
        "The first of the candidates, in random order, whose coin of probability exp(ε·(score − "
        "best)/(2Δ)) shows heads is an ε-DP choice; 2Δ may be Δ if between neighbors no score "
        "rises while another falls. Of two candidates, the worse one is chosen with half of its "
        "coin's probability."
    ),
    source="McKenna, Sheldon, NeurIPS 2020 (arXiv 2010.12603), Thm 1",
    proof="proofs/permute_and_flip.py",
)
SHUFFLED_REPORTS = Theorem(
    name="shuffled-reports",
    statement=(
        "One of n shuffled reports, all by one ε₀-DP randomizer, is dominated by "
        "(A + Δ, C + 1 − A − Δ) against the same with 1 − Δ, where C ~ Bin(n−1, e^(−ε₀)), "
        "A ~ Bin(C, ½) and Δ = 1 with probability "
        "e^ε₀/(1 + e^ε₀)."
    ),
    source="Feldman, McMillan, Talwar, FOCS 2021 (arXiv 2012.12803v3), Thm 3.1",
    proof="proofs/shuffled_reports.py",
)
LAST_ITERATE = Theorem(
    name="last-iterate",
    statement=(
        "The last of k steps x ← φ(x) + N(0, σ²I) from one start, φ Lipschitz with constant c ≤ 1 "
        "and moved by at most s at every x by a record, is μ-GDP with μ² = (s·Σ cʲ)²/(σ²·Σ c²ʲ), j "
        "from 0 to k − 1; with projections to a convex set of diameter D, with (cᵏD + s·Σ "
        "cʲ)²/(σ²·Σ c²ʲ) for any number k of last steps."
    ),
    source="Bok, Su, Altschuler, ICML 2024 (arXiv 2403.00278), Thm 3.1, 4.2 and 4.3",
    proof="proofs/last_iterate.py",
)
DISCRETE_LAPLACE = Theorem(
    name="discrete-laplace",
    statement=(
        "Integer noise with P(k) ∝ e^(−|k|/b) on whole answers of ℓ1 sensitivity Δ is (Δ/b)-DP; "
        "one coordinate that moves by Δ is the worst case."
    ),
    source="Ghosh, Roughgarden, Sundararajan, STOC 2009; here by stochastic order of the loss",
    proof="proofs/discrete_laplace.py",
)
DISCRETE_GAUSSIAN = Theorem(
    name="discrete-gaussian",
    statement=(
        "Integer noise with P(k) ∝ e^(−k²/(2σ²)) on whole answers of ℓ1 sensitivity Δ is "
        "Δ²/(2σ²)-zCDP; one coordinate that moves by Δ is the worst case."
    ),
    source="Canonne, Kamath, Steinke, NeurIPS 2020 (arXiv 2004.00010v6), Thm 4, Prop. 5",
    proof="proofs/discrete_gaussian.py",
)

BASIC_FILTER = Theorem(
    name="basic-filter",
    statement=(
        "If each next part, chosen from all answers so far with its parameters, is (εᵢ, δᵢ)-DP, "
        "and nothing is run that would make Σεᵢ > ε or Σδᵢ > δ, then all answers together are "
        "(ε, δ)-DP."
    ),
    source="Rogers, Roth, Ullman, Vadhan, NeurIPS 2016, Thm 3.6 (arXiv 1605.08294v3)",
    proof="proofs/basic_filter.py",
)
RENYI_FILTER = Theorem(
    name="renyi-filter",
    statement=(
        "If each next part is chosen from all answers so far with its parameters, and nothing is "
        "run unless at one of m orders αⱼ the divergences still add up to at most Bⱼ, where Bⱼ at "
        "αⱼ implies (ε, δ/m)-DP, then all answers together are (ε, δ)-DP; with one order they have "
        "a divergence of at most B."
    ),
    source="Feldman, Zrnic, NeurIPS 2021, Thm 4.5 (arXiv 2008.11193v4), and a union over orders",
    proof="proofs/renyi_filter.py",
)
LEAKY_FILTER = Theorem(
    name="leaky-filter",
    statement=(
        "If a filter keeps every interaction without leaks to a profile of at most f at ε, then "
        "with leaks of chance δᵢ besides, Σδᵢ ≤ L always, its interactions have a profile of at "
        "most L + (1 − L)·f."
    ),
    source=(
        "leaks by a coin: Kairouz, Oh, Viswanath, ICML 2015, Thm 2.5; cf. Whitehouse et al., "
        "ICML 2023, Thm 1"
    ),
    proof="proofs/leaky_filter.py",
)
ZCDP_FILTER = Theorem(
    name="zcdp-filter",
    statement=(
        "If each next part, chosen from all answers so far with its parameters, is ρᵢ-zCDP, and "
        "nothing is run that would make Σρᵢ > ρ, then all answers together are ρ-zCDP."
    ),
    source=(
        "Feldman, Zrnic, NeurIPS 2021, Thm 4.5 (arXiv 2008.11193v4); Whitehouse, Ramdas, Rogers, "
        "Wu, ICML 2023, Thm 1 (arXiv 2203.05481)"
    ),
    proof="proofs/zcdp_filter.py",
)
PLAN_FILTER = Theorem(
    name="plan-filter",
    statement=(
        "If each next part is one of a list of pairs fixed in advance, each taken at most once, or "
        "a μᵢ-GDP part with Σμᵢ² at most a reserve μ² fixed in advance, in an order and up to an "
        "end chosen from the answers so far, then all answers together are dominated by the "
        "product of the list and one Gaussian of μ²; so (ε, δ)-DP with δ its profile at ε."
    ),
    source="from adaptive domination, by induction on what is left of the list",
    proof="proofs/plan_filter.py",
)
RENYI_ODOMETER = Theorem(
    name="renyi-odometer",
    statement=(
        "Let Gⱼ be the divergences at order αⱼ added up so far and Σwⱼ ≤ 1. With ε the least of "
        "Gⱼ + ln(1 − 1/αⱼ) − ln(αⱼ·wⱼ·δ)/(αⱼ − 1) over j, P(E) ≤ E_Q[e^ε; E] + δ for all events E "
        "of the answers up to any stopping time, whatever was chosen from earlier answers."
    ),
    source=(
        "Ville's argument on the moments of Feldman, Zrnic, NeurIPS 2021, and Prop. 12 of "
        "Canonne, Kamath, Steinke, arXiv 2004.00010v4; cf. Whitehouse et al., ICML 2023, Thm 6"
    ),
    proof="proofs/renyi_odometer.py",
)

REGISTRY: tuple[Theorem, ...] = tuple(
    value for value in list(globals().values()) if isinstance(value, Theorem)
)
