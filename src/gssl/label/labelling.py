"""The user's labels as a sequence of actions that can be replayed and undone."""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from gssl.label.label_kinds import ClassNames, LabelKind
from gssl.wording import quoted

# labels in which recently used classes are looked for
_LAST = 1_000


class _Before(NamedTuple):
    """What an action changed: its number and name, the classes before it, and its nodes, each as it was.

    A node has its code and turn, or None if it had no label, and whether it was skipped.
    """

    n: int
    what: str
    n_classes: int
    nodes: list[tuple[int, tuple[Any, int] | None, bool]]


class Labelling:
    """Labels of a kind by node, as codes, and skipped nodes.

    An action is a dict: ``{"do": "label", "nodes": [ids], "label": label or None}``, ``{"do": "skip",
    "nodes": [ids]}``, ``{"do": "class", "label": name}``, ``{"do": "import", "labels": [[id, label], …]}`` or
    ``{"do": "undo", "of": n}``, with a number ``n``. ``check`` adds ``n`` and ``of`` if they are left out.
    """

    def __init__(self, node_ids: np.ndarray, y: np.ndarray, kind: LabelKind | None = None) -> None:
        self.indices: Mapping[str, int] = {str(node): i for i, node in enumerate(node_ids)}
        self.kind = ClassNames() if kind is None else kind
        self.given = self.kind.read(y)
        # in the order in which labels were given
        self.codes: dict[int, Any] = dict(self.given)
        # by which undo restores that order
        self._turns = {node: turn for turn, node in enumerate(self.codes)}
        self._turn = len(self.codes)
        self.skipped: set[int] = set()
        self.version = 0
        self.unknown = 0
        # the nodes of the last action
        self.last: list[int] = []
        self._undo: list[_Before] = []

    @property
    def classes(self) -> list[str]:
        """The names of classes in order of appearance; empty if labels are numbers."""
        return self.kind.names

    @property
    def summary(self) -> str:
        """How many labels there are, in words."""
        return self.kind.summarise(self.codes.values())

    @property
    def undoable(self) -> str:
        """A description of the action that undo would revert; empty if there is none."""
        return self._undo[-1].what if self._undo else ""

    def label(self, node: int) -> Any:
        """Return the label of a node, or None."""
        code = self.codes.get(node)
        return None if code is None else self.kind.decode(code)

    def recent(self, count: int) -> list[Any]:
        """Return the classes of the last labels, the latest first; labels given at the start do not count."""
        last = islice(reversed(self.codes.items()), _LAST)
        used = dict.fromkeys(code for node, code in last if self.given.get(node) != code)
        return [self.kind.decode(code) for code in islice(used, count)]

    def check(self, action: Mapping[str, Any]) -> dict[str, Any]:
        """Return a numbered action that ``apply`` cannot fail on; raise ValueError if it is invalid."""
        do, n = action.get("do"), action.get("n", self.version + 1)
        if type(n) is not int or not self.version < n < 2**53:
            raise ValueError(
                f"its number must be greater than {self.version:,}, that of the previous action."
            )
        if do == "undo":
            of = action.get("of", self._undo[-1].n if self._undo else n)
            if type(of) is not int:
                raise ValueError("undo needs the number of the action to take back.")
            return {"do": do, "of": of, "n": n}
        if do == "skip":
            return {"do": do, "nodes": _check_ids(action.get("nodes")), "n": n}
        if do == "class":
            return {"do": do, "label": self.kind.check_new_class(action.get("label")), "n": n}
        if do == "import":
            ids, labels = _check_pairs(action.get("labels"), self.kind.noun)
            pairs = zip(ids, self.kind.check(labels), strict=True)
            return {"do": do, "labels": [[i, label] for i, label in pairs], "n": n}
        if do != "label":
            shown = quoted(do) if isinstance(do, str | None) else "this"
            raise ValueError(f"{shown} is not an action: use label, skip, class, import or undo.")
        if "label" not in action:
            raise ValueError(f"a label action needs a {self.kind.noun}, or null to remove the label.")
        label = None if action["label"] is None else self.kind.check([action["label"]])[0]
        return {"do": do, "nodes": _check_ids(action.get("nodes")), "label": label, "n": n}

    def apply(self, action: Mapping[str, Any]) -> None:
        """Apply a checked action; nodes that are not in the graph are counted and skipped."""
        do, n = action["do"], action["n"]
        if do == "undo":
            self._take_back(action["of"])
        elif do == "label":
            self._set(n, [(node, action["label"]) for node in action["nodes"]])
        elif do == "import":
            self._set(n, [(node, label) for node, label in action["labels"]], "imported")
        elif do == "skip":
            self._skip(n, action["nodes"])
        else:
            self._remember(n, f"class {action['label']}", [])
            self.kind.encode(action["label"])
        self.version = n

    def _set(self, n: int, pairs: Sequence[tuple[str, Any]], how: str = "labelled") -> None:
        known = [(self.indices[node], label) for node, label in pairs if node in self.indices]
        self.unknown += len(pairs) - len(known)
        verb = "unlabelled" if how == "labelled" and all(label is None for _, label in known) else how
        name = pairs[0][0] if len(pairs) == 1 else f"{len(known):,} nodes"
        self._remember(n, f"{verb} {name}", [node for node, _ in known])
        for node, label in known:
            self.skipped.discard(node)
            self.codes.pop(node, None)
            if label is not None:
                self.codes[node] = self.kind.encode(label)
                self._turns[node] = self._turn
                self._turn += 1

    def _skip(self, n: int, names: Sequence[str]) -> None:
        nodes = [self.indices[name] for name in names if name in self.indices]
        self.unknown += len(names) - len(nodes)
        self._remember(n, "skipped", nodes)
        self.skipped.update(node for node in nodes if node not in self.codes)

    def _remember(self, n: int, what: str, nodes: list[int]) -> None:
        self.last = nodes
        codes, turns = self.codes, self._turns
        before = [
            (node, (codes[node], turns[node]) if node in codes else None, node in self.skipped)
            for node in nodes
        ]
        self._undo.append(_Before(n, what, len(self.classes), before))

    def _take_back(self, of: int) -> None:
        """Take back an action, and later ones whose undo was lost: undo goes from the last to the first."""
        self.last, restored = [], False
        while self._undo and self._undo[-1].n >= of:
            before = self._undo.pop()
            self.last = [node for node, _, _ in before.nodes]
            for node, given, skipped in before.nodes:
                self.codes.pop(node, None)
                if given is not None:
                    self.codes[node], self._turns[node] = given
                    restored = True
                (self.skipped.add if skipped else self.skipped.discard)(node)
            del self.classes[before.n_classes :]
        if restored:
            self.codes = dict(sorted(self.codes.items(), key=lambda pair: self._turns[pair[0]]))


def _check_ids(nodes: Any) -> list[str]:
    if not isinstance(nodes, list) or not all(isinstance(node, str) for node in nodes):
        raise ValueError("the nodes of an action must be a list of ids.")
    return nodes


def _check_pairs(pairs: Any, noun: str) -> tuple[list[str], list[Any]]:
    """Return the ids and the labels of an import."""
    if not isinstance(pairs, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        raise ValueError(f"imported labels must be a list of pairs (id, {noun}).")
    if not all(isinstance(node, str) for node, _ in pairs):
        raise ValueError(f"imported labels must be pairs (id, {noun}), with text as id.")
    return [node for node, _ in pairs], [label for _, label in pairs]
