from .dataset import Dataset as Dataset
from .dataset import draw_random as draw_random
from .dataset import draw_split as draw_split
from .registry import list_datasets as list_datasets
from .registry import load as load
from .synthetic import make_block_graph as make_block_graph
