"""All artefacts by name."""

from collections.abc import Iterable
from difflib import get_close_matches

from gssl.paper.ablation import ABLATION
from gssl.paper.budget import BUDGET
from gssl.paper.depth import DEPTH
from gssl.paper.filters import FILTERS
from gssl.paper.karate import KARATE
from gssl.paper.lim import LIM
from gssl.paper.negatives import NEGATIVES
from gssl.paper.plugins import PLUGINS
from gssl.paper.reconstruction import RECONSTRUCTION
from gssl.paper.reddit import REDDIT
from gssl.paper.running_time import TIME
from gssl.paper.spec import Artefact
from gssl.paper.table1 import TABLE_1

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
