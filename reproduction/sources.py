"""The graphs of the paper, loaded once, with the features its settings assume."""

from functools import lru_cache

from gssl.datasets import Dataset, load

CITATIONS = {"Cora": "planetoid/cora", "Citeseer": "planetoid/citeseer", "Pubmed": "planetoid/pubmed"}


@lru_cache(maxsize=4)
def dataset_of(name: str) -> Dataset:
    """Load a graph with feature rows that sum to one, and keep it.

    Parameters
    ----------
    name : str
        What :func:`gssl.datasets.load` calls it.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> dataset_of("karate") is dataset_of("karate")
    True
    """
    return load(name).normalized()
