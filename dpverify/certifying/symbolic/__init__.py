"""A mechanism run on symbols for data and noise, and the exact numbers that come with it."""
