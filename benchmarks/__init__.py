"""Ratios against rivals and against the machine, all measured in one run: ``python -m benchmarks``."""

# of everybody; set by the command, so that an import of this package changes nothing
THREADS = 2
