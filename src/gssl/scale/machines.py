"""Clusters by name: one that runs somewhere, or processes of this machine."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any


def check_dask() -> None:
    """Refuse to go on where Dask is not installed, without loading it.

    Examples
    --------
    >>> check_dask()
    """
    if find_spec("distributed") is None:
        raise ImportError("Dask is missing: pip install 'gssl[distributed]'.")


@contextmanager
def cluster_client(address: str | None = None, n_workers: int | None = None) -> Iterator[Any]:
    """Give a Dask client for a block: to the scheduler at an address, or to workers on this machine.

    Security settings (TLS) are those of Dask's own configuration. A scheduler runs what its clients send: use
    one that you trust, in a network where only those who may run code on it can reach it.

    Parameters
    ----------
    address : str, optional
        Such as ``tcp://host:8786`` or ``tls://host:8786``.
    n_workers : int, optional
        Processes to start where there is no address; they share the CPUs and end with the block.

    Yields
    ------
    distributed.Client or None
        None where neither was given.

    Examples
    --------
    >>> with cluster_client() as client:
    ...     print(client)
    None
    """
    if address is None and n_workers is None:
        yield None
        return
    check_dask()
    from distributed import Client, LocalCluster

    if address is not None:
        try:
            client = Client(address, timeout=10)
        except (OSError, TimeoutError, ValueError, TypeError) as error:
            if address.startswith("tls://"):
                raise ConnectionError(
                    f"the Dask scheduler at {address} does not answer to these certificates: see that it "
                    "runs, and that distributed.comm.tls in Dask's configuration names the ca-file, and the "
                    "client's cert and key."
                ) from error
            raise ConnectionError(
                f"there is no Dask scheduler at {address}: start one, or give the address that it has."
            ) from error
        with client:
            yield client
        return
    threads = max(1, (os.cpu_count() or 1) // max(1, n_workers or 1))
    with (
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=threads,
            processes=True,
            # a port of its own, which nobody outside reaches
            dashboard_address="127.0.0.1:0",
            memory_limit=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client
