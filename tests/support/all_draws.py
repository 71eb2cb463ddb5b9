"""Every one of the 65 536 draws, through the client's whole `report_from` and the bulk code's whole `randomize_codes`.

For every feature of every plan, the share of draws that give each outcome is exactly its numerator.
"""

import io
import itertools
from collections import Counter
from collections.abc import Callable

import numpy as np

import deniable as dn
from deniable import client
from deniable.reports.randomize import randomize_codes
from deniable.survey.protocols.independent_bits import IndependentBits
from deniable.survey.protocols.keep_or_uniform import KeepOrUniform
from tests.support.situations import PLANS

ALL = np.arange(65536, dtype=np.uint16)
# For every feature of every plan, through the client's whole `report_from` and the bulk code's whole `randomize_codes`:
# the share of draws that give each outcome is exactly its numerator.
Perturbed = Callable[[dn.Plan, int, list[np.ndarray]], np.ndarray]  # plan of one feature, code, draws of each step


def single(plan: dn.Plan, name: str) -> dn.Plan:
    """The plan of one feature alone."""
    feature = plan.schema[name]
    alone = dn.Flag(feature.name, missing=feature.missing) if isinstance(feature, dn.Flag) else feature
    return dn.Plan(dn.Schema([alone]), {name: plan[name]})


def by_client(plan: dn.Plan, code: int, steps: list[np.ndarray]) -> np.ndarray:
    """What the client shows: a row of bits, or of one outcome, for each set of draws. After a rejection comes 0."""
    feature, (protocol,) = plan.schema.features[0].to_json(), plan.protocols
    checked = client.read(plan.to_json())
    answer = feature["values"][code] if "values" in feature else [False, True, None][code]
    record = {feature["name"]: answer}
    hashing = isinstance(protocol, dn.LocalHashing)
    nothing = np.zeros(len(steps[0]), np.uint16)
    before = [nothing] * (8 * hashing)  # a hash that sends everything to bucket 0
    streams = np.column_stack([*before, *steps, nothing]).astype("<u2").tobytes()
    width = 2 * (len(before) + len(steps) + 1)
    reports = [
        client.report_from(io.BytesIO(streams[start : start + width]).read, record, checked)
        for start in range(0, len(streams), width)
    ]
    shown = np.frombuffer(b"".join(reports), np.uint8).reshape(len(reports), -1)[:, 16 * hashing :]
    if isinstance(protocol, IndependentBits | dn.SubsetSelection):
        return np.unpackbits(shown, axis=1, bitorder="little")[:, : protocol.columns]
    return (shown.astype(int) << 8 * np.arange(shown.shape[1])).sum(axis=1)[:, None]


def by_bulk(plan: dn.Plan, code: int, steps: list[np.ndarray]) -> np.ndarray:
    """The same from the bulk code."""
    count = len(steps[0])
    hashing = isinstance(plan.protocols[0], dn.LocalHashing)
    given = iter([*[np.zeros(2 * count, np.uint16)] * (4 * hashing), *steps])
    later = itertools.repeat(None)

    def draws(size: int) -> np.ndarray:
        if size < count:
            return np.zeros(size, np.uint16)  # after a rejection comes 0
        step = next(given, next(later))
        return np.zeros(size, np.uint16) if step is None else step.copy()

    table = randomize_codes([np.full(count, code, np.int16)], plan, draws).table
    if isinstance(plan.protocols[0], IndependentBits | dn.SubsetSelection):
        return np.column_stack([column.to_numpy() for column in table.columns])
    column = table.columns[-1].combine_chunks()
    return (column if hashing else column.indices).to_numpy()[:, None]


def check_all_draws(plan: dn.Plan, perturbed: Perturbed) -> None:
    """Each outcome comes from exactly as many of the 65 536 draws as its numerator says."""
    (feature,), (protocol,) = plan.schema, plan.protocols
    codes = {0, feature.levels - 1}
    for code in codes:
        if isinstance(protocol, IndependentBits):
            ones = perturbed(plan, code, [ALL] * protocol.columns).sum(axis=0)
            p, q = protocol.integers.values()
            assert ones.tolist() == [q if column == code else p for column in feature.columns]
        elif isinstance(protocol, dn.SubsetSelection):
            check_subsets(plan, code, perturbed)
        elif isinstance(protocol, KeepOrUniform):
            n, keep = protocol.outcomes, protocol.keep
            share = 65536 // n
            true = 0 if isinstance(protocol, dn.LocalHashing) else code
            other = np.full(65536, share * ((true + 1) % n), np.uint16)  # the uniform draw that gives the next outcome
            shown = perturbed(plan, code, [ALL, other])[:, 0]
            assert (shown == true).sum() == keep
            assert (shown == (true + 1) % n).sum() == 65536 - keep
            shown = perturbed(plan, code, [np.full(65536, 65535, np.uint16), ALL])[:, 0]
            expected = np.full(n, share)
            expected[0] += 65536 - share * n  # those rejected are given 0 at the second try
            assert np.bincount(shown, minlength=n).tolist() == expected.tolist()


def check_subsets(plan: dn.Plan, code: int, perturbed: Perturbed) -> None:
    """The coin decides whether the true value is in the set; each place of the shuffle is uniform over what is left."""
    (protocol,) = plan.protocols
    m, size, q = protocol.columns, protocol.integers["size"], protocol.integers["q"]
    first = np.zeros(65536, np.uint16)  # every step of the shuffle takes the first value that is left
    shown = perturbed(plan, code, [ALL, *[first] * size])
    others = [v for v in range(m) if v != code]
    assert (shown.sum(axis=1) == size).all()
    assert shown[:, code].sum() == q
    assert (shown[:, others[: size - 1]] == 1).all()
    assert shown[:, others[size - 1]].sum() == 65536 - q
    never = np.full(65536, 65535, np.uint16)  # a coin that leaves the true value out
    for place in range(size):
        left = m - 1 - place
        steps = [never, *[first] * place, ALL, *[first] * (size - 1 - place)]
        drawn = perturbed(plan, code, steps)
        share = 65536 // left
        expected: Counter[frozenset[int]] = Counter()  # steps that swap inside of the set show the same set
        for step in range(left):
            rejected = 65536 - share * left if step == 0 else 0  # given 0 at the second try
            expected[frozenset(_taken(others, place, step, size))] += share + rejected
        found = Counter(row.tobytes() for row in np.packbits(drawn.astype(bool), axis=1))
        sets = {row: np.unpackbits(np.frombuffer(row, np.uint8)) for row in found}
        assert {frozenset(np.flatnonzero(sets[row]).tolist()): times for row, times in found.items()} == expected


def _taken(others: list[int], place: int, step: int, size: int) -> set[int]:
    shuffled = others.copy()
    shuffled[place], shuffled[place + step] = shuffled[place + step], shuffled[place]
    return set(shuffled[:size])


SINGLES = {
    f"{title}: {name}": single(plan, name)
    for title, plan in PLANS.items()
    for name in plan.schema.names
    if not isinstance(plan[name], dn.Public)
}
