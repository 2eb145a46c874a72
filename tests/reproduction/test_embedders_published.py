"""GGC, GGCM and the linear baselines on the public splits of the citation graphs, train labels only.

Embeddings use the exact complement and are deterministic; the seeds are those of the Adam head. Epochs and
settings are chosen on validation nodes only.
"""

import itertools

import numpy as np
import pytest

import gssl
from gssl.evaluation import accuracy

SEEDS = range(10)
BUDGET = f"(train only, {len(SEEDS)} seeds)"

# igc_decay, alpha and weight_decay behind the published numbers
GGCM_SETTINGS = {"cora": (0.5, 0.15, 1e-5), "citeseer": (1.0, 0.15, 1e-3), "pubmed": (0.5, 0.1, 2e-5)}
GGCM_AT_LEAST = {"cora": 83.2, "citeseer": 73.8, "pubmed": 80.4}

# the settings of GGC were never published; validation nodes choose among these
GGC_GRID = tuple(itertools.product((4, 8, 12, 16), (1e-5, 2e-5, 1e-3)))
GGC_AT_LEAST = {"cora": 81.3, "citeseer": 73.3, "pubmed": 79.2}

SGC_PUBLISHED = {"cora": 81.0, "citeseer": 71.9, "pubmed": 78.9}
SSGC_PUBLISHED = {"cora": 83.0, "citeseer": 73.6, "pubmed": 80.2}
WEIGHT_DECAYS = (1e-5, 2e-5, 5e-5, 1e-4)

# numbers of Table 1, each with a tolerance in points. Filters have their defaults on every graph. The
# originals of PPR (APPNP) and NDLS train a network with a hidden layer and dropout instead of a linear head;
# the scripts of NDLS and G²CN also keep the best *test* accuracy, over depths of label smoothing and over
# epochs
FILTERS = {
    "PPR": (gssl.PPR(), {"cora": 83.3, "citeseer": 71.8, "pubmed": 80.1}, 2.0),
    "G2CN": (gssl.G2CN(), {"cora": 82.7, "citeseer": 73.8, "pubmed": 80.4}, 2.0),
    "NDLS": (gssl.NDLS(), {"cora": 84.6, "citeseer": 73.7, "pubmed": 81.4}, 2.5),
}
FILTER_WEIGHT_DECAYS = (*WEIGHT_DECAYS, 2e-4)


def short_name(data):
    return data.name.removeprefix("planetoid/")


def head_scores(data, U, weight_decay, *, best_epoch):
    """Return mean validation and test accuracy (%) of the Adam head over the seeds."""
    train, val, test = (data.splits["public"][part] for part in ("train", "val", "test"))
    scores = []
    for seed in SEEDS:
        head = gssl.AdamHead(weight_decay=weight_decay, random_state=seed)
        validation = (U[val], data.labels[val]) if best_epoch else None
        head.fit(U[train], data.labels[train], validation)
        scores.append([100 * accuracy(data.labels[part], head.predict(U[part])) for part in (val, test)])
    return np.mean(scores, axis=0)


def best_on_validation(candidates):
    """Return the test accuracy of the candidate with the best validation accuracy; the first wins a tie."""
    return max(candidates, key=lambda scores: scores[0])[1]


def test_ggcm_reaches_its_published_accuracy(citation, show):
    igc_decay, alpha, weight_decay = GGCM_SETTINGS[short_name(citation)]
    embedder = gssl.GGCM(igc_decay=igc_decay, alpha=alpha)
    U = embedder.fit_transform(citation.features, adjacency=citation.adjacency)
    _, test = head_scores(citation, U, weight_decay, best_epoch=True)
    show(f"GGCM {short_name(citation)}: {test:.2f} {BUDGET}")
    assert test >= GGCM_AT_LEAST[short_name(citation)]


@pytest.mark.slow
def test_ggc_tuned_on_validation_reaches_its_published_accuracy(citation, show):
    embedder = gssl.GGC(depth=16, decay=0.9, igc_beta=0.1, igc_decay=0.9)
    embeddings = list(embedder.iter_embeddings(citation.features, adjacency=citation.adjacency))
    test = best_on_validation(
        head_scores(citation, embeddings[depth], weight_decay, best_epoch=True)
        for depth, weight_decay in GGC_GRID
    )
    show(f"GGC {short_name(citation)}: {test:.2f} {BUDGET}")
    assert test >= GGC_AT_LEAST[short_name(citation)]


@pytest.mark.parametrize(
    ("embedder", "published"),
    [(gssl.SGC(depth=2), SGC_PUBLISHED), (gssl.SSGC(depth=16, alpha=0.05), SSGC_PUBLISHED)],
    ids=["SGC", "SSGC"],
)
def test_baselines_match_their_published_accuracy(citation, embedder, published, show):
    U = embedder.fit_transform(citation.features, adjacency=citation.adjacency)
    # the baselines' own protocol trains all 100 epochs; only the weight decay is chosen
    test = best_on_validation(head_scores(citation, U, wd, best_epoch=False) for wd in WEIGHT_DECAYS)
    show(f"{type(embedder).__name__} {short_name(citation)}: {test:.2f} {BUDGET}")
    assert test == pytest.approx(published[short_name(citation)], abs=0.8)


# computing NDLS's local depths on Pubmed takes minutes
@pytest.mark.slow
@pytest.mark.parametrize("method", FILTERS)
def test_filters_come_near_their_published_accuracy(citation, method, show):
    embedder, published, tolerance = FILTERS[method]
    U = embedder.fit_transform(citation.features, adjacency=citation.adjacency)
    test = best_on_validation(head_scores(citation, U, wd, best_epoch=True) for wd in FILTER_WEIGHT_DECAYS)
    show(f"{method} {short_name(citation)}: {test:.2f} {BUDGET}")
    assert test >= published[short_name(citation)] - tolerance
