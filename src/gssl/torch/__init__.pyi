from .gcn import GCN as GCN
