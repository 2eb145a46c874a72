"""The deep baselines as plain torch modules, and estimators of them by name.

A supervised network is a module ``Network(n_features, n_classes, **parameters)`` with PyG's
``forward(x, edge_index)``; its parameters have the published defaults. :func:`classifier` wraps one in a
:class:`gssl.torch.NetworkClassifier`, :func:`plugged_classifier` adds SEB and IGC to it first, and
:func:`embedder` returns an embedder of a network that is trained without labels.
"""

from collections.abc import Callable
from functools import partial
from inspect import Parameter, signature
from typing import Any

import torch

from gssl.torch import NetworkClassifier
from reproduction.networks.asymmetric import OAGS
from reproduction.networks.contrast import LINE, N2N, SAGEWalks
from reproduction.networks.convolutional import GCN, GCNII, EigenGCN, FastGCN
from reproduction.networks.decoupled import APPNP, GNNHF, GNNLF, GRAND, MLP, ChebNetII
from reproduction.networks.drop_edge import DeepGCN, Incep, JKNet
from reproduction.networks.embedding import NetworkEmbedder
from reproduction.networks.gated import GaAN, OrderedGNN
from reproduction.networks.graphs import Network
from reproduction.networks.layerwise import ACMP, L2GCN, NGCN
from reproduction.networks.neighborhood import GAT, GraphSAGE
from reproduction.networks.plugged import plug
from reproduction.networks.unsupervised import BGRL, DGI, GAE, VGAE
from reproduction.networks.verse import VERSE

NETWORKS: dict[str, type[torch.nn.Module]] = {
    kind.__name__: kind
    for kind in (
        ACMP, APPNP, ChebNetII, DeepGCN, EigenGCN, FastGCN, GAT, GCN, GCNII, GNNHF, GNNLF, GRAND, GaAN,
        GraphSAGE, Incep, JKNet, L2GCN, MLP, NGCN, OAGS, OrderedGNN,
    )
}  # fmt: skip
# embedders that use no features, and are estimators themselves
_FEATURELESS = (LINE, VERSE)
EMBEDDERS: dict[str, type] = {
    kind.__name__: kind for kind in (BGRL, DGI, GAE, N2N, SAGEWalks, VGAE, *_FEATURELESS)
}

Factory = Callable[..., torch.nn.Module]


def parameters(name: str) -> dict[str, Any]:
    """Return the parameters of a network and its estimator, with defaults.

    >>> parameters("GAT")["heads"], parameters("GAT")["learning_rate"], parameters("GAT")["weight_decay"]
    (8, 0.005, 0.0005)
    """
    kind = _find(name)
    return _defaults(_estimator_of(kind)) | getattr(kind, "estimator", {}) | _defaults(kind)


def build(name: str, **params: Any) -> Factory:
    """Return a factory of a network: ``(n_features, n_classes) -> Module``, or ``n_features -> Module``.

    >>> build("GCN", depth=3)(5, 2).depth
    3
    """
    kind = _find(name)
    _check(name, params, _defaults(kind))
    return partial(kind, **params)


def classifier(name: str, random_state: Any = None, **params: Any) -> NetworkClassifier:
    """Return the classifier of a network; ``params`` has parameters of the network and of its training.

    >>> model = classifier("GCN", random_state=0, hidden=32, epochs=100)
    >>> model.epochs, model.module(5, 2).hidden
    (100, 32)
    """
    own, training = _divide(name, params)
    return NetworkClassifier(build(name, **own), random_state=random_state, **training)


def plugged_classifier(
    name: str,
    random_state: Any = None,
    *,
    igc: bool = True,
    seb: bool = True,
    identity_start: bool = False,
    igc_decay: float = 0.5,
    eta_sup: float = 1.0,
    **params: Any,
) -> NetworkClassifier:
    """Return the classifier of a network with SEB and IGC in its layers; see :func:`.plugged.plug`.

    >>> model = plugged_classifier("GCN", depth=4, epochs=60)
    >>> type(model.module(5, 2).convs[0]).__name__
    'Supervised'
    """
    own, training = _divide(name, params)
    factory = partial(
        plug,
        build(name, **own),
        igc=igc,
        seb=seb,
        identity_start=identity_start,
        igc_decay=igc_decay,
        eta_sup=eta_sup,
    )
    return NetworkClassifier(factory, random_state=random_state, **training)


def embedder(name: str, random_state: Any = None, **params: Any) -> Any:
    """Return the embedder of a network that is trained without labels.

    >>> embedder("DGI", random_state=0, dimensions=64).patience
    20
    """
    kind = _find(name)
    if kind in _FEATURELESS:
        _check(name, params, parameters(name))
        return kind(random_state=random_state, **params)
    own, training = _divide(name, params)
    return NetworkEmbedder(build(name, **own), random_state=random_state, **training)


def _find(name: str) -> type:
    known = NETWORKS | EMBEDDERS
    if name not in known:
        raise ValueError(f"there is no network {name!r} here: there are {', '.join(sorted(known))}.")
    return known[name]


def _estimator_of(kind: type) -> type:
    if kind in _FEATURELESS:
        return kind
    return NetworkClassifier if kind in NETWORKS.values() else NetworkEmbedder


def _divide(name: str, params: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split parameters into those of the network and those of its training."""
    kind = _find(name)
    training = _defaults(_estimator_of(kind))
    _check(name, params, training | _defaults(kind))
    given = getattr(kind, "estimator", {}) | {key: params[key] for key in params if key in training}
    return {key: params[key] for key in params if key not in training}, given


def _defaults(kind: type) -> dict[str, Any]:
    if issubclass(kind, Network):
        return {name: parameter.default for name, parameter in kind.declared.items()}
    return {
        name: parameter.default
        for name, parameter in signature(kind).parameters.items()
        if parameter.default is not Parameter.empty and name != "random_state"
    }


def _check(name: str, params: dict[str, Any], known: dict[str, Any]) -> None:
    unknown = sorted(set(params) - set(known))
    if unknown:
        raise ValueError(f"{name} has no parameter {unknown[0]!r}: it has {', '.join(known)}.")
