"""Private empirical risk minimization. Nothing is released here yet."""
