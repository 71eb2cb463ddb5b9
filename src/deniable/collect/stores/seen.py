"""Which ids were seen, and in which group: a hash table in memory of 12 to 16 bytes for each id, 28 while it grows.

Each entry is one 64-bit word: the 32-bit tag of an id, and the number of the group that it was stored in. Two ids may
have one tag, so a find is a hint: whoever asks reads the group and compares. A tag is a hash with a secret of this
table, or a sender who picks ids could make them all collide. The table grows by a quarter at a time, and entries move
to the new one little by little while others are added, so that no single addition takes long.
"""

import os
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

Tags = npt.NDArray[np.uint64]

SMALLEST = 1 << 12  # The first table has room for this many words.
FULL = 0.65  # A table grows when this part of it is filled; searches are short below it.
GROWTH = 1.25  # A new table is so many times as large.
MOVED = 1 << 12  # At each addition at least this many places of the old table are moved to the new one.
MOVED_EACH = 8  # For each id added at least this many places of the old table are moved.
HALF = np.uint64(32)  # A word has its tag in the upper half of its bits.


class Seen:
    """A hash table from ids to the groups that hold them, with room for as many as are expected. `add` adds to it."""

    def __init__(self, expected: int = 0) -> None:
        self.words = np.zeros(max(SMALLEST, int(expected / FULL)), np.uint64)
        self.old = np.zeros(0, np.uint64)  # the table before, while its entries are moved
        self.moved = 0  # places of the old table that were moved
        self.n = 0
        self.secrets = np.frombuffer(os.urandom(32), np.uint64) | np.uint64(1)

    def tags(self, ids: bytes) -> Tags:
        """The tags of ids, which stand one after another, 16 bytes each."""
        words = np.frombuffer(ids, "<u8").astype(np.uint64, copy=False).reshape(-1, 2)
        mixed = _mix(words[:, 0] ^ self.secrets[0], self.secrets[1])
        return _mix(mixed ^ words[:, 1] ^ self.secrets[2], self.secrets[3]) >> HALF

    def find(self, tags: Tags) -> Iterator[tuple[int, int]]:
        """(place among the tags, number of a group) wherever a group may hold the id of a tag."""
        yield from _find(self.words, tags)
        if len(self.old):
            yield from _find(self.old, tags)

    def add(self, tags: Tags, group: int) -> None:
        """Add ids, by their tags, that are stored in a group; groups are numbered from 1 to 2^32 - 1."""
        if not 0 < group < 1 << 32:
            raise ValueError(f"groups are numbered from 1 to 2^32 - 1; found {group}")
        self.n += len(tags)
        while self.n > FULL * len(self.words):
            self._move(len(self.old))
            self.old, self.moved = self.words, 0
            self.words = np.zeros(int(GROWTH * len(self.old)), np.uint64)
        _put(self.words, tags << HALF | np.uint64(group))
        if len(self.old):
            self._move(max(MOVED, MOVED_EACH * len(tags)))

    def _move(self, places: int) -> None:
        """Move the entries in so many places of the old table to the new one."""
        some = self.old[self.moved : self.moved + places]
        _put(self.words, some[some != 0])
        self.moved += places
        if self.moved >= len(self.old):
            self.old, self.moved = np.zeros(0, np.uint64), 0


def _mix(words: Tags, odd: np.uint64) -> Tags:
    """A bijection of 64-bit words that depends on an odd number, every bit on many."""
    words = (words ^ words >> np.uint64(33)) * odd
    words = (words ^ words >> np.uint64(29)) * np.uint64(0x9E3779B97F4A7C15)
    return words ^ words >> HALF


def _places(tags: Tags, size: int) -> npt.NDArray[np.intp]:
    """Where the search for each tag begins in a table of this size."""
    return (tags * np.uint64(size) >> HALF).astype(np.intp)


def _find(table: Tags, tags: Tags) -> Iterator[tuple[int, int]]:
    """Search by linear probing, all tags at once: as long as a place is filled, the next one is looked at."""
    left, at = np.arange(len(tags)), _places(tags, len(table))
    while len(left):
        words = table[at]
        filled = words != 0
        hits = np.flatnonzero(filled & (words >> HALF == tags[left]))
        for hit in hits.tolist():
            yield int(left[hit]), int(words[hit]) & 0xFFFFFFFF
        left, at = left[filled], at[filled] + 1
        at[at == len(table)] = 0


def _put(table: Tags, words: Tags) -> None:
    """Write words into the first free places from where their search begins; a word that is there already is left."""
    at = _places(words >> HALF, len(table))
    while len(words):
        free = table[at] == 0
        table[at[free]] = words[free]  # of words with one place the last one stays
        out = table[at] != words
        words, at = words[out], at[out] + 1
        at[at == len(table)] = 0
