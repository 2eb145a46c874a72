"""A headless browser for tests of pages; console messages, errors and foreign requests fail a test."""

import shutil
from contextlib import contextmanager

import pytest

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def start_browser():
    """Yield headless Chromium, or skip the test if it is not installed."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("no chromium here: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=list(FLAGS))
        yield browser
        browser.close()


@contextmanager
def open_tabs(browser, allowed):
    """Yield a function that opens tabs, in which only addresses beginning with ``allowed`` can be loaded."""
    contexts, trouble = [], []

    def open_tab(url, width, scheme, context=None, quiet=False):
        if context is None:
            context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
            contexts.append(context)
            context.route(lambda asked: not asked.startswith(allowed), lambda route: route.abort())
        tab = context.new_page()
        if not quiet:
            tab.on("console", lambda message: trouble.append(f"console: {message.text}"))
        tab.on("pageerror", lambda error: trouble.append(f"error: {error}"))
        tab.on("dialog", lambda dialog: (trouble.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        tab.on("request", lambda request: request.url.startswith(allowed) or trouble.append(request.url))
        tab.goto(url)
        return tab

    yield open_tab
    for context in contexts:
        context.close()
    assert trouble == []
