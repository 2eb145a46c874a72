"""scipy's matrices as torch's."""

import warnings
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array, issparse
from torch import Tensor

from benchmarks import THREADS
from gssl.operators import normalized_adjacency

torch.set_num_threads(THREADS)
# off by default as well; torch wants it said
torch.sparse.check_sparse_tensor_invariants.disable()
warnings.filterwarnings("ignore", ".*Sparse CSR tensor support.*")
# PyG announces twice on every start that its future will differ
warnings.filterwarnings("ignore", category=DeprecationWarning, module="torch_geometric")


def csr_tensor(A: csr_array) -> Tensor:
    """Give a CSR matrix as a torch tensor of the same layout."""
    arrays = (np.array(A.indptr, np.int64), np.array(A.indices, np.int64), np.array(A.data, np.float32))
    return torch.sparse_csr_tensor(*map(torch.from_numpy, arrays), size=A.shape)


def normalized_csr(A: csr_array) -> csr_array:
    """Give Â with all its values, as everybody but gssl stores it."""
    return normalized_adjacency(A, np.float32).tocsr().astype(np.float32)


def dense_features(X: Any) -> Tensor:
    """Give features as a dense tensor, which is what torch code multiplies with."""
    return torch.from_numpy(np.array(X.toarray() if issparse(X) else X, np.float32))
