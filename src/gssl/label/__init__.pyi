from .server import LabelServer as LabelServer
from .session import Session as Session
