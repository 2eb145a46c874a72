"""``python -m gssl`` is the ``gssl`` command."""

from gssl.cli import main

if __name__ == "__main__":
    main()
