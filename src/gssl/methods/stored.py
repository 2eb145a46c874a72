"""What a fitted class keeps in a saved model: each class lists its attributes beside its code."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Stored:
    """An attribute of a fitted model; a letter in ``shape`` stands for one size throughout the model."""

    name: str
    # float, bool: an array; distribution, shares: rows that sum to one, in single or double precision;
    # code: an int64 array from −1 to below c; class: an array of classes, stored as codes; matrix: an array
    # or a CSR matrix; whole: an int from 0 on; exponent: an int; flag, text; texts: an array of str; table: a
    # leaderboard; model: a fitted model; inputs, recipe: the data of fit, if they are stored; transient: not
    # stored
    kind: str
    shape: tuple[str, ...] = ()
    optional: bool = False
    or_none: bool = False


def transient(*names: str) -> tuple[Stored, ...]:
    """Return attributes that are left out of a saved model, because they can be computed again."""
    return tuple(Stored(name, "transient", optional=True) for name in names)


# what several classes have
INPUT = (
    Stored("n_features_in_", "whole", optional=True),
    Stored("feature_names_in_", "texts", ("d",), optional=True),
    Stored("preparation_", "text", optional=True),
)
N_ITER = Stored("n_iter_", "whole")
COEF = Stored("coef_", "float", ("d", "c"))


def stored_attributes(kind: type) -> tuple[Stored, ...]:
    """List the attributes in ``_stored`` of a class and its bases, of which the last one defines a name."""
    attributes: dict[str, Stored] = {}
    for base in reversed(kind.__mro__):
        attributes |= {attribute.name: attribute for attribute in vars(base).get("_stored", ())}
    return tuple(attributes.values())
