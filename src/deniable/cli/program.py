"""The program `deniable`: run one command, and turn how it ended into an exit status.

Exit status 0; 1 (bad input, told in one line); 2 (bad usage, from argparse); or 128 + the number of the signal that
stopped it. Results go to stdout, messages and progress to stderr.
"""

import os
import signal
import sys
from collections.abc import Sequence
from io import TextIOWrapper

from deniable.cli.parser import parser
from deniable.errors import DeniableError
from deniable.files import stopping

# The signal of a terminal that was closed, where the system has one.
HANG_UP = (signal.SIGHUP,) if hasattr(signal, "SIGHUP") else ()


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command of the command line and return its exit status."""
    arguments = parser().parse_args(argv)
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")  # plans are UTF-8 whatever the terminal is
    try:
        with stopping(signal.SIGINT, signal.SIGTERM, *HANG_UP):
            arguments.run(arguments)
        if sys.stdout:
            sys.stdout.flush()
    except BrokenPipeError:  # the reader of our output has gone, and so do we
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (DeniableError, OSError) as error:
        _complain(" ".join(str(error).split()))
        return 1
    except KeyboardInterrupt as stop:
        _complain(arguments.stopped)
        return 128 + (stop.args[0] if stop.args else signal.SIGINT)
    return 0


def _complain(message: str) -> None:
    """Print an error message on stderr, on a line of its own."""
    clear = "\r\033[K" if sys.stderr.isatty() else ""  # a line of progress may stand there
    print(f"{clear}deniable: {message}", file=sys.stderr)
