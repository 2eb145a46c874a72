"""The state of a fitted model: replaced as a whole, so that no thread and no error leaves half of it."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

Result = TypeVar("Result")
Given = ParamSpec("Given")
Model = TypeVar("Model", bound="Stateful")


class Stateful:
    """A model whose fits replace the dict of attributes and never change it."""

    def snapshot(self) -> Self:
        """Return the model as it is now; a later fit or ``update_labels`` does not change it."""
        kept = object.__new__(type(self))
        kept.__dict__ = self.__dict__
        return kept


def replaces_state(
    method: Callable[Concatenate[Model, Given], Model],
) -> Callable[Concatenate[Model, Given], Model]:
    """Run a fit on a copy of the model and take over its state at the end.

    An error changes nothing, and a thread that reads the model sees its old state or its new one. Parameters
    that another thread sets meanwhile are lost.
    """

    @wraps(method)
    def run(self: Model, /, *args: Given.args, **options: Given.kwargs) -> Model:
        fresh = object.__new__(type(self))
        fresh.__dict__ = dict(self.__dict__)
        call: Any = method
        given, named = unpack_problem(args, options)
        call(fresh, *given, **named)
        self.__dict__ = fresh.__dict__
        return self

    return run


def current(model: Any) -> Any:
    """Return a fitted model as it is now, for a function that reads its state more than once."""
    return model.snapshot() if isinstance(model, Stateful) else model


def is_problem(X: Any) -> bool:
    """Return whether X is a problem of :func:`gssl.read`, which is defined in a later subpackage."""
    return all(hasattr(X, name) for name in ("node_ids", "adjacency", "y"))


def features_and_graph(X: Any, adjacency: Any) -> tuple[Any, Any]:
    """Return the features and the graph of a problem, or both as they are given."""
    if not is_problem(X):
        return X, adjacency
    if adjacency is not None:
        raise ValueError("a problem has its own graph: leave out adjacency.")
    return X.features, X.adjacency


def unpack_problem(args: tuple[Any, ...], options: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of a fit with a problem of :func:`gssl.read` replaced by its parts."""
    problem: Any = args[0] if args else None
    if not is_problem(problem):
        return args, options
    if len(args) > 1 or options.keys() & {"y", "adjacency"}:
        raise ValueError(
            "a problem has its own labels and graph: call fit(problem), without y and adjacency."
        )
    return (problem.features, problem.y), {**options, "adjacency": problem.adjacency}


def reads_state(
    method: Callable[Concatenate[Model, Given], Result],
) -> Callable[Concatenate[Model, Given], Result]:
    """Run a method on the state that the model has now, whatever another thread replaces it by meanwhile."""

    @wraps(method)
    def run(self: Model, /, *args: Given.args, **options: Given.kwargs) -> Result:
        return method(self.snapshot(), *args, **options)

    return run
