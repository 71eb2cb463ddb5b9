"""The program `deniable`: run one command, and turn how it ended into an exit status.

Exit status 0; 1 (bad input, told in one line); 2 (bad usage, from argparse); or 128 + the number of the signal that
stopped it. Results go to stdout, messages and progress to stderr.
"""

import argparse
import os
import signal
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from typing import Any

from deniable.cli.parser import commands_of, parser
from deniable.errors import DeniableError, DeniableWarning, meant
from deniable.files import stopping

# The signal of a terminal that was closed, where the system has one.
HANG_UP = (signal.SIGHUP,) if hasattr(signal, "SIGHUP") else ()
# How many threads linear algebra has: idle ones would spin for longer than the small matrices of a command take.
ONE_THREAD = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command of the command line and return its exit status."""
    arguments = _arguments(sys.argv[1:] if argv is None else argv)
    if arguments is None:
        return 0
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")  # plans are UTF-8 whatever the terminal is
    for variable in ONE_THREAD:
        os.environ.setdefault(variable, "1")  # read when numpy is imported
    try:
        with stopping(signal.SIGINT, signal.SIGTERM, *HANG_UP), _warnings_in_one_line():
            arguments.run(arguments)
        if sys.stdout:
            sys.stdout.flush()
    except BrokenPipeError:  # the reader of our output has gone, and so do we
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (DeniableError, OSError) as error:
        _complain(str(error))
        return 1
    except KeyboardInterrupt as stop:
        _complain(arguments.stopped)
        return 128 + (stop.args[0] if stop.args else signal.SIGINT)
    return 0


def _arguments(argv: Sequence[str]) -> argparse.Namespace | None:
    """The parsed arguments; None after help was printed, which is what no arguments ask for."""
    program = parser()
    if not argv:
        program.print_help()
        return None
    known = commands_of(program)
    if not argv[0].startswith("-") and argv[0] not in known:
        program.error(f"no command {argv[0]!r}{meant(argv[0], known)}; `deniable --help` lists them")
    found, unknown = program.parse_known_args(argv)
    if unknown:
        commands_of(program)[argv[0]].error(f"unrecognized arguments: {' '.join(unknown)}")
    return found


@contextmanager
def _warnings_in_one_line() -> Iterator[None]:
    """Print the library's warnings about a survey as error messages are printed, each once."""
    seen: set[str] = set()
    with warnings.catch_warnings():
        shown = warnings.showwarning

        def show(message: Any, category: type[Warning], *where: Any, **more: Any) -> None:
            if not issubclass(category, DeniableWarning):
                shown(message, category, *where, **more)
            elif str(message) not in seen:
                seen.add(str(message))
                _complain(f"warning: {message}")

        warnings.simplefilter("always", DeniableWarning)
        warnings.showwarning = show
        yield


def _complain(message: str) -> None:
    """Print an error or a warning on stderr, as one line of its own, or one for each of several problems."""
    clear = "\r\033[K" if sys.stderr.isatty() else ""  # a line of progress may stand there
    lines = "\n  ".join(" ".join(line.split()) for line in message.splitlines())
    print(f"{clear}deniable: {lines}", file=sys.stderr)
