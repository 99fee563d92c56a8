"""From replays to verdicts.

- `spending`: releases by line and what they cost; `judging`: whether that is within a claim;
- `steering`, `enumeration`: transcripts that are chosen; `understanding`: differences that are no
  leaks; `determination`: whether an output determines its releases.
"""
