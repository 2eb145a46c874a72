"""Screenshots of pages, by Chromium where it is installed."""

import shutil
from collections.abc import Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

_FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync")
_ABSENT = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 600 60"><text x="10" y="35" fill="#808080" '
    'font-family="sans-serif">The manual was built without a browser, so there is no picture.</text></svg>'
)


class Shot(NamedTuple):
    """The size of a window and its colours; the picture is its first screen."""

    width: int
    height: int
    scheme: str = "light"


def chromium() -> str | None:
    """Return where Chromium is, or None if there is none or nothing to drive it."""
    found = shutil.which("chromium") or shutil.which("google-chrome")
    return found if find_spec("playwright") is not None else None


def say_why_not(folder: Path, shots: Mapping[str, Shot]) -> None:
    """Put a sentence in the place of each picture."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in shots:
        (folder / f"{name}.svg").write_text(_ABSENT, encoding="utf-8")


def take(address: str, folder: Path, shots: Mapping[str, Shot], program: str, ready: str = "body") -> None:
    """Take pictures of the page at an address, once it has an element ``ready``."""
    from playwright.sync_api import sync_playwright

    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=list(_FLAGS))
        for name, shot in shots.items():
            size = {"width": shot.width, "height": shot.height}
            tab = browser.new_page(viewport=size, color_scheme=shot.scheme)
            tab.goto(address)
            tab.wait_for_selector(ready)
            tab.wait_for_timeout(500)
            tab.screenshot(path=folder / f"{name}.png")
            # what an earlier build without a browser said
            with suppress(FileNotFoundError):
                (folder / f"{name}.svg").unlink()
        browser.close()
