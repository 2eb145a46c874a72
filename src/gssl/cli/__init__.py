"""The ``gssl`` command."""


def main() -> None:
    """Run the command line."""
    # here, so that importing the room costs nothing
    from gssl.cli.app import app

    app()
