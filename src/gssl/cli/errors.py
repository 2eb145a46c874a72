"""Mistakes of the user: one sentence on standard error, no traceback, and an exit code."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click


@contextmanager
def one_sentence() -> Iterator[None]:
    """Say what went wrong in one sentence, without a traceback, and exit with 2."""
    code = 2
    try:
        yield
        return
    except click.UsageError as error:
        # a command without anything behind it shows its help
        if error.ctx is None or type(error).__name__ == "NoArgsIsHelpError":
            raise
        told = f"{error.format_message()} See {error.ctx.command_path} --help."
    except BrokenPipeError:
        # whoever reads has read enough: click ends quietly
        raise
    except (ValueError, OSError, ImportError, TypeError) as error:
        told = str(error)
        if isinstance(error, OSError) and error.strerror and error.filename:
            told = f"{error.filename} cannot be used: {error.strerror.lower()}; choose another."
    except MemoryError:
        told = "the memory is full: use fewer features or a smaller graph."
    except KeyboardInterrupt:
        told, code = "interrupted; nothing was left half-written.", 130
    click.echo(f"gssl: {' '.join(told.splitlines())}", err=True)
    sys.exit(code)


class Commands(click.Group):
    """A group of commands that answers every mistake by one sentence."""

    def make_context(self, *arguments: Any, **settings: Any) -> click.Context:
        """Read the options of the group itself."""
        with one_sentence():
            return super().make_context(*arguments, **settings)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        with one_sentence():
            return super().invoke(ctx)
