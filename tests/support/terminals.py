"""What programs print on a terminal, and through a pipe."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

Run = tuple[str, dict[str, str]]  # code, and what its environment has of colours and terminals

# Runs in one process, since starting one takes much longer than they do; a zero byte ends what each prints.
PROGRAM = """
import json, os, sys
for code, environment in json.loads(sys.argv[1]):
    os.environ.clear()
    os.environ.update(environment)
    exec(code, {})
    sys.stderr.flush()
    print(end="\\0", flush=True)
"""


def seen(runs: list[Run], cwd: Path) -> list[str]:
    """What each of some programs prints on a terminal, stdout and stderr."""
    read, write = pty.openpty()
    with subprocess.Popen(_command(runs), cwd=cwd, stdout=write, stderr=write) as running:
        os.close(write)
        printed = b""
        while part := _read(read):
            printed += part
    os.close(read)
    assert running.returncode == 0, printed.decode()
    return _each(printed.decode(), runs)


def piped(runs: list[Run], cwd: Path) -> list[str]:
    """What each of some programs prints on stdout through a pipe."""
    done = subprocess.run(_command(runs), cwd=cwd, capture_output=True, text=True, check=True)
    return _each(done.stdout, runs)


def _command(runs: list[Run]) -> list[str]:
    kept = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR")}
    full = [(code, kept | {"TERM": "xterm"} | environment) for code, environment in runs]
    return [sys.executable, "-c", PROGRAM, json.dumps(full)]


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 100_000)
    except OSError:  # nobody writes to it any more
        return b""


def _each(printed: str, runs: list[Run]) -> list[str]:
    *each, rest = printed.split("\0")
    assert len(each) == len(runs)
    assert not rest
    return each
