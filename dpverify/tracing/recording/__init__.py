"""Record one run, and replay it on other data with every released value unchanged.

- `places`: lines of code; `laws`: standard laws of noise, and what a shift costs;
- `events`: what a run records; `draws`: its noise, numbered; `journal`: the recording;
- `following`, `sums`, `pinning`: the noise that the neighbor needs; `replaying`: the replay;
  `retelling`: the run once more with plain numbers;
- `outputs`: outputs as leaves; `records`: which records differ; `runs`: one call of a mechanism;
  `lines`: which line is at fault; `meetings`: which plain numbers meet in the code.
"""
