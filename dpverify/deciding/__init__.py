"""The ladder: is a claim proved, refuted or not refuted? Certify, else trace, else audit.

Each rung speaks only if what it found holds for certain, and says what exactly that is:

1. *certify* (`dpverify.certifying`): proved for all neighbors of the schema, or refuted by exact
   probabilities on two of them.
2. *trace* (`dpverify.tracing`): refuted where the output gives the releases back for certain; not
   refuted where the worst neighbors that were found keep the claim on every run.
3. *audit* (`dpverify.auditing`): refuted at a level, or not refuted. It begins with the neighbors
   on which the rungs above it saw trouble, for half of the level; the other half is for a search of
   its own. So a true claim is refuted with probability at most `level` in the whole decision: what
   the first two rungs refute holds at no level.
"""

from dpverify.deciding.decision import Decision, Rung
from dpverify.deciding.ladder import decide

__all__ = ["Decision", "Rung", "decide"]
