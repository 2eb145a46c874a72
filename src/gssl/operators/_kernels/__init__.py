"""Compiled loops, and readable NumPy versions that give the same results."""
