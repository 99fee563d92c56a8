"""Draw from a mechanism on both sides of a pair; read, tabulate and store the outputs."""
