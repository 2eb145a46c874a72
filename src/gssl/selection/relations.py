"""Kinds of links as candidates: each is tried beside a node's own features, and the best are combined.

A filter of several relations has the features of neighbours by each side by side. In a ridge that is a sum of
kernels, to which relations are added while the likelihood of hidden answers gains.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from gssl.evaluation.metrics import paired_difference
from gssl.methods import PPR, SGC, HopFilter
from gssl.selection.candidates import RELATION_DEPTH, Filter, make_filter, side_by_side, split_name
from gssl.selection.filtered_rows import FilteredRows
from gssl.selection.trial import Member, Trial

# with more relations, they are screened by narrower views
_MOST_WIDE, _NARROW = 8, 64
# relations to combine, at the most, and additions to the best filter
_KEPT, _ADDED = 4, 3
# blocks that are tried again after the first addition
_AGAIN = 6
# operators of relations that trees read
_WALKS = 6
# by how much the total log-likelihood of hidden answers must increase with a relation that is added, beside
# the logarithm of the number of relations
SURPRISE = 2.0
# the chance that any of the relations seems to add something if none does
_CHANCE = 0.05

# tries filters of the first view with some number of directions
Try = Callable[[Sequence[Filter], int], list[Trial]]


@dataclass(frozen=True)
class RelationGain:
    """What one relation adds to a node's own features on hidden answers, with the standard error.

    In accuracy, in R², or in log-likelihood if nodes have several labels. Where all links are of one kind, it
    is what their directions add to the best filter without them. ``operators`` are those of the relation.
    """

    relation: str
    operators: tuple[str, ...]
    difference: float
    standard_error: float
    # standard errors of a clear difference: more, the more relations are compared
    needed: float = 2.0

    @property
    def is_clear(self) -> bool:
        """Whether the difference is too large to be chance."""
        return abs(self.difference) > self.needed * self.standard_error


def try_relations(
    tables: FilteredRows, own: Trial, best: Trial, try_filters: Try
) -> tuple[list[Trial], list[RelationGain]]:
    """Try the relations of a graph alone and together; return the trials, and what each relation adds.

    ``own`` is the trial of a node's own features, and ``best`` the best one so far.
    """
    first = best
    relations = list(dict.fromkeys(split_name(name)[1] or "" for name in tables.of_relations))
    # the more relations, the better the best of them looks by chance
    surprise = SURPRISE + float(np.log(len(relations)))
    single = {relation: _neighbours(tables, relation) for relation in relations}
    beside = [side_by_side(own.filter, _joined(each), surprise) for each in single.values()]
    plain = own
    if len(relations) > _MOST_WIDE and own.width > _NARROW:
        (plain,) = try_filters([own.filter], _NARROW) or (own,)
    trials = try_filters(beside, plain.width)
    screened = dict(zip(relations, trials, strict=False))
    order = sorted(screened, key=lambda relation: screened[relation].loss)
    kept = [relation for relation in order if screened[relation].loss < plain.loss][:_KEPT]
    pool = [block for relation in kept for block in single[relation]]
    if len(relations) > 1:
        smooth = [f for relation in kept for f in _smooth(tables, relation, surprise)]
        trials = trials + try_filters(smooth, own.width)
    best = min([best, *trials], key=lambda trial: trial.loss)
    for _ in range(_ADDED if pool else 0):
        operators = {(block.operator, len(block.powers)) for block in best.filter.blocks}
        new = [f for f in pool if (f.blocks[0].operator, len(f.blocks[0].powers)) not in operators]
        tried = try_filters([side_by_side(best.filter, f, surprise) for f in new], best.width)
        trials = trials + tried
        ranked = sorted(range(len(tried)), key=lambda k: tried[k].loss)
        if not tried or tried[ranked[0]].loss >= best.loss:
            break
        best, pool = tried[ranked[0]], [new[k] for k in ranked[1 : _AGAIN + 1]]
    without = plain if len(relations) > 1 else first
    needed = NormalDist().inv_cdf(1.0 - _CHANCE / (2.0 * len(relations)))
    return trials, [_gain(relation, trial, without, needed) for relation, trial in screened.items()]


def tree_walks(gains: Sequence[RelationGain]) -> list[str]:
    """Return the operators of the relations that add most, for trees, which count their neighbours apart."""
    names: list[str] = []
    for gain in sorted(gains, key=lambda gain: -gain.difference):
        # trees may read what linear models cannot: only a clear loss speaks against a relation
        loses = gain.is_clear and gain.difference < 0
        if not loses and len(names) + len(gain.operators) <= _WALKS:
            names += gain.operators
    return names


def _neighbours(tables: FilteredRows, relation: str) -> list[Filter]:
    """Return the filters of neighbours by one relation: one and two hops, or one in each direction."""
    kinds = [kind for kind in ("hop", "out", "in") if f"{kind}:{relation}" in tables.of_relations]
    depths = [1, 2] if kinds == ["hop"] and tables.depth > 1 else [1]
    return [
        make_filter("neighbours", [HopFilter(depth, kind)], 0.0, relation)
        for kind in kinds
        for depth in depths
    ]


def _joined(filters: Sequence[Filter]) -> Filter:
    first, *others = filters
    for other in others:
        first = side_by_side(first, other, 0.0)
    return first


def _smooth(tables: FilteredRows, relation: str, surprise: float) -> list[Filter]:
    depth = min(RELATION_DEPTH, tables.depth)
    return [
        make_filter(type(each).__name__, [each], surprise, relation)
        for each in (SGC(depth=min(2, depth)), PPR(depth=depth))
    ]


def used_relations(members: Sequence[Member]) -> list[str]:
    """List the relations that the members of an average tell apart."""
    return list(dict.fromkeys(name for member in members for name in member.filter.relations))


def _gain(relation: str, trial: Trial, without: Trial, needed: float) -> RelationGain:
    """Compare hidden answers with and without a relation, paired by node."""
    hits = trial.points.dtype == bool
    difference, error = paired_difference(trial.points, without.points, hits=hits)
    names = dict.fromkeys(block.operator for block in trial.filter.blocks)
    operators = tuple(name for name in names if split_name(name)[1] == relation)
    return RelationGain(relation, operators, difference, error, needed)
