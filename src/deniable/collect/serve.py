"""Serving the collector over HTTP until a signal asks to stop; then what was acknowledged is stored."""

import re
import signal
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType

import uvicorn

from deniable.collect.app import application
from deniable.collect.collector import Collector
from deniable.collect.stores.store import Store
from deniable.errors import CollectError, DeniableError, abbreviated

BACKLOG = 256  # So many connections wait to be accepted; more are refused by the system.
KEEP_ALIVE = 30  # Seconds that a connection without requests is kept.
STOP_SECONDS = 20  # Requests that are under way have so long to end after a signal.
ORIGIN = re.compile(r"https?://([a-z0-9.-]+|\[[0-9a-f:]+\])(:[0-9]+)?")  # of a page, as its browser sends it


def opener(where: str) -> Callable[[], Store]:
    """How to open a store: a file of SQLite, or `postgresql://...`."""
    if where.startswith(("postgresql://", "postgres://")):
        try:
            from deniable.collect.stores.postgres import PostgresStore
        except ImportError:
            raise DeniableError(
                "a store in PostgreSQL needs psycopg; install it with: pip install 'deniable[serve,postgres]'"
            ) from None
        return lambda: PostgresStore(where)
    if "://" in where:
        raise CollectError(f"--store takes a path or postgresql://...; found {where.partition('://')[0]}://...")
    from deniable.collect.stores.sqlite_log import SqliteLog

    return lambda: SqliteLog(Path(where))


class _Server(uvicorn.Server):
    """A server that a second signal does not make break off what the first one lets end: no answer is lost to it."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 - as uvicorn calls it
        self.should_exit = True


def server_for(collector: Collector, *, origins: Sequence[str] = ()) -> uvicorn.Server:
    """The server of a collector. It logs no requests, and takes no addresses from headers."""
    for origin in origins:
        if not ORIGIN.fullmatch(origin):
            wanted = "https://app.example, as browsers send it: small letters, no path and no slash at the end"
            raise CollectError(f"--origin takes an address like {wanted}; found {abbreviated(origin)}")
    return _Server(
        uvicorn.Config(
            application(collector, origins=origins),
            lifespan="on",
            log_config=None,
            log_level="warning",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            backlog=BACKLOG,
            timeout_keep_alive=KEEP_ALIVE,
            timeout_graceful_shutdown=STOP_SECONDS,
        )
    )


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens there; port 0 is any that is free."""
    try:
        return socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=BACKLOG
        )
    except OSError as error:
        option = "--port" if _is_here(host) else "--host"
        raise CollectError(f"{host}:{port}: cannot be listened at: {error.strerror}; give another {option}") from None


def _is_here(host: str) -> bool:
    """Whether a host is an address of this machine: whether some port of it can be listened at."""
    try:
        socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
    except OSError:
        return False
    return True


def serve(server: uvicorn.Server, listening: socket.socket) -> None:
    """Serve until SIGTERM, SIGINT or SIGHUP; requests that are under way are answered, and what waits is stored."""
    handled = [signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
    before = {number: signal.signal(number, server.handle_exit) for number in handled}
    try:
        server.run(sockets=[listening])
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        listening.close()
