"""The loops that do the work, each beside a readable NumPy twin that gives the same numbers."""
