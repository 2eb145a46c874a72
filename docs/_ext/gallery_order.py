"""The order in which tutorials and the gallery are read."""

from pathlib import Path

ORDER = (
    *("classes", "numbers", "several", "relations", "one_half", "new_nodes", "labelling"),
    *("citations", "heterophily", "gnn", "cluster"),
)


class ReadingOrder:
    """Sort examples as a newcomer meets them; one that is not named comes last."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, filename: str) -> tuple[int, str]:
        """Return the sort key of an example."""
        name = Path(filename).stem.removeprefix("plot_")
        return (ORDER.index(name) if name in ORDER else len(ORDER), name)
