"""Option types and groups that commands share, and errors printed as one sentence."""

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal, InvalidOperation
from glob import has_magic, iglob
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

# the beginning of an SQL query, in which an equals sign names nothing
_SPELLED = re.compile(r"\s*\(?\s*(select|with)\s", re.IGNORECASE)
# larger counts are typos
_MAX_COUNT = 2**63 - 1
# characters to print of a table's name, which may be a query
_MAX_NAME = 80


class UserPath(click.Path):
    """A path; ``~`` is expanded, in case the shell did not do so."""

    def convert(self, value: Any, *_: Any) -> Path:
        """Return the path."""
        path = Path(value).expanduser()
        if self.exists and not path.exists():
            raise FileNotFoundError(f"{path} does not exist: check its name and folder.")
        return path


# click's types take a parameter since 8.4, and earlier versions refuse it
class Table(click.ParamType):  # type: ignore[type-arg]
    """The name of a table; shells complete names of files."""

    name = "table"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> Any:
        """Ask the shell for names of files."""
        return [CompletionItem(incomplete, type="file")]


class Count(click.ParamType):  # type: ignore[type-arg]
    """A whole number that may be written like ``1.6e9``."""

    name = "count"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number, exactly."""
        try:
            number = Decimal(str(value).strip())
        except InvalidOperation:
            number = Decimal("nan")
        if number.is_nan() or number < 1 or (number <= _MAX_COUNT and number != int(number)):
            self.fail(f"{value!r} is not a whole number of at least 1; write 1000000 or 1e6.", param, ctx)
        if number > _MAX_COUNT:
            self.fail(f"{value!r} is too large; write at most {_MAX_COUNT}.", param, ctx)
        return int(number)


class CountOrTable(Count, Table):
    """A whole number, or a table to count: a file, a glob or an SQL query."""

    name = "count or table"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number, or the name of the table."""
        text = str(value).strip()
        try:
            Decimal(text or "nan")
        except InvalidOperation:
            return text
        return super().convert(value, param, ctx)


class Named(Table):
    """A table that may have a name, as in ``cites=links.csv``; the name of a whole file comes first."""

    def convert(self, value: Any, *_: Any) -> tuple[str, str]:
        """Return the name, empty if there is none, and the table."""
        text = str(value)
        name, mark, table = text.partition("=")
        if not mark or not name.strip() or not table.strip() or "::" in name or _SPELLED.match(text):
            return "", text
        # a file or a folder may have an equals sign in its name
        path = Path(text.partition("::")[0]).expanduser()
        whole = path.exists() or (has_magic(text) and any(iglob(str(path), recursive=True)))  # noqa: PTH207
        return ("", text) if whole else (name.strip(), table)


class RelationWeight(click.ParamType):  # type: ignore[type-arg]
    """A name and a number, as in ``cites=2``."""

    name = "weight"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, float]:
        """Return the name and the number."""
        name, _, number = str(value).rpartition("=")
        try:
            return name.strip(), float(number)
        except ValueError:
            self.fail(f"{value!r} is not a name and a number; write cites=2.", param, ctx)


class CountOrNamed(CountOrTable):
    """A whole number, or a table to count that may have a name."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number, or the name and the table."""
        count = super().convert(value, param, ctx)
        return count if isinstance(count, int) else Named().convert(count)


def named_tables(given: Sequence[tuple[str, str]], option: str) -> Any:
    """Return the one table without a name, or a dict of several by name; None if there is none."""
    if not given:
        return None
    names = [name for name, _ in given]
    if names == [""]:
        return given[0][1]
    if "" in names:
        raise ValueError(f"{option} {given[names.index('')][1]} needs a name: write {option} NAME=TABLE.")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"{option} names {twice!r} twice: give each table a name of its own.")
    return dict(given)


def options(*listed: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a decorator that puts several options on a command, in the order listed."""

    def decorate(command: Any) -> Any:
        for option in reversed(listed):
            command = option(command)
        return command

    return decorate


THREADS = click.option(
    "--threads", type=click.IntRange(min=1), metavar="T", help="Threads to use; all CPUs by default."
)
QUIET = click.option("-q", "--quiet", is_flag=True, help="Print errors only.")
RUN_OPTIONS = options(
    THREADS, QUIET, click.option("-v", "--verbose", is_flag=True, help="Also print log messages.")
)


def set_threads(threads: int | None) -> None:
    """Limit the kernels and BLAS to a number of threads; None keeps the default."""
    if threads is not None:
        from threadpoolctl import threadpool_limits

        from gssl.operators import set_threads

        set_threads(threads)
        threadpool_limits(threads)


def announce(sources: Sequence[str | None]) -> None:
    """Print which tables are read, on standard error."""
    names = ["".join(c if c.isprintable() else "?" for c in name) for name in sources if name is not None]
    short = [name if len(name) <= _MAX_NAME else f"{name[:_MAX_NAME]}…" for name in names]
    click.echo(f"reading {', '.join(short)}", err=True)


@contextmanager
def exit_on_error(ctx: click.Context | None = None) -> Iterator[None]:
    """Print an error as one sentence on standard error, without a traceback, and exit with code 2."""
    code = 2
    try:
        yield
        return
    except click.UsageError as error:
        # a command without arguments shows its help
        if error.ctx is None or type(error).__name__ == "NoArgsIsHelpError":
            raise
        message = f"{error.format_message()} See {error.ctx.command_path} --help."
    except BrokenPipeError:
        # the reader of a pipe has closed it: click exits quietly
        raise
    except (ValueError, OSError, ImportError, TypeError) as error:
        message = _with_options(str(error), ctx)
        if isinstance(error, OSError) and error.strerror and error.filename:
            message = f"{error.filename} cannot be used: {error.strerror.lower()}; choose another."
    except MemoryError:
        message = "the memory is full: use fewer features or a smaller graph."
    except KeyboardInterrupt:
        message, code = "interrupted; nothing was left half-written.", 130
    from gssl.wording import printable

    # names of files and texts in them must not control the terminal
    click.echo(f"gssl: {printable(' '.join(message.splitlines()))}", err=True)
    sys.exit(code)


def _with_options(message: str, ctx: click.Context | None) -> str:
    """Return an error of the library with its parameters, in backticks, as options of the command."""
    if ctx is not None and isinstance(ctx.command, click.Group):
        command = ctx.command.commands.get(ctx.invoked_subcommand or "")
        for parameter in [] if command is None else command.params:
            message = message.replace(f"`{parameter.name}`", parameter.opts[0])
    return message


class Commands(click.Group):
    """A group of commands whose errors are printed as one sentence."""

    def make_context(self, *arguments: Any, **settings: Any) -> click.Context:
        """Parse the options of the group itself."""
        with exit_on_error():
            return super().make_context(*arguments, **settings)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        with exit_on_error(ctx):
            return super().invoke(ctx)
