"""Hypothesis draws afresh on every local run, and the same examples in continuous integration.

`--hypothesis-profile=thorough` looks ten times as hard.
"""

import os

from hypothesis import settings

settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.register_profile("thorough", deadline=None, max_examples=1000)
settings.load_profile("ci" if os.environ.get("CI") else "local")
