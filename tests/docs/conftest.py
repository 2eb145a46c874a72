import sys
from pathlib import Path

# helper modules of these tests, and those that build the manual
sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2] / "docs" / "_ext")]
