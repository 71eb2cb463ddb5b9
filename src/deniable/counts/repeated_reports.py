"""Reports that stand twice: runs of reports so long that chance repeats none of them.

Two reports are equal with a probability of at most that of the likeliest report, whatever the answers. So two runs of r
reports are equal with at most its r-th power, and r is chosen so that among all pairs of runs one is expected less
often than a false alarm is allowed. With local hashing a run is one report: its seed has 124 random bits.
"""

from math import ceil, log2

import numpy as np
import numpy.typing as npt

from deniable.reports.fields import report_bytes
from deniable.reports.report_bits import to_bytes
from deniable.reports.reports import Reports
from deniable.survey.plan import Plan
from deniable.survey.protocols.base import Form, Protocol

SEED_BITS = 120  # The seed of local hashing has at least so many random bits.
FALSE_ALARM = 1e-3  # Reports that were all sent once have a repeated run at most this often.
LONGEST = 4096  # Runs longer than this are not looked for.


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
