"""The entries of a ledger, and the status of a dataset's budget."""

from dataclasses import dataclass
from typing import Any

from dpverify.guarantees import Guarantee, to_dict
from dpverify.ledger.amounts import Amounts, written
from dpverify.ledger.store import StoredEntry
from dpverify.neighbors import Relation
from dpverify.plain import plain
from dpverify.theorems import Theorem


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of the history: a budget that was opened, or a request that was charged."""

    seq: int
    time: str
    kind: str
    dataset: str
    user: str
    label: str
    mechanism: str
    times: int
    charge: dict[str, str]
    share: float
    hash: str

    @classmethod
    def of(cls, row: StoredEntry) -> "Entry":
        told = row.told
        return cls(
            seq=row.seq,
            time=told["time"],
            kind=told["kind"],
            dataset=row.dataset,
            user=told["user"],
            label=told.get("label", ""),
            mechanism=told.get("mechanism", ""),
            times=told.get("times", 0),
            charge=told.get("charge", {}),
            share=told.get("share", 0.0),
            hash=row.hash,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """The state of a dataset's budget.

    `share` is how much of it is gone, from 0 to 1. `needed` is the smallest budget of the same
    kind that would have granted the same requests; `least_sigma` the least Gaussian noise that
    still fits, on a query of ℓ2 sensitivity 1 (∞ if none does, None if it is not priced).
    """

    dataset: str
    budget: Guarantee
    relation: Relation
    theorem: Theorem | None
    requests: int
    spent: Amounts
    share: float
    needed: Guarantee | None
    least_sigma: float | None
    opened: str
    changed: str

    def to_dict(self) -> dict[str, Any]:
        """The status as plain values for JSON."""
        return {
            "dataset": self.dataset,
            "budget": to_dict(self.budget),
            "relation": plain(self.relation),
            "theorem": None if self.theorem is None else self.theorem.name,
            "requests": self.requests,
            "spent": written(self.spent),
            "share": self.share,
            "needed": None if self.needed is None else to_dict(self.needed),
            "least_sigma": plain(self.least_sigma),
            "opened": self.opened,
            "changed": self.changed,
        }
