"""The quality of private fits: measured, and bounded by theorems."""
