"""The privacy of solvers: rules, noise, and the theorems behind their claims."""
