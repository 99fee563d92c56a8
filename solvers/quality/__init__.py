"""How good a private fit is: measured, and promised by theorems."""
