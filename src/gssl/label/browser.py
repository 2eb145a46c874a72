"""Open the page in a browser without showing its address, which holds a token, to other users."""

import tempfile
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread


@contextmanager
def open_browser(url: str) -> Iterator[None]:
    """Open an address in a browser by a private file: other users can see the command line of a browser."""
    with tempfile.TemporaryDirectory(prefix="gssl-label-") as folder:
        address = write_redirect(Path(folder), url).as_uri()
        Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        yield


def write_redirect(folder: Path, url: str) -> Path:
    """Write a page that only the user can read and that leads to an address."""
    page = folder / "label.html"
    page.touch(mode=0o600, exist_ok=False)
    page.write_text(
        f'<!doctype html><title>gssl label</title><meta http-equiv="refresh" content="0;url={url}">'
    )
    return page
