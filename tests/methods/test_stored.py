"""The attributes that a class lists for a saved model are merged with those of its bases."""

from gssl import OGC, SGC, CalibratedClassifier
from gssl.methods.base import GraphClassifier
from gssl.methods.embedder import Embedder
from gssl.methods.stored import Stored, stored_attributes, transient


def kinds(cls):
    return {attribute.name: attribute.kind for attribute in stored_attributes(cls)}


def test_a_method_without_attributes_of_its_own_has_those_of_its_base():
    assert stored_attributes(SGC) == stored_attributes(Embedder)
    assert "_stored" not in vars(SGC)


def test_a_class_adds_to_its_bases():
    own = kinds(OGC)
    assert own["coef_"] == "float"
    assert own["_steps"] == "transient"
    assert own.items() > kinds(GraphClassifier).items()


def test_a_class_replaces_an_attribute_of_its_base():
    (base,) = (a for a in stored_attributes(GraphClassifier) if a.name == "label_distributions_")
    (own,) = (a for a in stored_attributes(CalibratedClassifier) if a.name == "label_distributions_")
    assert not base.optional
    assert own.optional


def test_transient_attributes_may_be_absent():
    assert transient("a", "b") == tuple(Stored(name, "transient", optional=True) for name in "ab")
