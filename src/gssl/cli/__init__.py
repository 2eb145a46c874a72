"""The ``gssl`` command."""


def main() -> None:
    """Run the command line."""
    # imported here, so that importing gssl.cli is fast
    from gssl.cli.app import app

    app()
