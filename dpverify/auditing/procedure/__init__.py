"""One audit from its first draw to its verdict."""
