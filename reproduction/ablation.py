"""Figure 5: the parts of OGC, GGC and GGCM apart and together, on Cora."""

from collections.abc import Iterator, Mapping
from typing import Any

from gssl.methods import GGC, GGCM
from gssl.operators import Filters
from reproduction.estimators import part
from reproduction.settings import DEPTHS, embedder, ogc_depths
from reproduction.spec import Artefact, Cell, Claim, Entry, Place

_CORA = "planetoid/cora"


@part
class SmoothGGC(GGC):
    """GGC without inverse convolution: U ← smo(U)."""

    def step(self, k: int, U: Any, X: Any, graph: Filters) -> tuple[Any, Any]:
        """Smooth only."""
        U = self.smooth(k, U, graph)
        return U, U


@part
class SharpGGC(GGC):
    """GGC without convolution: U ← sharp(U)."""

    def step(self, k: int, U: Any, X: Any, graph: Filters) -> tuple[Any, Any]:
        """Sharpen only."""
        U = self.sharpen(k, U, graph)
        return U, U


@part
class SmoothGGCM(GGCM):
    """GGCM that gathers smooth embeddings only."""

    def step(self, k: int, U: Any, X: Any, graph: Filters) -> tuple[Any, Any]:
        """Smooth only."""
        U = self.smooth(k, U, graph)
        return U, U


@part
class SharpGGCM(GGCM):
    """GGCM that gathers sharpened embeddings only, and carries on what it sharpened."""

    def step(self, k: int, U: Any, X: Any, graph: Filters) -> tuple[Any, Any]:
        """Sharpen only."""
        U = self.sharpen(k, U, graph)
        return U, U


_LGC, _SEB, _IGC = "LGC alone", "SEB alone", "IGC alone"
_WHOLE = "together"


def _cells() -> dict[str, dict[str, Cell]]:
    """Give by method and part what is run; the settings are those of the whole method."""

    def parts(whole: str) -> dict[str, Cell]:
        cell = embedder(whole, _CORA, DEPTHS)
        names = {_LGC: f"Smooth{whole}", _IGC: f"Sharp{whole}"}
        alone = {
            row: Cell("embedding", _CORA, {**cell.settings, "method": name}) for row, name in names.items()
        }
        return {**alone, _WHOLE: cell}

    return {
        "OGC": {
            _LGC: ogc_depths(_CORA, eta_sup=0.0),
            _SEB: ogc_depths(_CORA, beta=0.0),
            _WHOLE: ogc_depths(_CORA),
        },
        "GGC": parts("GGC"),
        "GGCM": parts("GGCM"),
    }


def _entries() -> Iterator[Entry]:
    for group, rows in _cells().items():
        for row, cell in rows.items():
            for depth in DEPTHS:
                yield Entry(row, str(depth), group, cell=cell, value=f"accuracy@{depth}")


def _best_together(means: Mapping[Place, float], group: str, *alone: str) -> bool:
    best = {row: max(means[group, row, str(depth)] for depth in DEPTHS) for row in (_WHOLE, *alone)}
    return all(best[_WHOLE] > best[row] for row in alone)


def _falls(means: Mapping[Place, float], row: str) -> float:
    return max(means["GGC", row, str(depth)] for depth in DEPTHS) - means["GGC", row, "64"]


ABLATION = Artefact(
    name="ablation",
    source="Figure 5",
    title="Parts of the methods on Cora",
    entries=tuple(_entries()),
    note="LGC is lazy graph convolution, SEB supervised embedding, IGC inverse graph convolution. The paper "
    "gives curves and no numbers, so only its sentences can be held against ours.",
    claims=(
        Claim(
            "In OGC, the best depth of LGC and SEB together beats that of each alone",
            lambda means: _best_together(means, "OGC", _LGC, _SEB),
        ),
        Claim(
            "In GGC, the best depth of LGC and IGC together beats that of each alone",
            lambda means: _best_together(means, "GGC", _LGC, _IGC),
        ),
        Claim(
            "In GGCM, the best depth of LGC and IGC together beats that of each alone",
            lambda means: _best_together(means, "GGCM", _LGC, _IGC),
        ),
        Claim(
            "In GGC, IGC alone falls most from its best depth to 64",
            lambda means: _falls(means, _IGC) > max(_falls(means, row) for row in (_LGC, _WHOLE)),
        ),
    ),
    x_title="iterations",
)
