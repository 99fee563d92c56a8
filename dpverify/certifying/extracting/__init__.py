"""The mechanism's own code, called on symbols: what of it may run, and the trees that come out."""
