"""The pictures of the labelling page: taken at each build from a session in which an oracle labels Cora."""

from pathlib import Path
from typing import Any

import numpy as np

import browser
import gssl
from browser import Shot
from gssl.io import Problem
from gssl.label import LabelServer, Session

LABELS = 60
SHOTS = {"labelling": Shot(1360, 900), "labelling-narrow": Shot(420, 900, "dark")}


def label_cora() -> Session:
    """Return a session in which the suggested papers of Cora have been labelled."""
    data = gssl.datasets.load("cora")
    ids, truth = data.node_ids.astype(object), [data.class_names[code] for code in data.labels]
    names = tuple(f"word{k}" for k in range(data.features.shape[1]))
    y = np.full(data.n_nodes, None, dtype=object)
    session = Session(Problem(ids, data.adjacency, data.features, y, feature_names=names))
    for _ in range(LABELS):
        found = session.suggest()
        assert found is not None
        session.act({"do": "label", "nodes": [found[0]], "label": truth[found[0]]}, session.version)
    return session


def take_pictures(folder: Path) -> None:
    """Take the pictures, or say in their place why there are none."""
    program = browser.chromium()
    if program is None:
        browser.say_why_not(folder, SHOTS)
    elif not all((folder / f"{name}.png").exists() for name in SHOTS):
        with LabelServer(label_cora()) as server:
            server.start()
            for name, shot in SHOTS.items():
                # an address opens the page once
                browser.take(server.new_url(), folder, {name: shot}, program, "body[data-ready]")
            server.shutdown()


def make_samples(app: Any) -> None:
    """Take the pictures before pages that show them are read."""
    take_pictures(Path(app.srcdir) / "_static" / "sample")


def setup(app: Any) -> dict[str, bool]:
    """Take the pictures when a build begins."""
    app.connect("builder-inited", make_samples)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
