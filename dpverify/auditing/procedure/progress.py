"""Where an audit stands, as told after every stage."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """Draws a side so far, log wealth of the bets against the claim, and the budget.

    `epsilon_lower` is what the bets have shown by now; it may be read at any time.
    """

    samples: int
    log_wealth: float
    budget: int
    epsilon_lower: float = 0.0

    def __str__(self) -> str:
        return (
            f"{self.samples:,} of {self.budget:,} draws a side, "
            f"log wealth {self.log_wealth:.1f}, ε ≥ {self.epsilon_lower:.2f}"
        )
