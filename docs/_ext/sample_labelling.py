"""The pictures of the labelling page: taken at each build from a session in which an oracle labels Cora."""

import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import gssl
from gssl.io import Problem
from gssl.label import LabelServer, Session

LABELS = 60
# name: width, height, colours
SHOTS = {"labelling": (1360, 900, "light"), "labelling-narrow": (420, 900, "dark")}
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync")
ABSENT = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 600 60"><text x="10" y="35" fill="#808080" '
    'font-family="sans-serif">The manual was built without a browser, so there is no picture.</text></svg>'
)


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
    folder.mkdir(parents=True, exist_ok=True)
    if all((folder / f"{name}.png").exists() for name in SHOTS):
        return
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None or find_spec("playwright") is None:
        for name in SHOTS:
            (folder / f"{name}.svg").write_text(ABSENT, encoding="utf-8")
        return
    from playwright.sync_api import sync_playwright

    with LabelServer(label_cora()) as server, sync_playwright() as driver:
        server.start()
        browser = driver.chromium.launch(executable_path=chromium, args=list(FLAGS))
        for name, (width, height, scheme) in SHOTS.items():
            tab = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
            tab.goto(server.new_url())
            tab.wait_for_selector("body[data-ready]")
            tab.wait_for_timeout(500)
            tab.screenshot(path=folder / f"{name}.png")
        browser.close()
        server.shutdown()


def make_samples(app: Any) -> None:
    """Take the pictures before pages that show them are read."""
    take_pictures(Path(app.srcdir) / "_static" / "sample")


def setup(app: Any) -> dict[str, bool]:
    """Take the pictures when a build begins."""
    app.connect("builder-inited", make_samples)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
