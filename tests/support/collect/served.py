"""A collector that runs on a free port of this machine, in a thread, and made-up reports to send to it."""

import random
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import httpx

import deniable as dn
from deniable import client
from deniable.collect.collector import Collector
from deniable.collect.serve import listen, server_for
from deniable.collect.stores.sqlite_log import SqliteLog
from deniable.collect.stores.store import Store

PLAN = dn.Plan(dn.Schema([dn.Flag("smoker"), dn.Choice("age", ["young", "old", "very old"])]), epsilon=4.0)
NEXT = dn.Plan(dn.Schema([dn.Flag("smoker"), dn.Flag("drinker")]), epsilon=2.0)
CHECKED = client.read(PLAN.to_json())
OF_PLAN = {"deniable-plan": PLAN.fingerprint}


def a_report(rng: random.Random, plan: client.CheckedPlan = CHECKED) -> bytes:
    record = {"smoker": rng.random() < 0.3, "age": rng.choice(["young", "old"]), "drinker": True}
    return client.report_from(rng.randbytes, record, plan)


def an_id(rng: random.Random) -> str:
    return rng.randbytes(16).hex()


class Served:
    """A running collector, and a way to ask it."""

    def __init__(
        self,
        path: Path,
        texts: list[str],
        open_store: Callable[[], Store] | None = None,
        origins: Sequence[str] = (),
        **more: Any,
    ) -> None:
        self.collector = Collector(open_store or (lambda: SqliteLog(path)), texts, **more)
        self.token = self.collector.first_token() or ""
        self.auth = {"authorization": f"Bearer {self.token}"}
        self.server = server_for(self.collector, origins=origins)
        listening = listen("127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        self.thread = threading.Thread(target=self.server.run, args=([listening],))
        self.http = httpx.Client(base_url=self.url, timeout=60, trust_env=False)

    def __enter__(self) -> "Served":
        self.thread.start()
        give_up = time.monotonic() + 20
        while not self.server.started and time.monotonic() < give_up:
            time.sleep(0.005)
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def stop(self) -> None:
        self.http.close()
        self.server.should_exit = True
        self.thread.join(20)
        assert not self.thread.is_alive()

    def put(self, id: str, report: bytes, **headers: str) -> httpx.Response:
        return self.http.put(f"/reports/{id}", content=report, headers=OF_PLAN | headers)
