"""From replays of a run to verdicts.

- `releases`: one release by line; `shifts`, `outcomes`: what numbers and choices cost; `spending`:
  what all of them cost together; `judging`: whether that is within a claim;
- `steering`, `enumeration`, `crossing`: transcripts that are chosen, also by numbers that stand in
  the code (`constants`); `understanding`: differences that are no leaks; `determination`: whether
  an output determines its releases.
"""
