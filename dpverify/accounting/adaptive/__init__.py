"""Steps without a single worst pair: a certified bound for the best adaptive choice of pairs.

`triangles` has what a batch of fixed size may show in one step, `lattice` pairs on a lattice of
losses and the game of choosing among them, `cover` the proof that few of them stand for all
triangles, and `batches` what a number of such steps costs.
"""
