from .bgrl import BGRL as BGRL
from .dgi import DGI as DGI
from .gae import GAE as GAE
from .gae import VGAE as VGAE
from .gcn import GCN as GCN
from .verse import VERSE as VERSE
