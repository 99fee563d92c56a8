"""What the letters and words of the statements mean; `prove` prints those that a statement uses."""

NOTATION: dict[str, str] = {
    "(ε, δ)-DP": "(ε, δ)-DP: P(E) ≤ e^ε·Q(E) + δ for the outputs P, Q on all neighboring datasets, all events E",
    "ε-DP": "ε-DP: (ε, 0)-DP",
    "-GDP": "μ-GDP: no easier to tell apart than N(μ, 1) and N(0, 1), at any error rates",
    "-zCDP": "ρ-zCDP: Rényi divergence at most α·ρ at every order α > 1",
    "Rényi": "the Rényi divergence of order α is ln Σ p^α·q^(1−α), over α − 1",
    "profile": "the profile of P, Q is ε ↦ δ(ε), the largest P(E) − e^ε·Q(E) over events E",
    "dominate": "a pair dominates another if its profile is nowhere below the other's, for every real ε",
    "pair": "a pair is two distributions: the outputs on two neighbors",
    "trade-off": "the trade-off curve: the least miss rate of a test, by its false-alarm rate",
    "kernel": "a kernel sends every outcome to a random one, by a distribution of its own",
    "leaky randomized response": "leaky randomized response tells all with probability δ, else the truth with odds e^ε : 1",
    "Φ": "Φ: the standard normal distribution function; φ its density",
    "H(": "H(ε, μ) = Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ), the profile of N(μ, 1) against N(0, 1)",
    "₊": "(x)₊ = max(x, 0)",
    "sensitivity": "the sensitivity of a query: the most that it moves between neighbors, in the norm named",
    "B(": "B(s): the noise B moved by s",
    "N(": "N(m, v): the normal distribution with mean m and variance v; N(m) has variance 1",
    "Bin(": "Bin(n, p): the binomial distribution",
    "λ": "λ: the weight of the ridge (λ/2)‖θ‖², or the bet where wealth is meant",
    "β": "β: smoothness, a bound on second derivatives; a failure probability where utility is meant",
    "T(": "T(α): the largest true-positive rate of a test with false-positive rate α",
    "monotone": "monotone: one record moves all scores, or slopes, in the same direction",
}


def notation(statement: str) -> list[str]:
    """The explanations of what occurs in a statement, and is not said there, in the order of the list."""
    used = {sign: meaning for sign, meaning in NOTATION.items() if sign in statement}
    return [meaning for sign, meaning in used.items() if f"{sign} = P(" not in statement]
