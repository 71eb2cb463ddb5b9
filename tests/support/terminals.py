"""What programs print on a terminal."""

import os
import pty
import subprocess
import sys
from pathlib import Path


def seen(code: str, cwd: Path, **environment: str) -> str:
    """What a program prints on a terminal, stdout and stderr."""
    read, write = pty.openpty()
    kept = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR")}
    env = kept | {"TERM": "xterm"} | environment
    subprocess.run([sys.executable, "-c", code], cwd=cwd, stdout=write, stderr=write, env=env, check=True)
    os.close(write)
    return os.read(read, 100_000).decode()
