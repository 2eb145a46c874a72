"""Simple graph convolution in PyTorch Geometric and in gssl, for the page about coming from elsewhere."""

from typing import Any

import gssl


def there(data: Any) -> Any:
    """Train a layer of PyTorch Geometric."""
    from torch.nn.functional import cross_entropy
    from torch.optim import Adam
    from torch_geometric.nn import SGConv

    conv = SGConv(1433, 7, K=2, cached=True)
    optimizer = Adam(
        conv.parameters(),
        lr=0.2,
        weight_decay=5e-6,
    )
    for _ in range(100):
        optimizer.zero_grad()
        out = conv(data.x, data.edge_index)
        seen = data.train_mask
        loss = cross_entropy(out[seen], data.y[seen])
        loss.backward()
        optimizer.step()
    return out.argmax(dim=1)


def here(data: Any) -> Any:
    """Do the same with gssl."""
    problem = gssl.io.from_pyg(data)
    model = gssl.EmbeddingClassifier(
        gssl.SGC(depth=2),
        head=gssl.AdamHead(
            weight_decay=5e-6,
            random_state=0,
        ),
    )
    model.fit(
        problem.features,
        problem.y,
        adjacency=problem.adjacency,
    )
    return model.transduction_
