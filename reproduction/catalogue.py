"""All artefacts by name."""

from collections.abc import Iterable
from difflib import get_close_matches

from reproduction.ablation import ABLATION
from reproduction.budget import BUDGET
from reproduction.depth import DEPTH
from reproduction.filters import FILTERS
from reproduction.karate import KARATE
from reproduction.lim import LIM
from reproduction.negatives import NEGATIVES
from reproduction.plugins import PLUGINS
from reproduction.reconstruction import RECONSTRUCTION
from reproduction.reddit import REDDIT
from reproduction.running_time import TIME
from reproduction.spec import Artefact
from reproduction.table1 import TABLE_1

_ALL = (
    TABLE_1,
    DEPTH,
    REDDIT,
    RECONSTRUCTION,
    BUDGET,
    LIM,
    ABLATION,
    NEGATIVES,
    PLUGINS,
    FILTERS,
    KARATE,
    TIME,
)
ARTEFACTS: dict[str, Artefact] = {artefact.name: artefact for artefact in _ALL}


def find_artefacts(names: Iterable[str]) -> list[Artefact]:
    """Give artefacts by name, each once.

    Parameters
    ----------
    names : iterable of str

    Returns
    -------
    list of Artefact

    Examples
    --------
    >>> [artefact.source for artefact in find_artefacts(["table1"])]
    ['Table 1']
    """
    found = []
    for name in dict.fromkeys(names):
        if name not in ARTEFACTS:
            close = get_close_matches(name, ARTEFACTS, n=1)
            suggestion = f" (did you mean {close[0]!r}?)" if close else ""
            raise ValueError(f"the paper has no {name!r}{suggestion}: there are {', '.join(ARTEFACTS)}.")
        found.append(ARTEFACTS[name])
    return found
