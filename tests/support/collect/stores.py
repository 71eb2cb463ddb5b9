"""What tests of stores share: plans, made-up entries, and sealing with the sizes of parts as counts."""

import random
from collections.abc import Sequence

import deniable as dn
from deniable import client
from deniable.collect.stores.store import Entry, Outcome, Store, StoredCounts

PLANS = (
    dn.Plan(dn.Schema([dn.Flag("smoker"), dn.Choice("age", ["young", "old", "very old"])]), epsilon=2.0),
    dn.Plan(dn.Schema([dn.Choice("town", [f"town {k}" for k in range(40)])]), epsilon=1.0),
)
SIZES = [client.read(plan.to_json()).length for plan in PLANS]


def add_plans(store: Store) -> list[int]:
    return [store.add_plan(plan.fingerprint, plan.to_json(), size) for plan, size in zip(PLANS, SIZES, strict=True)]


def made_up(rng: random.Random, plan: int = 1, count: int = 1) -> list[Entry]:
    """Entries of random ids and bytes."""
    return [Entry(rng.randbytes(16), plan, rng.randbytes(SIZES[plan - 1])) for _ in range(count)]


def seal(store: Store, part: int) -> None:
    sealing, counts = store.seal(part), []
    for plan in store.plans_in(part):
        n = 0
        for chunk in sealing.chunks(plan):
            sealing.keep(plan, chunk)
            n += len(chunk) // (16 + SIZES[plan - 1])
        counts.append(StoredCounts(part, plan, n, b"counted"))
    sealing.done(counts)
    while sealing.tidy():
        pass


def everything(store: Store) -> dict[bytes, tuple[int, bytes]]:
    """All that is stored, by id; an id that is there twice is an error."""
    found: dict[bytes, tuple[int, bytes]] = {}
    for part in store.parts():
        for plan in store.plans_in(part.number):
            step = 16 + SIZES[plan - 1]
            data = b"".join(store.read(part.number, plan))
            rows = [data[at : at + step] for at in range(0, len(data), step)]
            if part.sealed:
                assert rows == sorted(rows)
            for row in rows:
                assert row[:16] not in found, "stored twice"
                found[row[:16]] = plan, row[16:]
    return found


class Model:
    """What a store should do, in a few obvious lines."""

    def __init__(self) -> None:
        self.stored: dict[bytes, tuple[int, bytes]] = {}
        self.unspent: set[bytes] = set()

    def write(self, entries: Sequence[Entry]) -> list[Outcome]:
        return [self.write_one(entry) for entry in entries]

    def write_one(self, entry: Entry) -> Outcome:
        if entry.id in self.stored:
            return Outcome.SAME if self.stored[entry.id] == (entry.plan, entry.report) else Outcome.OTHER
        if entry.invitation is not None:
            if entry.invitation not in self.unspent:
                return Outcome.UNINVITED
            self.unspent.remove(entry.invitation)
        self.stored[entry.id] = entry.plan, entry.report
        return Outcome.NEW
