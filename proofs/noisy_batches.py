"""Private gradient descent on random batches: what is released, and why a product of pairs covers it.

A step computes parameters from the noisy sums before it, draws a batch, clips the gradients of its records and releases their sum with noise. A record that is in a Poisson
batch adds at most C in length to the sum, and nothing otherwise; of two records one of which replaces the other each is in the batch by a coin of its own, or by one coin:
poisson-subsampling and poisson-subsampling-replaced dominate that, with noise made for C. In a batch of a fixed size, one replaced record moves the sum by at
most 2C: without-replacement. Where every record draws one batch of an epoch, independently of the others, the sum of that batch moves by at most C, and random-allocation
dominates the epoch, a record replaced being one removed and another added. Whatever the parameters are, the same pair dominates the step; so the product of all pairs dominates the sums
together (adaptive-domination), and what is computed from them, by a function that does not look at the data, has at most their profile.
"""

from fractions import Fraction

from dpverify.accounting.accountant import Accountant
from dpverify.guarantees import ApproxDP, PureDP
from dpverify.mechanisms import Gaussian, Laplace
from dpverify.neighbors import Relation
from dpverify.theorems import (
    POISSON_SUBSAMPLING,
    RANDOM_ALLOCATION,
    WITHOUT_REPLACEMENT,
    Step,
)
from proofs.adaptive_domination import ADAPTIVE_DOMINATION
from proofs.clipped_gradients import CLIPPED_GRADIENTS, the_sum_moves
from proofs.post_processing import POST_PROCESSING
from proofs.support.checks import VACUOUS, at_most, equal
from proofs.support.form import Clause, Proof
from proofs.transcript_loss import outputs_of_transcripts_are_dominated
from solvers.bounds import Bounds
from solvers.descent import DescentSetting
from solvers.domains import WholeSpace
from solvers.losses import Logistic
from solvers.privacy.theorems import NOISY_BATCHES, POISSON_REPLACED
from solvers.sgd import (
    AllocatedBatches,
    FixedBatches,
    PoissonBatches,
    StochasticGradientDescent,
)

__all__ = ["NOISY_BATCHES", "PROOF"]


def a_record_moves_a_sum(two: int = 2) -> Step:
    """C when its gradient is there or not, 2C when it is another's: the step of clipped-gradients."""
    return the_sum_moves(two)


def what_is_computed_from_sums(*, same_function: bool = True) -> Step:
    """Two steps, the second chosen by the first, and every function of both: the step of transcript-loss."""
    return outputs_of_transcripts_are_dominated(same_function=same_function)


def the_library_keeps_its_budget(share: float = 1.0) -> Step:
    """`StochasticGradientDescent`: with the noise that it draws, the accountant's ε is within the budget, at its sensitivity."""
    approx, pure = ApproxDP(epsilon=1.0, delta=1e-5), PureDP(epsilon=2.0)
    holds, count = VACUOUS, 0
    for batches, relation, budget in (
        (PoissonBatches(0.25), Relation.ADD_REMOVE, approx),
        (PoissonBatches(0.25), Relation.REPLACE_ONE, approx),
        (PoissonBatches(0.25), Relation.ADD_REMOVE, pure),
        (FixedBatches(5), Relation.REPLACE_ONE, approx),
        (AllocatedBatches(2), Relation.ADD_REMOVE, approx),
        (AllocatedBatches(2), Relation.REPLACE_ONE, pure),
    ):
        setting = DescentSetting(
            loss=Logistic(),
            bounds=Bounds(norm=1.0, labels=(-1, 1)),
            domain=WholeSpace(),
            relation=relation,
            records=20,
        )
        descent = StochasticGradientDescent(
            setting, batches=batches, steps=6, learning_rate=0.1, budget=budget
        )
        drawn = descent.noise(2)
        made_for = batches.reach(relation) * setting.clipping_norm(2)
        holds &= equal(Fraction(drawn.sensitivity), Fraction(made_for))
        ratio = share * drawn.scale / made_for
        # Of noise ∝ e^(−‖z‖/b) a step's largest loss is that of Laplace noise with the same b.
        noise = Gaussian(sigma=ratio) if drawn.kind == "gaussian" else Laplace(scale=ratio)
        part = batches.part(noise, setting.records)
        spent = Accountant(relation=relation).compose(part, times=batches.times(descent.steps))
        found = spent.epsilon(getattr(budget, "delta", 0.0), tolerance=1e-5)
        holds &= at_most(found.upper, budget.epsilon * (1 + 1e-5))
        count += 1
    return Step("`StochasticGradientDescent`", holds, f"{count} descents")


PROOF = Proof(
    theorem=NOISY_BATCHES,
    clauses=(
        Clause(
            NOISY_BATCHES.statement,
            by=(a_record_moves_a_sum, what_is_computed_from_sums),
            argued=(
                "that the same pair dominates a step whatever its parameters are (poisson-subsampling, poisson-subsampling-replaced, without-replacement; an epoch: random-allocation), so that the product "
                "of all pairs dominates the sums (adaptive-domination), and what is computed from them (post-processing)"
            ),
        ),
    ),
    library=(the_library_keeps_its_budget,),
    uses=(
        CLIPPED_GRADIENTS,
        ADAPTIVE_DOMINATION,
        POST_PROCESSING,
        POISSON_SUBSAMPLING,
        POISSON_REPLACED,
        WITHOUT_REPLACEMENT,
        RANDOM_ALLOCATION,
    ),
    mutations={
        "C when replaced": lambda: a_record_moves_a_sum(two=1),
        "one function a side": lambda: what_is_computed_from_sums(same_function=False),
        "nine tenths of the noise": lambda: the_library_keeps_its_budget(0.9),
    },
)
