import sys
from pathlib import Path

# modules beside the tests, and those that build the manual
sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2] / "docs" / "_ext")]
