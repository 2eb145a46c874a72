"""The user's labels as a sequence of actions that can be replayed and undone."""

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gssl.wording import is_missing_text

MAX_NAME = 200


class Labelling:
    """Labels by node, classes in order of appearance, and skipped nodes.

    An action is a dict: ``{"do": "label", "nodes": [ids], "label": name or None}``, ``{"do": "skip", "nodes":
    [ids]}``, ``{"do": "class", "label": name}``, ``{"do": "import", "labels": [[id, name], …]}`` or
    ``{"do": "undo"}``.
    """

    def __init__(self, node_ids: np.ndarray, y: np.ndarray) -> None:
        self.places: Mapping[str, int] = {str(node): i for i, node in enumerate(node_ids)}
        self.classes: list[str] = sorted({str(label) for label in y if label is not None})
        codes = {name: code for code, name in enumerate(self.classes)}
        self.given = {i: codes[str(label)] for i, label in enumerate(y) if label is not None}
        # in the order in which labels were given
        self.codes: dict[int, int] = dict(self.given)
        self.skipped: set[int] = set()
        self.version = 0
        self.unknown = 0
        # the nodes of the last action
        self.last: list[int] = []
        self._undo: list[tuple[str, int, list[tuple[int, int | None, bool]]]] = []

    @property
    def undoable(self) -> str:
        """A description of the action that undo would revert; empty if there is none."""
        return self._undo[-1][0] if self._undo else ""

    def label(self, node: int) -> str | None:
        """Return the label of a node, or None."""
        code = self.codes.get(node)
        return None if code is None else self.classes[code]

    def apply(self, action: Mapping[str, Any]) -> None:
        """Apply an action; nodes that are not in the graph are counted and skipped."""
        do = action.get("do")
        if do == "undo":
            self._take_back()
        elif do == "label":
            self._set([(str(node), action["label"]) for node in action["nodes"]])
        elif do == "import":
            self._set([(str(node), label) for node, label in action["labels"]], "imported")
        elif do == "skip":
            self._skip([str(node) for node in action["nodes"]])
        elif do == "class":
            self._remember(f"class {action['label']}", [])
            self._code(str(action["label"]))
        else:
            raise ValueError(f"{do!r} is no action: use label, skip, class, import or undo.")
        self.version += 1

    def _set(self, pairs: Sequence[tuple[str, Any]], how: str = "labelled") -> None:
        known = [(self.places[node], label) for node, label in pairs if node in self.places]
        self.unknown += len(pairs) - len(known)
        verb = "unlabelled" if how == "labelled" and all(label is None for _, label in known) else how
        name = pairs[0][0] if len(pairs) == 1 else f"{len(known):,} nodes"
        self._remember(f"{verb} {name}", [node for node, _ in known])
        for node, label in known:
            self.skipped.discard(node)
            if label is None:
                self.codes.pop(node, None)
            else:
                self.codes[node] = self._code(str(label))

    def _skip(self, names: Sequence[str]) -> None:
        nodes = [self.places[name] for name in names if name in self.places]
        self.unknown += len(names) - len(nodes)
        self._remember("skipped", nodes)
        self.skipped.update(node for node in nodes if node not in self.codes)

    def _code(self, name: str) -> int:
        if name not in self.classes:
            self.classes.append(name)
        return self.classes.index(name)

    def _remember(self, what: str, nodes: list[int]) -> None:
        self.last = nodes
        before = [(node, self.codes.get(node), node in self.skipped) for node in nodes]
        self._undo.append((what, len(self.classes), before))

    def _take_back(self) -> None:
        if not self._undo:
            return
        _, n_classes, before = self._undo.pop()
        self.last = [node for node, _, _ in before]
        for node, code, skipped in before:
            if code is None:
                self.codes.pop(node, None)
            else:
                self.codes[node] = code
            (self.skipped.add if skipped else self.skipped.discard)(node)
        del self.classes[n_classes:]


def check_class_name(given: Any) -> str:
    """Return a class name, stripped and in Unicode form NFC; raise if it is invalid."""
    if not isinstance(given, str):
        raise ValueError("a class is named by a text: type its name.")
    name = unicodedata.normalize("NFC", given).strip()
    if not name:
        raise ValueError("the name of the class is empty: type a name.")
    if len(name) > MAX_NAME:
        raise ValueError(f"the name of the class is longer than {MAX_NAME} characters: shorten it.")
    if is_missing_text(name) or name == "-1":
        raise ValueError(f"a table of labels with {name!r} is read as missing labels: choose another name.")
    if any(unicodedata.category(letter) in ("Cc", "Cs") for letter in name):
        raise ValueError("the name of the class has control characters: remove them.")
    return name
