"""A TLS cluster is reached only with the certificates of Dask's configuration."""

import shutil
import subprocess
import threading

import numpy as np
import pytest

import gssl
from gssl.scale.cluster import cluster_client

dask = pytest.importorskip("dask", reason="the extra 'distributed' is not installed")
pytest.importorskip("distributed", reason="the extra 'distributed' is not installed")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """Create a self-signed certificate for scheduler, workers and client."""
    if shutil.which("openssl") is None:
        pytest.skip("certificates are made by the command openssl")
    folder = tmp_path_factory.mktemp("tls")
    key, certificate = str(folder / "key.pem"), str(folder / "certificate.pem")
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=gssl"]
    subprocess.run([*made, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    return key, certificate


def test_certificates_come_from_the_configuration_of_dask(blocks, certificate, dask_processes):
    X, _, A = blocks
    key, signed = certificate
    options = ("--tls-ca-file", signed, "--tls-cert", signed, "--tls-key", key)
    _, address = dask_processes.scheduler("--protocol", "tls", *options)
    assert address.startswith("tls://")
    dask_processes.worker(address, *options)
    loops = _loops()
    with (
        pytest.raises(ConnectionError, match=rf"^the Dask scheduler at {address} .*distributed\.comm\.tls"),
        cluster_client(address),
    ):
        pass
    # the failed client is closed, not left to the garbage collector
    assert _loops() == loops
    named = {"ca-file": signed, "client.cert": signed, "client.key": key}
    settings = {f"distributed.comm.tls.{name}": path for name, path in named.items()}
    with dask.config.set(settings), cluster_client(address) as client:
        assert client.scheduler.address == address
        with gssl.execution(client=client):
            found = gssl.SGC().fit(X, adjacency=A).embedding_
    np.testing.assert_allclose(found, gssl.SGC().fit(X, adjacency=A).embedding_, rtol=1e-5, atol=1e-6)


def _loops():
    return {thread for thread in threading.enumerate() if thread.name == "IO loop"}
