"""Ratios against rivals and against the machine, all measured in one run: ``python -m benchmarks``."""

# for gssl and rivals alike; applied by the command, so that importing this package changes nothing
THREADS = 2
