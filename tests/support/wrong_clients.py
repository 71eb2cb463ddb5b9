"""Bugs to plant in client and bulk code, which tests of their draws must catch."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from deniable import client
from deniable.kernels import perturb


def off_by_one(key: str) -> Callable[[Any], Any]:
    """A client's or a bulk function's threshold raised by one, wherever it comes from."""

    def plant(monkeypatch: pytest.MonkeyPatch) -> None:
        read, bulk = dict(client.PERTURB), (perturb.bit_planes, perturb.keep_or_uniform)

        def raised(name: str) -> Any:
            def planted(code: int, m: int, protocol: Any, source: Any) -> Any:
                return read[name](code, m, protocol | ({key: protocol[key] + 1} if key in protocol else {}), source)

            return planted

        monkeypatch.setattr(client, "PERTURB", {name: raised(name) for name in read})
        planes, keep = bulk
        at = {"p": (1, 0), "q": (0, 1)}.get(key, (0, 0))
        monkeypatch.setattr(perturb, "bit_planes", lambda c, v, p, q, d: planes(c, v, p + at[0], q + at[1], d))
        monkeypatch.setattr(perturb, "keep_or_uniform", lambda c, k, n, d: keep(c, k + (key == "keep"), n, d))

    return plant


def plant_inclusive(monkeypatch: pytest.MonkeyPatch) -> None:
    """`draw <= threshold` for `draw < threshold`."""
    draws = client._draws
    monkeypatch.setattr(client, "_draws", lambda source, count: tuple(max(d, 1) - 1 for d in draws(source, count)))
    planes, keep = perturb.bit_planes, perturb.keep_or_uniform
    less = lambda d: lambda n: np.maximum(d(n), 1) - 1  # noqa: E731
    monkeypatch.setattr(perturb, "bit_planes", lambda c, v, p, q, d: planes(c, v, p, q, less(d)))
    monkeypatch.setattr(perturb, "keep_or_uniform", lambda c, k, n, d: keep(c, k, n, less(d)))


def plant_swapped(monkeypatch: pytest.MonkeyPatch) -> None:
    """The true value randomized as a false one, and a false one as true."""
    read = dict(client.PERTURB)

    def swapped(name: str) -> Any:
        def planted(code: int, m: int, protocol: Any, source: Any) -> Any:
            numbers = protocol | {"p": protocol["q"], "q": protocol["p"]} if "p" in protocol else protocol
            return read[name](code, m, numbers, source)

        return planted

    monkeypatch.setattr(client, "PERTURB", {name: swapped(name) for name in read})
    planes = perturb.bit_planes
    monkeypatch.setattr(perturb, "bit_planes", lambda c, v, p, q, d: planes(1 - c, v, p, q, d))


def plant_unrandomized(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last bit, or the coin, left out: the truth is shown."""
    read = dict(client.PERTURB)

    def bare(name: str) -> Any:
        def planted(code: int, m: int, protocol: Any, source: Any) -> Any:
            field, width = read[name](code, m, protocol, source)
            if "keep" in protocol:
                return (0 if width > 128 else code), width
            truth = code == (width - 1 if m > 1 else 1)
            return field & ~(1 << width - 1) | truth << width - 1, width

        return planted

    monkeypatch.setattr(client, "PERTURB", {name: bare(name) for name in read})
    planes, keep = perturb.bit_planes, perturb.keep_or_uniform

    def bare_planes(codes: Any, columns: range, p: int, q: int, draws: Any) -> Any:
        out = planes(codes, columns, p, q, draws)
        out[-1] = np.packbits(codes == columns[-1], bitorder="little")
        return out

    monkeypatch.setattr(perturb, "bit_planes", bare_planes)
    monkeypatch.setattr(perturb, "keep_or_uniform", lambda c, k, n, d: (keep(c, k, n, d), c)[1])


def plant_unrejected(monkeypatch: pytest.MonkeyPatch) -> None:
    """A uniform value by remainder, nothing drawn again: the first values get more than their share."""
    monkeypatch.setattr(client, "_uniform", lambda m, source: client._draws(source, 1)[0] % m)
    monkeypatch.setattr(perturb, "_uniform", lambda count, m, draws: (draws(count) % m).astype(np.int16))


# -- subset selection: each changes the bits that a right client or right bulk code shows, given the true code ---------


def _one_too_many(bits: Any, code: Any) -> Any:
    """The value that was drawn in reserve is shown beside the true one."""
    rows = np.arange(len(bits))
    spare = np.argmin(bits, axis=1)
    wrong = bits.copy()
    wrong[rows, spare] |= bits[rows, code]
    return wrong


def _true_value_shown(bits: Any, code: Any) -> Any:
    """The coin is left out, and the true value always shown."""
    wrong = bits.copy()
    wrong[np.arange(len(bits)), code] = True
    return wrong


def _next_value(bits: Any, code: Any) -> Any:  # noqa: ARG001 - one contract
    """Values are off by one."""
    return np.roll(bits, 1, axis=1)


def plant_in_sets(change: Callable[[Any, Any], Any]) -> Callable[[Any], None]:
    """A change of what subset selection shows, in client and bulk code."""

    def plant(monkeypatch: pytest.MonkeyPatch) -> None:
        right, bulk = client.PERTURB["subset selection"], perturb.subsets

        def planted(code: int, m: int, protocol: Any, source: Any) -> Any:
            field, width = right(code, m, protocol, source)
            bits = np.array([[bool(field >> v & 1) for v in range(width)]])
            wrong = change(bits, np.array([code]))[0]
            return sum(int(bit) << v for v, bit in enumerate(wrong)), width

        def planted_bulk(codes: Any, q: int, size: int, values: int, draws: Any) -> Any:
            planes = bulk(codes, q, size, values, draws)
            bits = np.unpackbits(planes, axis=1, count=len(codes), bitorder="little").T.astype(bool)
            return np.packbits(change(bits, codes.astype(int)), axis=0, bitorder="little").T.copy()

        monkeypatch.setattr(client, "PERTURB", client.PERTURB | {"subset selection": planted})
        monkeypatch.setattr(perturb, "subsets", planted_bulk)

    return plant


def plant_coin_of_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    """The coin's threshold raised by one."""
    off_by_one("q")(monkeypatch)
    bulk = perturb.subsets
    monkeypatch.setattr(perturb, "subsets", lambda c, q, k, m, d: bulk(c, q + 1, k, m, d))


WRONG_SETS = {
    "coin off by one": plant_coin_of_sets,
    "one too many": plant_in_sets(_one_too_many),
    "true value always": plant_in_sets(_true_value_shown),
    "next value": plant_in_sets(_next_value),
    "nothing drawn again": plant_unrejected,
}


# -- blocks and arms: each breaks what a respondent is promised, or what the bytes mean --------------------------------


def plant_arm_from_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """The arm is drawn, and then moved on by one if the first answer of the record is yes."""
    right = client.report_from

    def planted(source: Any, record: Any, plan: Any, arm: Any = None) -> bytes:
        checked = client.read(plan)
        if arm is None and len(checked.arms) > 1:
            number = client.arm_number(checked, None, source) + (next(iter(record.values())) in (True, 1, "true"))
            arm = checked.names[number % len(checked.arms)]
        return right(source, record, checked, arm)

    monkeypatch.setattr(client, "report_from", planted)


def plant_share_off_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first arm takes one draw from the second."""
    right = client.read

    def planted(plan: Any) -> Any:
        checked = right(plan)
        return (
            checked if len(checked.arms) == 1 else checked._replace(bounds=(checked.bounds[0] + 1, *checked.bounds[1:]))
        )

    monkeypatch.setattr(client, "read", planted)


def plant_leak(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last bit of the padding tells an answer that the arm does not ask, if the record has it."""
    right = client.report_from

    def planted(source: Any, record: Any, plan: Any, arm: Any = None) -> bytes:
        checked = client.read(plan)
        sent = right(source, record, checked, arm)
        number = int.from_bytes(sent, "little") % 2 ** (len(checked.arms) - 1).bit_length()
        asked = {feature["name"] for block in checked.arms[number] for feature in block.features}
        leak = any(record[name] in (True, 1, "true") for name in record if name not in asked)
        return sent[:-1] + bytes([sent[-1] | leak << 7])

    monkeypatch.setattr(client, "report_from", planted)


def plant_transposed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last feature of a block is the slowest."""
    right = client.code_of
    monkeypatch.setattr(
        client, "code_of", lambda b, r: right(b._replace(features=b.features[::-1], levels=b.levels[::-1]), r)
    )


WRONG_ARMS = {
    "arm drawn from the answer": plant_arm_from_answer,
    "share off by one": plant_share_off_by_one,
    "another arm's answer in the padding": plant_leak,
    "block code transposed": plant_transposed,
}
