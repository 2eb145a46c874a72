"""What a label is: the name of a class, or a number."""

import math
import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from typing import Any, ClassVar

import numpy as np

from gssl.io.label_tables import Answers
from gssl.methods.labels import MINUS
from gssl.wording import counted, is_missing_text, quoted

MAX_NAME = 200
# more would not fit the page, nor the memory of a large graph
MAX_CLASSES = 1_000
# larger numbers could overflow in predictions
MAX_NUMBER = 1e300
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


class LabelKind(ABC):
    """A kind of labels: each is stored as a code, which is the number of its class, or the number itself."""

    answers: ClassVar[Answers]
    # what a label is called, and its column in the output
    noun: ClassVar[str]
    column: ClassVar[str]

    def __init__(self) -> None:
        # of classes, in order of appearance
        self.names: list[str] = []

    @abstractmethod
    def read(self, y: np.ndarray) -> dict[int, Any]:
        """Return the codes of labels that are given at the start, by node."""

    @abstractmethod
    def parse(self, given: Any) -> Any:
        """Return the label that a user typed or a table holds."""

    @abstractmethod
    def check(self, labels: Sequence[Any]) -> list[Any]:
        """Return labels that ``encode`` cannot fail on; raise ValueError if one is invalid."""

    @abstractmethod
    def check_new_class(self, name: Any) -> str:
        """Return the name of a class to add; raise ValueError if it is invalid."""

    @abstractmethod
    def encode(self, label: Any) -> Any:
        """Return the code of a checked label."""

    @abstractmethod
    def decode(self, code: Any) -> Any:
        """Return the label of a code."""

    @abstractmethod
    def summarise(self, codes: Collection[Any]) -> str:
        """Say how many labels there are."""

    @abstractmethod
    def tabulate(self, labels: Sequence[Any]) -> np.ndarray:
        """Return labels as a column of a table."""


class ClassNames(LabelKind):
    """Names of classes, which users add as they go."""

    answers, noun, column = "classes", "class", "label"

    def read(self, y: np.ndarray) -> dict[int, int]:
        self.names = sorted({str(label) for label in y if label is not None})
        codes = {name: code for code, name in enumerate(self.names)}
        return {i: codes[str(label)] for i, label in enumerate(y) if label is not None}

    def parse(self, given: Any) -> Any:
        return str(given) if isinstance(given, str) else given

    def check(self, labels: Sequence[Any]) -> list[str]:
        """Return names of classes: existing ones unchanged, new ones checked."""
        known = {name: name for name in self.names}
        for name in labels:
            if not isinstance(name, str) or name not in known:
                checked = check_class_name(name)
                known[name] = known[checked] = checked
        n_classes = len(set(known.values()))
        if n_classes > max(MAX_CLASSES, len(self.names)):
            raise ValueError(
                f"there are at most {MAX_CLASSES:,} classes on the page: {n_classes:,} are too many."
            )
        return [known[name] for name in labels]

    def check_new_class(self, name: Any) -> str:
        return self.check([name])[0]

    def encode(self, label: str) -> int:
        if label not in self.names:
            self.names.append(label)
        return self.names.index(label)

    def decode(self, code: int) -> str:
        return self.names[code]

    def summarise(self, codes: Collection[int]) -> str:
        return f"{counted(len(codes), 'label')} in {len(set(codes))} classes"

    def tabulate(self, labels: Sequence[str]) -> np.ndarray:
        return np.array(labels, dtype=object)


class NumberLabels(LabelKind):
    """Finite numbers."""

    answers, noun, column = "numbers", "number", "value"

    def read(self, y: np.ndarray) -> dict[int, float]:
        known = [i for i, label in enumerate(y) if label is not None]
        return dict(zip(known, self.check([float(y[i]) for i in known]), strict=True))

    def parse(self, given: Any) -> Any:
        return parse_number(given) if isinstance(given, str) else given

    def check(self, labels: Sequence[Any]) -> list[float]:
        return [check_number(label) for label in labels]

    def check_new_class(self, name: Any) -> str:
        raise ValueError("labels are numbers here, so there are no classes to add.")

    def encode(self, label: float) -> float:
        return label

    def decode(self, code: float) -> float:
        return code

    def summarise(self, codes: Collection[float]) -> str:
        return counted(len(codes), "number")

    def tabulate(self, labels: Sequence[float]) -> np.ndarray:
        return np.array(labels, dtype=np.float64)


KINDS: dict[str, type[LabelKind]] = {kind.answers: kind for kind in (ClassNames, NumberLabels)}


def check_class_name(given: Any) -> str:
    """Return a class name, stripped and in Unicode form NFC; raise if it is invalid."""
    if not isinstance(given, str):
        raise ValueError("the name of a class must be a string: type a name.")
    name = unicodedata.normalize("NFC", given).strip()
    if not name:
        raise ValueError("the name of the class is empty: type a name.")
    if len(name) > MAX_NAME:
        raise ValueError(f"the name of the class is longer than {MAX_NAME} characters: shorten it.")
    if is_missing_text(name) or name == MINUS:
        raise ValueError(f"{name!r} in a table of labels means a missing label: choose another name.")
    if any(unicodedata.category(letter) in ("Cc", "Cs") for letter in name):
        raise ValueError("the name of the class has control characters: remove them.")
    return name


def parse_number(text: str) -> float:
    """Return a number that was typed; raise if it is none."""
    # the minus sign of typography
    plain = text.strip().replace("\u2212", "-")
    if _NUMBER.fullmatch(plain):
        return float(plain)
    hint = "write decimals with a point, and thousands without commas" if "," in plain else "type digits"
    raise ValueError(f"{quoted(text)} is not a number: {hint}.")


def check_number(number: Any) -> float:
    """Return a number as float; raise if it is not finite or too large."""
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise ValueError("a label must be a number here: type digits.")
    if abs(number) > MAX_NUMBER or not math.isfinite(number):
        raise ValueError(f"the number is too large: give one between -{MAX_NUMBER:g} and {MAX_NUMBER:g}.")
    return float(number)
