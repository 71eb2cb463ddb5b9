"""`deniable serve` as a process of its own, and senders that remember what was acknowledged."""

import contextlib
import http.client
import os
import random
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import deniable as dn
from tests.support.collect.served import PLAN

COMMAND = [sys.executable, "-m", "deniable", "serve"]


class Process:
    """A running `deniable serve` on a free port."""

    def __init__(self, folder: Path, *options: str, store: str = "survey.db", plan: dn.Plan = PLAN) -> None:
        plan.save(folder / "plan.json")
        self.process = subprocess.Popen(
            [*COMMAND, "plan.json", "--store", store, "--port", "0", *options],
            cwd=folder,
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stderr is not None
        self.said = self.process.stderr.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)", self.said)
        assert found, self.said + self.process.stderr.read()
        self.port = int(found[1])

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str, str]:
        """Send a signal and wait: exit status, and what was printed."""
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err

    def __enter__(self) -> "Process":
        return self

    def __exit__(self, *exc: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        with self.process:  # closes its pipes
            pass


FORKS = """
import os, sys
import deniable.collect.serve, deniable.collect.stores.sqlite_log
from deniable.cli import main
for line in sys.stdin:
    child = os.fork()
    if not child:
        try:
            os._exit(main(line.split()))
        finally:
            os._exit(3)
    print("child", child, flush=True)
    os.waitpid(child, 0)
"""


class Forks:
    """A process that starts `deniable serve` by forking itself, which takes no time to import anything."""

    def __init__(self, folder: Path) -> None:
        PLAN.save(folder / "plan.json")
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        self.process = subprocess.Popen([sys.executable, "-c", FORKS], cwd=folder, text=True, **pipes)  # type: ignore[call-overload]

    def start(self) -> tuple[int, int]:
        """The process id and the port of a new server."""
        self.process.stdin.write("serve plan.json --store survey.db --port 0\n")
        self.process.stdin.flush()
        child = ""
        while not child.startswith("child "):
            child = self.process.stdout.readline()
        said = self.process.stderr.readline()
        found = re.search(r":(\d+);", said)
        assert found, said
        return int(child.split()[1]), int(found[1])

    def __enter__(self) -> "Forks":
        return self

    def __exit__(self, *exc: object) -> None:
        with self.process:
            self.process.communicate(timeout=60)


class Senders:
    """Threads that send reports, again where no answer came, and remember what was acknowledged."""

    def __init__(self, threads: int, seed: int) -> None:
        self.rng = random.Random(seed)
        self.threads = threads
        self.acknowledged: dict[bytes, bytes] = {}
        self.in_doubt: list[tuple[bytes, bytes]] = []
        self.wrong: list[Any] = []
        self.stop = threading.Event()

    def start(self, port: int) -> None:
        self.stop.clear()
        self.running = [
            threading.Thread(target=self._send, args=(port, self.rng.random())) for _ in range(self.threads)
        ]
        for thread in self.running:
            thread.start()

    def join(self) -> None:
        self.stop.set()
        for thread in self.running:
            thread.join(60)

    def _next(self, rng: random.Random) -> tuple[bytes, bytes]:
        """What to send: now and then something that was acknowledged, else what is in doubt, else something new."""
        if rng.random() < 0.05 and self.acknowledged:
            return next(reversed(self.acknowledged.copy().items()))
        try:
            return self.in_doubt.pop()
        except IndexError:
            return rng.randbytes(16), bytes([rng.randrange(2)])

    def _send(self, port: int, seed: float) -> None:
        rng = random.Random(seed)
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
            while not self.stop.is_set():
                id, report = self._next(rng)
                try:
                    connection.request("PUT", f"/reports/{id.hex()}", report, {"deniable-plan": PLAN.fingerprint})
                    with connection.getresponse() as answer:
                        answer.read()
                except (OSError, http.client.HTTPException):
                    if id not in self.acknowledged:
                        self.in_doubt.append((id, report))
                    return
                if answer.status in (200, 201):
                    self.acknowledged[id] = report
                elif answer.status in (429, 503):
                    self.in_doubt.append((id, report))
                else:
                    self.wrong.append((answer.status, id))
