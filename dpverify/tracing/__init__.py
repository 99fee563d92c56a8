"""Traces: record the noise of one run, and compute a pair's exact privacy loss line by line.

- `noise`: values that know which noise is in them, and where noise comes from;
- `recording`: one run recorded, and replayed on other data with every noisy value frozen;
- `evidence`: what releases cost, which transcripts to choose, what an output determines;
- `tracer`, `traced`: the front door and its result; `transcripts`: one transcript judged;
  `witness`: a refutation in a file; `search`: the worst pair of a schema.
"""

from typing import TYPE_CHECKING

from dpverify.on_demand import on_demand

if TYPE_CHECKING:
    from dpverify.tracing.evidence.releases import Release
    from dpverify.tracing.recording.events import Leak, Puzzle
    from dpverify.tracing.search import trace_over
    from dpverify.tracing.traced import Traced
    from dpverify.tracing.tracer import trace, trace_pair
    from dpverify.tracing.witness import TraceWitness

__all__ = [
    "Leak",
    "Puzzle",
    "Release",
    "TraceWitness",
    "Traced",
    "trace",
    "trace_over",
    "trace_pair",
]

_HOME = {
    "Leak": "recording.events",
    "Puzzle": "recording.events",
    "Release": "evidence.releases",
    "TraceWitness": "witness",
    "Traced": "traced",
    "trace": "tracer",
    "trace_over": "search",
    "trace_pair": "tracer",
}

__getattr__, __dir__ = on_demand(__name__, _HOME)
