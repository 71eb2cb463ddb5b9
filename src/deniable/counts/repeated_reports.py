"""Reports that stand twice: runs of reports so long that chance repeats none of them.

Two reports are equal with a probability of at most that of the likeliest report, whatever the answers. So two runs of r
reports are equal with at most its r-th power, and r is chosen so that among all pairs of runs one is expected less
often than a false alarm is allowed. With local hashing a run is one report: its seed has 124 random bits.

`repeated_runs` looks at whole reports in memory, at every run. `SeenRuns` looks while reports are counted, for hardly
any time and in constant memory: at one column of each arm, whose run is longer, and of runs at a sample. A batch's
places are the multiples of some S, and in every S^2 reports the first S. Of two copies of S^2 runs, one place of the
one is then copied to one of the other, however far apart they are. The first KEPT different runs are all remembered,
and of more those with the smallest hashes, so that it is the run that decides whether it is in the sample.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from math import ceil, log2
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.reports.fields import report_bytes
from deniable.reports.report_bits import to_bytes
from deniable.reports.reports import Reports
from deniable.survey.plan import Plan
from deniable.survey.protocols.base import Form, Protocol, Shown

Words = npt.NDArray[np.uint64]
Places = npt.NDArray[np.int64]

SEED_BITS = 120  # The seed of local hashing has at least so many random bits.
FALSE_ALARM = 1e-3  # Reports that were all sent once have a repeated run at most this often.
LONGEST = 4096  # Runs longer than this are not looked for.
STREAM_BITS = 90  # Runs that are looked for while reports are counted have so many random bits: enough for 2^40.
# The step S between places is a power of two, larger in larger batches, and at least and at most this; 1 in small ones.
NARROWEST, WIDEST = 16, 512
KEPT = 1 << 17  # Of at most so many different runs the hashes are remembered.


def random_bits(plan: Plan) -> float:
    """How many random bits a report of a plan without arms has at least, whatever the answers: its min-entropy."""
    return sum(_random_bits(protocol) for protocol in plan.protocols)


def _random_bits(protocol: Protocol) -> float:
    p, q, m = protocol.p, protocol.q, protocol.columns
    if not protocol.protects:
        return 0.0
    if protocol.form is Form.HASH:
        return SEED_BITS
    if m == 1 or protocol.always_marked == 1:
        return -log2(max(q, 1 - p) if m == 1 else max(p, q))
    if protocol.always_marked is None:
        return -log2(max(q, 1 - q)) - (m - 1) * log2(max(p, 1 - p))
    return -log2(float(protocol.pattern_probabilities.max())) if protocol.pattern_count <= 1 << 12 else -log2(q)


def run_length(plan: Plan, reports: int) -> int | None:
    """How many reports a run has to have that chance does not repeat; None if reports have hardly any randomness."""
    bits = random_bits(plan)
    needed = 2 * log2(max(2, reports)) - log2(FALSE_ALARM)
    length = ceil(needed / bits) if bits else LONGEST + 1
    return length if length <= LONGEST else None


def repeated_runs(reports: Reports) -> dict[int, int]:
    """For each arm in which runs of reports stand more than once, by its place, how many such runs there are."""
    found: dict[int, int] = {}
    for place, part in enumerate(reports.arms):
        length = run_length(part.plan, len(part))
        if length is not None and len(part) > length:
            times = _repeats(_hashes(part), length)
            if times:
                found[place] = times
    return found


def _hashes(part: Reports) -> npt.NDArray[np.uint64]:
    """A 64-bit number for each report, the same for the same reports."""
    size = report_bytes(part.plan)
    raw = np.frombuffer(b"".join(to_bytes(part.table, part.plan, size, 0, 0)), np.uint8).reshape(-1, size)
    padded = np.zeros((len(raw), -(-size // 8) * 8), np.uint8)
    padded[:, :size] = raw
    return _mixed(padded.view(np.uint64))


def _mixed(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Rows of words, each mixed into one."""
    mixed = np.zeros(len(words), np.uint64)
    for word in words.T:
        mixed = (mixed ^ word) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
        mixed *= np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(32)
    return mixed


def _repeats(hashes: npt.NDArray[np.uint64], length: int) -> int:
    """How many runs of this length stand at another place, too."""
    runs = len(hashes) - length + 1
    mixed = np.zeros(runs, np.uint64)
    for k in range(length):
        mixed = _mixed(np.stack([mixed, hashes[k : k + runs]], axis=1))
    return runs - len(np.unique(mixed))


# -- while reports are counted -----------------------------------------------------------------------------------------


@dataclass(eq=False)
class SeenRuns:
    """A sample of the runs of reports that were counted so far, and how many of them stood there before. They add."""

    looked: int = 0  # runs that were looked at
    found: int = 0  # of these, runs that had been seen before
    _limit: int = (1 << 64) - 1  # hashes up to this are remembered
    _kept: Words = field(default_factory=lambda: np.zeros(0, np.uint64))  # different ones, rising
    _waiting: list[Words] = field(default_factory=list)  # not compared with all before yet
    _held: int = 0  # how many of these there are

    def look(self, plan: Plan, shown: Mapping[str, Shown], reports: int) -> None:
        """Look at what so many reports of a plan without arms show of some units: at the column of most randomness."""
        column = _looked_at(plan, tuple(shown))
        if column is None or reports < column.length:
            return
        hashes = column.hashes(shown[column.unit], reports)
        self.looked += len(hashes)
        self._take(hashes)

    def _take(self, hashes: Words) -> None:
        if len(hashes := hashes[hashes <= np.uint64(self._limit)]):
            self._waiting.append(hashes)
            self._held += len(hashes)
        if self._held > KEPT:
            self.settle()

    def settle(self) -> "SeenRuns":
        """The same, after what was looked at last was compared with all before."""
        every = np.sort(np.concatenate([self._kept, *self._waiting]))
        new = np.ones(len(every), bool)
        new[1:] = every[1:] != every[:-1]
        self.found += int(len(every) - new.sum())
        every = every[new]
        if len(every) > KEPT:
            every = every[: KEPT // 2]
            self._limit = int(every[-1])
        self._kept, self._waiting, self._held = every, [], 0
        return self

    def __add__(self, other: "SeenRuns") -> "SeenRuns":
        limit, parts = min(self._limit, other._limit), [self.settle()._kept, other.settle()._kept]
        both = [part[part <= np.uint64(limit)] for part in parts]
        return SeenRuns(self.looked + other.looked, self.found + other.found, limit, both[0], both[1:]).settle()


@dataclass(frozen=True)
class _Column:
    """The column of an arm that is looked at: how many reports a run has, and how often neighbours differ at least."""

    unit: str
    form: Form
    length: int
    differing: float

    def hashes(self, shown: Shown, reports: int) -> Words:
        """The hashes of the runs that are looked at; none of reports that seem to be sorted, which repeat by that."""
        places = _places(reports - self.length + 1)
        if self.form is Form.HASH:
            return _mixed(np.ascontiguousarray(shown[0])[places].view(np.uint64))
        words, first, second = (
            _bit_runs(shown[0], places, self.length)
            if self.form is Form.BITS
            else _code_runs(shown, places, self.length)
        )
        if (first != second).mean() < self.differing:
            return np.zeros(0, np.uint64)
        return _mixed((words @ _multipliers(words.shape[1]))[:, None])


@lru_cache(maxsize=1 << 10)
def _looked_at(plan: Plan, units: tuple[str, ...]) -> _Column | None:
    """The column that is looked at, of these units: one whose runs are the shortest; None if all are too long."""
    bits = {name: _column_bits(plan.units[name]) for name in units}
    name = max(bits, key=bits.__getitem__, default=None)
    if name is None or not bits[name] or (length := ceil(STREAM_BITS / bits[name])) > LONGEST:
        return None
    form = plan.units[name].form
    whole = 1 if form is Form.HASH else 64 * ceil(length / 64)
    return _Column(name, form, whole, (1 - 2 ** -bits[name]) / 2)


def _column_bits(protocol: Protocol) -> float:
    """How many random bits one column of a report has at least, whatever the answer."""
    p, q = protocol.p, protocol.q
    if not protocol.protects:
        return 0.0
    if protocol.form is Form.HASH:
        return SEED_BITS
    return -log2(max(p, q) if protocol.form is Form.VALUE else max(p, q, 1 - p, 1 - q))


@lru_cache(maxsize=8)
def _places(runs: int) -> Places:
    """Which of so many runs of a batch are looked at: all of less than a thousand, and one in 256 of a million."""
    step = 1 if runs < 1 << 10 else max(NARROWEST, min(WIDEST, 1 << (runs >> 10).bit_length()))
    blocks = (np.arange(0, runs, step * step)[:, None] + np.arange(step)).reshape(-1)
    grid = np.arange(0, runs, step)
    return np.concatenate([blocks[blocks < runs], grid[grid % (step * step) >= step]])


def _bit_runs(packed: npt.NDArray[np.uint8], places: Places, length: int) -> tuple[Words, Any, Any]:
    """The bits of the runs at these places, 64 to a word, and the first two bits of each."""
    padded = np.concatenate([packed, np.zeros(16, np.uint8)])
    words, shift = _gathered(padded, places >> 3, length // 8 + 8), (places & 7).astype(np.uint64)[:, None]
    aligned = words[:, :-1] >> shift | words[:, 1:] << np.uint64(63) - shift << np.uint64(1)
    return aligned, aligned[:, 0] & np.uint64(1), aligned[:, 0] >> np.uint64(1) & np.uint64(1)


def _code_runs(codes: Any, places: Places, length: int) -> tuple[Words, Any, Any]:
    """The codes of the runs at these places, as words, and the first two codes of each."""
    codes = np.ascontiguousarray(codes)
    return _gathered(codes, places, length * codes.itemsize), codes[places], codes[places + 1]


def _gathered(array: npt.NDArray[Any], places: Places, size: int) -> Words:
    """So many bytes from each of these places on, as rows of words."""
    step = array.itemsize
    starts = np.ndarray(((array.nbytes - size) // step + 1,), f"V{size}", array.data, strides=(step,))
    return starts[places].view(np.uint64).reshape(len(places), -1)


@lru_cache(maxsize=64)
def _multipliers(words: int) -> Words:
    """Odd numbers, always the same, that mix so many words into one."""
    return _mixed(np.arange(1, words + 1, dtype=np.uint64)[:, None]) | np.uint64(1)
