"""There is no network access unless it is requested."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import gssl
from gssl.cli.app import app
from gssl.datasets.planetoid import load_planetoid


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Refuse every connection and name lookup, and list the attempts."""
    tried: list[Any] = []

    def refuse(*what: Any, **_: Any) -> Any:
        tried.append(what)
        raise OSError("no network in this test")

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, refuse)
    for name in ("getaddrinfo", "gethostbyname", "create_connection"):
        monkeypatch.setattr(socket, name, refuse)
    return tried


def test_fitting_saving_and_loading_ask_nobody(tmp_path: Path, calls: list[Any]):
    data = gssl.datasets.load("karate")
    y = data.mask_labels("default")
    model = gssl.OGC(random_state=0).fit(data.features, y, adjacency=data.adjacency)
    gssl.save(model, tmp_path / "m.gssl")
    assert np.array_equal(gssl.load(tmp_path / "m.gssl").transduction_, model.transduction_)
    with pytest.raises(FileNotFoundError):
        gssl.datasets.load("planetoid/cora", data_dir=tmp_path)
    assert calls == []


def test_the_command_line_asks_nobody(tmp_path: Path, calls: list[Any], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("e.csv").write_text("source,target\na,b\nb,c\nc,d\nd,e\n")
    Path("l.csv").write_text("id,label\na,x\ne,y\nb,x\nd,y\n")
    options = ["--edges", "e.csv", "--labels", "l.csv", "--out", "p.csv", "--report", "r.html"]
    done = CliRunner().invoke(app, ["classify", *options])
    assert done.exit_code == 0, done.output
    assert Path("r.html").stat().st_size > 1000
    assert calls == []


def test_the_network_is_used_where_it_is_asked_for(
    tmp_path: Path, calls: list[Any], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("GSSL_CACHE_DIR", str(tmp_path / "cache"))
    with pytest.raises(ConnectionError, match="could not be downloaded"):
        load_planetoid("cora", data_dir=tmp_path, download=True)
    assert calls
