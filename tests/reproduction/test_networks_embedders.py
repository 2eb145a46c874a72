"""Every embedder lowers the loss of its equation: dense algebra on a small graph."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from scipy.special import log_expit, logsumexp

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("torch_geometric", reason="torch-geometric is not installed")

from tests.reproduction.networks import A_HAT, LINKS, WALK, WEIGHTS, A, X, linear, numbers, relu  # noqa: E402

from gssl.graph import sample_negatives  # noqa: E402
from gssl.torch.links import sparse_csr_of  # noqa: E402
from gssl.torch.training import seeded  # noqa: E402
from reproduction.networks import build, contrast, embedder  # noqa: E402
from reproduction.networks import unsupervised as un  # noqa: E402
from reproduction.networks.verse import noise_contrast, walk_ends  # noqa: E402
from reproduction.walks import transitions  # noqa: E402

x = torch.tensor(X)


def convolved(U, layer):
    b = 0.0 if layer.bias is None else numbers(layer.bias)
    return A_HAT @ U @ numbers(layer.lin.weight).T + b


def prelu(U):
    return np.where(U > 0, U, 0.25 * U)


def first_loss(name, **params):
    """Return the loss of the first epoch, the network before it, and the draws that follow its weights."""
    model = embedder(name, 0, epochs=1, patience=None, **params).fit(X, adjacency=A)
    with seeded(0):
        network = build(name, **params)(3)
        draws = torch.Generator().set_state(torch.get_rng_state())
    return float(model.losses_[0]), network, draws


def negatives(draws):
    """Return the unlinked pairs that GAE draws."""
    N = sample_negatives(A, 1.0, int(torch.randint(2**31, (), generator=draws))).toarray()
    assert N.sum() == (A > 0).sum()
    assert not (N * A).any()
    return N > 0


def test_dgi_distinguishes_nodes_from_shuffled_ones():
    loss, network, draws = first_loss("DGI", dimensions=4)
    encoder, M = network.infomax.encoder, numbers(network.infomax.weight)
    U = prelu(convolved(X, encoder.convs[0]))
    order = torch.randperm(5, generator=draws).numpy()
    shuffled = prelu(convolved(X[order], encoder.convs[0]))
    s = np.exp(log_expit(U.mean(axis=0)))
    wanted = -log_expit(U @ M @ s).mean() - log_expit(-shuffled @ M @ s).mean()
    assert loss == pytest.approx(wanted, rel=1e-5)
    # without training, the embedding is that of the initial weights
    untrained = embedder("DGI", 0, dimensions=4, epochs=0).fit(X, adjacency=A)
    assert_allclose(untrained.embedding_, U, rtol=1e-4, atol=1e-6)


def test_gae_predicts_links():
    loss, network, draws = first_loss("GAE", dimensions=3, hidden=4)
    U = convolved(relu(convolved(X, network.first)), network.second)
    S = U @ U.T
    wanted = -log_expit(S)[A > 0].mean() - log_expit(-S)[negatives(draws)].mean()
    assert loss == pytest.approx(wanted, rel=1e-5)


def test_vgae_is_a_noisy_gae_with_a_bound():
    loss, network, draws = first_loss("VGAE", dimensions=3, hidden=4)
    H = relu(convolved(X, network.first))
    U, S = convolved(H, network.second), convolved(H, network.deviation)
    Z = U + torch.randn(5, 3, generator=draws).numpy() * np.exp(S)
    wanted = -log_expit(Z @ Z.T)[A > 0].mean() - log_expit(-Z @ Z.T)[negatives(draws)].mean()
    wanted -= (1 + 2 * S - U**2 - np.exp(2 * S)).sum() / (2 * 5**2)
    assert loss == pytest.approx(wanted, rel=1e-5)


def test_a_complete_graph_has_no_unlinked_pairs_to_predict():
    pair = torch.tensor([[0], [1]])
    assert float(un.reconstruction_loss(torch.zeros(2, 1), pair, pair[:, :0])) == pytest.approx(np.log(2))


def test_bgrl_predicts_the_other_view():
    """Without dropping, both views are the graph itself, and initially the target is the encoder."""
    whole = {"drop_edges": (0.0, 0.0), "drop_features": (0.0, 0.0)}
    loss, network, _ = first_loss("BGRL", dimensions=3, hidden=4, **whole)
    U = X
    for conv in network.encoder.convs:
        H = convolved(U, conv)
        U = prelu((H - H.mean(axis=0)) / np.sqrt(H.var(axis=0) + 1e-5))
    P = linear(network.predictor[2])(prelu(linear(network.predictor[0])(U)))
    cosines = (P * U).sum(axis=1) / np.linalg.norm(P, axis=1) / np.linalg.norm(U, axis=1)
    assert loss == pytest.approx(2 - 2 * cosines.mean(), rel=1e-4)


def test_the_target_of_bgrl_follows_its_encoder_and_rates_their_schedule():
    network = un.BGRL(3, dimensions=3, hidden=4)
    before = numbers(network.target.convs[0].lin.weight)
    with torch.no_grad():
        network.encoder.convs[0].lin.weight += 1.0
    network.follow(0.9)
    assert_allclose(numbers(network.target.convs[0].lin.weight), before + 0.1, rtol=1e-5)
    assert not any(weight.requires_grad for weight in network.target.parameters())
    assert (un.target_momentum(0, 10), un.target_momentum(10, 10)) == (0.99, 1.0)
    shares = [un.warm_cosine(epoch, 20) for epoch in (0, 1, 2, 11, 20)]
    assert_allclose(shares, [0.5, 1.0, 1.0, 0.5, 0.0], atol=1e-12)
    optimizer, rates = network.optimizer(0.1, 20), []
    for _ in range(3):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
    assert_allclose(rates, [0.05, 0.1, 0.1])


def test_bgrl_drops_the_same_columns_of_sparse_and_dense_features():
    features = np.abs(X) + 1.0
    with seeded(0):
        dense = numbers(un.without_columns(torch.tensor(features), 0.5))
    with seeded(0):
        sparse = un.without_columns(sparse_csr_of(csr_array(features)), 0.5)
    assert_allclose(sparse.to_dense(), dense)
    assert 0 < (dense == 0).all(axis=0).sum() < 3
    assert_allclose(dense[dense > 0], features[dense > 0])


def test_n2n_contrasts_neighbourhoods_with_nodes():
    network = contrast.N2N(3, dimensions=4, outputs=2, length=2.0, temperature=0.7, dropout=0.0).double()
    U = relu(2.0 * X / np.linalg.norm(X, axis=1)[:, None] @ numbers(network.first.weight).T)
    for features in (x, x.to_sparse_csr()):
        assert_allclose(numbers(network.embed(features, LINKS, WEIGHTS)), U)
    wanted = 0.0
    for Z in (U, linear(network.second)(U)):
        wanted -= ((Z * (WALK @ Z)).sum(axis=1) / 0.7 - logsumexp(Z @ Z.T / 0.7, axis=1)).mean()
    assert_allclose(network.loss(x, LINKS, WEIGHTS).item(), wanted)
    network.batch = 2
    assert len({round(network.loss(x, LINKS, WEIGHTS).item(), 6) for _ in range(9)}) > 1


def test_links_are_contrasted_with_strangers():
    """This is the loss of SAGE and LINE; VERSE shifts products by log n and log n/s."""
    rng = np.random.default_rng(0)
    U, C = rng.normal(size=(2, 5, 3))
    v, u, k = np.array([0, 2]), np.array([1, 3]), np.array([[4, 2], [0, 1]])
    near, far = (U[v] * C[u]).sum(axis=1), np.einsum("id,isd->is", U[v], C[k])
    wanted = -(log_expit(near) + log_expit(-far).sum(axis=1)).mean()
    pairs = [torch.tensor(part) for part in (v, u, k)]
    assert_allclose(contrast.link_contrast(torch.tensor(U), torch.tensor(C), *pairs).item(), wanted)
    near, far = (U[v] * U[u]).sum(axis=1), np.einsum("id,isd->is", U[v], U[k])
    wanted = -(log_expit(near - np.log(5)) + log_expit(np.log(5 / 2) - far).sum(axis=1)).mean()
    assert_allclose(noise_contrast(torch.tensor(U), *pairs).item(), wanted)


def test_walks_of_verse_end_as_page_rank_says():
    alpha, size = 0.7, 20_000
    # walks stay at nodes without links
    P = np.where(A.any(axis=1, keepdims=True), A / np.maximum(A.sum(axis=1, keepdims=True), 1e-9), np.eye(5))
    Pi = (1 - alpha) * np.linalg.inv(np.eye(5) - alpha * P)
    starts, counts = np.repeat(np.arange(5), size), np.zeros((5, 5))
    ends = walk_ends(transitions(csr_array(A)), starts, alpha, np.random.default_rng(0))
    np.add.at(counts, (starts, ends), 1 / size)
    # five standard deviations, at most those of a share of one half
    assert_allclose(counts, Pi, atol=5 * 0.5 / np.sqrt(size))


def two_cliques():
    """Return two cliques of six nodes with one link between them."""
    cliques = np.kron(np.eye(2), np.ones((6, 6))) - np.eye(12)
    cliques[0, 6] = cliques[6, 0] = 1.0
    return cliques


@pytest.mark.parametrize("aggregator", ["mean", "gcn", "lstm"])
def test_sage_without_labels_brings_linked_nodes_together(aggregator):
    params = {"aggregator": aggregator, "dimensions": 8, "epochs": 100, "learning_rate": 0.01}
    U = embedder("SAGEWalks", random_state=0, **params).fit_transform(np.eye(12), adjacency=two_cliques())
    assert_allclose(np.linalg.norm(U, axis=1), 1.0, rtol=1e-5)
    products = U @ U.T
    assert products[:6, :6].mean() > products[:6, 6:].mean() + 0.3


def test_line_has_an_order_in_each_half():
    U = embedder("LINE", random_state=0, dimensions=8, epochs=200).fit_transform(
        None, adjacency=two_cliques()
    )
    for half in (U[:, :4], U[:, 4:]):
        assert_allclose(np.linalg.norm(half, axis=1), 1.0, rtol=1e-5)
        products = half @ half.T
        assert products[1:6, 1:6].mean() > products[1:6, 7:12].mean() + 0.3
