"""Parts of methods run alone and together; claims about them are judged at their best depths."""

import numpy as np
import pytest

import gssl
from gssl.operators import Mixture
from reproduction.ablation import ABLATION, NEGATIVES, SharpGGC, SharpGGCM, SmoothGGC, SmoothGGCM
from reproduction.settings import DEPTHS, GGC_PARAMS

A = gssl.datasets.load("karate").adjacency
X = np.random.default_rng(0).random((34, 3))
PARTS = ("LGC alone", "SEB alone", "IGC alone", "together")


def params(group, row):
    cells = {entry.cell for entry in ABLATION.entries if (entry.group, entry.row) == (group, row)}
    (cell,) = cells
    return cell.settings["method"], cell.settings["params"]


def test_ogc_is_taken_apart_by_what_moves_its_embeddings():
    assert params("OGC", "LGC alone") == ("OGC", {"eta_sup": 0.0, "agreement": 1.0})
    assert params("OGC", "SEB alone") == ("OGC", {"beta": 0.0, "agreement": 1.0})
    assert params("OGC", "together") == ("OGC", {"agreement": 1.0})
    assert params("GGC", "IGC alone") == ("SharpGGC", GGC_PARAMS)
    assert params("GGCM", "LGC alone")[0] == "SmoothGGCM"


@pytest.mark.parametrize("part", [SmoothGGC, SmoothGGCM, SharpGGC, SharpGGCM])
def test_a_part_alone_leaves_out_the_other(part):
    """Settings of the part that is left out have no effect."""
    names = ("igc_beta", "igc_decay") if part.__name__.startswith("Smooth") else ("beta", "decay")
    changed = {name: 0.3 for name in names if name in part().get_params()}
    assert changed
    U = part(depth=4).fit_transform(X, adjacency=A)
    np.testing.assert_array_equal(part(depth=4, **changed).fit_transform(X, adjacency=A), U)
    whole = getattr(gssl, part.__name__.removeprefix("Smooth").removeprefix("Sharp"))
    assert np.abs(whole(depth=4).fit_transform(X, adjacency=A) - U).max() > 1e-3
    assert isinstance(part().mixtures(1)[0], Mixture)


def means(**best):
    """Return accuracies that are equal at all depths except the best, 8."""
    numbers = {}
    for group in ("OGC", "GGC", "GGCM"):
        for row in PARTS:
            for depth in DEPTHS:
                numbers[group, row, str(depth)] = best.get(row.split()[0], 70.0) if depth == 8 else 60.0
    return numbers


def test_claims_are_about_the_best_depths():
    def judged(**best):
        return [claim.holds(means(**best)) for claim in ABLATION.claims]

    assert judged(together=80.0) == [True, True, True, False]
    assert judged(together=80.0, SEB=80.0) == [False, True, True, False]
    assert judged(together=80.0, IGC=85.0) == [True, False, False, True]
    with pytest.raises(KeyError):
        ABLATION.claims[0].holds({})


def test_claims_about_negatives():
    stable = {entry.position: 80.0 for entry in NEGATIVES.entries}
    assert all(claim.holds(stable) for claim in NEGATIVES.claims)
    jump = stable | {("Cora", "GGC", "40|E|"): 81.1, ("Pubmed", "GGCM", "all pairs"): 78.9}
    assert [claim.holds(jump) for claim in NEGATIVES.claims] == [False, True, True, True, True, False]
    # numbers below 20|E| do not matter
    assert NEGATIVES.claims[0].holds(stable | {("Cora", "GGC", "10|E|"): 50.0})
