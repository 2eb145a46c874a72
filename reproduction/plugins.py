"""SEB and IGC as plug-ins: deep networks with neither, one or both of them (Sect. 4)."""

from collections.abc import Iterator
from typing import Any

from gssl.datasets import load
from reproduction.depth import PUBLISHED
from reproduction.network_cells import fitted, scores
from reproduction.oversmoothing import dirichlet_energy, limit_distance
from reproduction.settings import DEPTHS
from reproduction.spec import Artefact, Cell, Claim, Entry, dataset_of, measure

GRAPH, DATASET = "Cora", "planetoid/cora"
# row -> (SEB, IGC, whether square weights are initialized as the identity)
KINDS: dict[str, tuple[bool, bool, bool]] = {
    "plain": (False, False, False),
    "plain, from the identity": (False, False, True),
    "with SEB": (True, False, True),
    "with IGC": (False, True, True),
    "with both": (True, True, True),
}
_SHORT = {"dropout": 0.0, "epochs": 60, "patience": None}
_SETTINGS: dict[str, dict[str, Any]] = {
    "GCN": _SHORT,
    "JKNet": {**_SHORT, "hidden": 16},
    # published settings: GCNII and APPNP are designed to be deep and keep their own initialization
    "GCNII": {"epochs": 100, "patience": None},
    "APPNP": {"epochs": 200, "patience": None},
}
_OWN_START = ("GCNII", "APPNP")
_DEEP = 8


def plugged(method: str, depth: int, kind: str) -> Cell:
    """Return a network of some depth with some plug-ins.

    With two layers, GCN and JKNet have one hidden layer, which changes the width: it cannot start as the
    identity, and IGC has nothing to average with. So neither is used then.
    """
    seb, igc, identity = KINDS[kind]
    params = {**_SETTINGS[method], "depth": depth}
    if method in _OWN_START:
        identity = False
    else:
        # the steps of many layers add up, so deep networks need a smaller rate
        params["learning_rate"] = 0.01 if depth < _DEEP else 0.002
        igc, identity = igc and depth > 2, identity and depth > 2
    settings: dict[str, Any] = {
        "method": method,
        "params": params,
        "plugins": {"seb": seb, "igc": igc, "identity_start": identity},
    }
    if method in _OWN_START:
        settings["unit_rows"] = True
    quick = method == "GCN" and (depth, kind) in ((2, "plain"), (64, "plain"), (64, "with both"))
    return Cell("plugged", DATASET, settings, slow=not quick)


@measure("plugged")
def train_plugged(cell: Cell, seed: int) -> dict[str, float]:
    """Train a network with plug-ins, score it, and measure how smooth its last hidden layer is.

    Training and SEB use the labels of training nodes; validation nodes choose the epoch. Features are not
    normalized, because a GCN of 64 layers is better that way on validation nodes; with ``unit_rows``, rows
    sum to one, as published.
    """
    data = dataset_of(cell.dataset) if cell.settings.get("unit_rows") else load(cell.dataset)
    model = fitted(cell, seed, data)
    from reproduction.networks.plugged import hidden_embedding

    U = hidden_embedding(model.network_).numpy()
    return scores(cell, model, data) | {
        "energy": dirichlet_energy(U, data.adjacency),
        "distance": limit_distance(U, data.adjacency),
    }


_VALUES = {
    "": "accuracy",
    ": Dirichlet energy of the last hidden layer": "energy",
    ": distance of the last hidden layer from the limit of smoothing": "distance",
}


def _entries() -> Iterator[Entry]:
    for method in _SETTINGS:
        for text, value in _VALUES.items():
            for kind in KINDS:
                if method in _OWN_START and kind == "plain, from the identity":
                    continue
                known = PUBLISHED[GRAPH].get(method) if kind == "plain" and value == "accuracy" else None
                for k, depth in enumerate(DEPTHS):
                    yield Entry(
                        kind,
                        str(depth),
                        method + text,
                        published=None if known is None else known[k],
                        cell=plugged(method, depth, kind),
                        value=value,
                        budget="train",
                        digits=1 if value == "accuracy" else -1,
                        drawn=value == "accuracy",
                    )


def _claims() -> Iterator[Claim]:
    for method in _SETTINGS:
        base = "plain" if method in _OWN_START else "plain, from the identity"
        start = "" if method in _OWN_START else ", from the same initialization"
        for kind in ("with SEB", "with IGC", "with both"):
            yield Claim(
                f"{method} with 64 layers is better {kind} than without{start}",
                pairs=(((method, kind, "64"), (method, base, "64")),),
            )


PLUGINS = Artefact(
    name="plugins",
    source="Section 4",
    title=f"SEB and IGC as plug-ins in networks, by depth, on {GRAPH}",
    entries=tuple(_entries()),
    unit="accuracy %, energy or distance",
    note="""\
The paper says that SEB and IGC are plug-ins that keep networks from over-smoothing.
It has no table of it.
The published numbers are those of the plain networks of Table 6.
They had other hyperparameters, so differences are not judged.

All runs use the public split.
Only training labels train the network and move embeddings in SEB.
Validation nodes choose the epoch.
GCN and JKNet have 16 columns, no dropout and 60 epochs, and use features as they are.
Their learning rate is 0.01 below 8 layers and 0.002 from 8 layers on, with or without plug-ins.
With plug-ins, their layers are initialized as the identity.
One row has this initialization without plug-ins, to separate the two effects.
With two layers, no layer can be initialized as the identity, and IGC has nothing to average with.
So some numbers are equal by construction.

GCNII and APPNP have their published hyperparameters and initialization, with 100 and 200 epochs.
Their feature rows sum to one.
In JKNet, W of SEB is the part of the last layer that is applied to the current layer.
In APPNP, layers are class scores, so W is the identity.
Its last hidden layer is the output of the last product.

Energy is tr(Uᵀ(I − Â)U) / ‖U‖², distance is ‖U − U∞‖ / ‖U‖.
Both are 0 if Theorem 1 holds.
Networks need gssl[baselines].
Quick runs include only GCN: plain with 2 and 64 layers, and with both plug-ins and 64 layers.""",
    claims=tuple(_claims()),
    x_title="layers",
)
