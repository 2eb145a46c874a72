"""The warning given when a graph was changed before use."""


class GraphWarning(UserWarning):
    """A graph was changed before use; the message says what was done and how often."""
