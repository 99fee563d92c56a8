"""Audits of a training procedure in one run, with canaries."""
