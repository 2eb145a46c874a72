"""Convert SciPy matrices to torch tensors."""

import warnings
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array, issparse
from torch import Tensor

from benchmarks import THREADS
from gssl.operators import normalized_adjacency

torch.set_num_threads(THREADS)
# the default, but torch warns if it is not set explicitly
torch.sparse.check_sparse_tensor_invariants.disable()
warnings.filterwarnings("ignore", ".*Sparse CSR tensor support.*")
# PyG emits deprecation warnings on import
warnings.filterwarnings("ignore", category=DeprecationWarning, module="torch_geometric")


def csr_tensor(A: csr_array) -> Tensor:
    """Convert a CSR matrix to a torch CSR tensor."""
    arrays = (np.array(A.indptr, np.int64), np.array(A.indices, np.int64), np.array(A.data, np.float32))
    return torch.sparse_csr_tensor(*map(torch.from_numpy, arrays), size=A.shape)


def normalized_csr(A: csr_array) -> csr_array:
    """Return Â with explicit values, which gssl does not store."""
    return normalized_adjacency(A, np.float32).tocsr().astype(np.float32)


def dense_features(X: Any) -> Tensor:
    """Convert features to a dense tensor, as torch code usually does."""
    return torch.from_numpy(np.array(X.toarray() if issparse(X) else X, np.float32))
