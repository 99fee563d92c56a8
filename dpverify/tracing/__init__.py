"""Traces: see the noise being added. The exact loss of a pair from one run, line by line.

- `places`: lines of code; `laws`: standard laws of noise and what a shift costs;
- `events`: what a run records; `journal`: the recording; `replaying`: the replay; `alignment`:
  which noise the neighbor needs where several draws add up;
- `noise`, `arithmetic`: values that wait for their noise; `generator`, `sources`, `libraries`:
  where noise comes from;
- `outputs`, `runs`: one run and its output; `lines`: which line is at fault;
- `spending`, `judging`: what releases cost, and whether that is within a claim;
- `steering`, `enumeration`: transcripts that are chosen; `determination`: whether an output
  determines its releases; `witness`: a refutation in a file;
- `tracer`, `traced`: the front door and its result; `search`: the worst pair of a schema.
"""

from dpverify.tracing.events import Leak, Puzzle
from dpverify.tracing.search import trace_over
from dpverify.tracing.spending import Release
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
