"""The table of ids that were seen finds every id in its group, and hardly any other."""

import random

import numpy as np
import pytest

from deniable.collect.stores import seen
from deniable.collect.stores.seen import Seen


def found(table: Seen, id: bytes) -> set[int]:
    return {group for _, group in table.find(table.tags(id))}


def test_every_id_is_found_in_its_group_while_the_table_grows() -> None:
    rng, table, where = random.Random(1), Seen(), {}
    for group in range(1, 400):
        ids = [rng.randbytes(16) for _ in range(rng.choice([1, 3, 60]))]
        table.add(table.tags(b"".join(ids)), group)
        where |= dict.fromkeys(ids, group)
        if group % 20 == 0:
            for id in rng.sample(sorted(where), 50):
                assert where[id] in found(table, id)
    assert len(table.words) > seen.SMALLEST  # it has grown
    everything = list(where)
    hits = {(place, group) for place, group in table.find(table.tags(b"".join(everything)))}
    assert {(place, where[id]) for place, id in enumerate(everything)} <= hits
    assert len(hits) < len(everything) + 5


def test_an_id_that_was_not_added_is_hardly_ever_found() -> None:
    rng, table = np.random.default_rng(2), Seen()
    for group in range(1, 101):
        table.add(table.tags(rng.bytes(16 * 1000)), group)
    false = sum(1 for _ in table.find(table.tags(rng.bytes(16 * 100_000))))
    assert false < 20  # 100 000 tags of 2^32, times 100 000: 2.3 are expected


def test_ids_that_somebody_picked_to_be_alike_do_not_collide() -> None:
    """Equal beginnings, equal ends, and counted ones: tags are as different as those of random ids."""
    table = Seen()
    for ids in (
        b"".join(k.to_bytes(8, "little") + bytes(8) for k in range(20_000)),
        b"".join(bytes(8) + k.to_bytes(8, "little") for k in range(20_000)),
        b"".join((k << 112).to_bytes(16, "little") for k in range(20_000)),
        b"".join((k << 63 & (1 << 128) - 1).to_bytes(16, "little") for k in range(20_000)),
    ):
        tags = table.tags(ids)
        assert len(np.unique(tags)) > 19_990
        starts = np.bincount((tags * np.uint64(1000) >> np.uint64(32)).astype(int), minlength=1000)
        assert starts.max() < 60  # of 20 on average


def test_a_zero_tag_is_kept_apart_from_an_empty_place() -> None:
    table = Seen()
    zero = np.zeros(1, np.uint64)
    assert list(table.find(zero)) == []
    table.add(zero, 7)
    assert list(table.find(zero)) == [(0, 7)]


def test_the_memory_of_many_ids_is_bounded() -> None:
    rng, table = np.random.default_rng(3), Seen()
    for group in range(1, 201):
        table.add(table.tags(rng.bytes(16 * 2000)), group)
    assert (table.words.nbytes + table.old.nbytes) / table.n <= 28


@pytest.mark.parametrize("group", [0, -1, 1 << 32])
def test_a_group_that_does_not_fit_is_refused(group: int) -> None:
    table = Seen()
    with pytest.raises(ValueError, match="from 1 to"):
        table.add(table.tags(bytes(16)), group)
