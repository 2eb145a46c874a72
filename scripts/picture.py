"""Write the README's pictures: the head of the report of a run on Cora, light and dark.

``python scripts/picture.py`` runs ``gssl classify`` and needs Debian's Chromium.
"""

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs" / "_ext"))
FIGURES = ROOT / "docs" / "figures"
MOST_BYTES = 200_000


def main() -> None:
    """Make the report, and photograph it."""
    from sample_report import make_report

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_file = make_report(Path(folder))
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        for scheme in ("light", "dark"):
            page = browser.new_page(color_scheme=scheme, viewport={"width": 1100, "height": 1150})
            page.goto(page_file.as_uri(), timeout=0)
            page.wait_for_load_state("networkidle")
            path = FIGURES / f"report-{scheme}.jpg"
            page.screenshot(path=path, type="jpeg", quality=80)
            if path.stat().st_size > MOST_BYTES:
                sys.exit(f"{path.name} has {path.stat().st_size:,} bytes: more than {MOST_BYTES:,}.")
        browser.close()


if __name__ == "__main__":
    main()
