"""What shows from outside that randomizing is wrong: checks by `report`, in bulk and by the command line.

They look at the system's own randomness, so each can fail by chance: bounds are six standard errors, less than one in
1e8 of the few thousand numbers that are compared.
"""

import contextlib
import io
import itertools
import json
import math
import os
import tempfile
from collections.abc import Callable, Iterator
from decimal import Context, Decimal, localcontext
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import deniable as dn
from deniable import client, keeping
from deniable.cli.program import main
from deniable.reports.randomness import secure
from deniable.survey.privacy import BELIEF, of_report
from spec.make_vectors import ARMS_PATH, KEPT_PATH, PATH
from tests.support.all_draws import by_bulk, check_all_draws, single
from tests.support.scripted import arm_source, client_source
from tests.support.situations import PLANS, values
from tests.support.slow_reports import drawn_arm

SPEC = Path(PATH).parent
SIGMAS = 6
SECRET, UNLISTED = "a-very-secret-answer", "an-answer-that-is-not-listed"
MANY = 12  # so many flags that a report has more than a byte
FLAGS = dn.Schema([dn.Flag(f"flag {k}") for k in range(MANY)])
EVERY_FLAG = dn.Plan(FLAGS, dict.fromkeys(FLAGS.names, dn.RandomizedResponse(p=0.25, q=0.75)))
CHOICES = {
    "grr": dn.GRR(epsilon=1.0),
    "unary": dn.UnaryEncoding(p=0.25, q=0.5),
    "sets": dn.SubsetSelection(epsilon=1.0, size=2),
    "hash": dn.LocalHashing(epsilon=1.0, buckets=3),
    "last": dn.GRR(epsilon=0.5),
}
EVERY_CHOICE = dn.Plan(dn.Schema([dn.Choice(name, values(5)) for name in CHOICES]), CHOICES)
IN_ARMS = dn.Plan(
    dn.Schema([dn.Flag("a"), dn.Flag("b"), dn.Choice("c", values(3))]), epsilon=1.0, arms={("a", "b"): 1, ("c",): 3}
)
SINGLES = [single(EVERY_CHOICE, name) for name in CHOICES] + [single(EVERY_FLAG, "flag 0")]
VECTORS, VECTORS_OF_ARMS, REFUSED_PLANS, REFUSED_ANSWERS = (
    json.loads(path.read_text(encoding="utf-8"))
    for path in (PATH, ARMS_PATH, SPEC / "refused_plans.json", SPEC / "refused_answers.json")
)
Makes = Callable[[dn.Plan, dict[str, Any], int], dn.Reports]  # so many reports of one record


# -- the three ways to a report ----------------------------------------------------------------------------------------


def by_device(plan: dn.Plan, record: dict[str, Any], count: int) -> dn.Reports:
    """By `client.report`, with all that it refuses."""
    checked, options = client.read(plan.to_json()), {"expect": plan.fingerprint, "at_most": 99}
    return dn.Reports.from_bytes([client.report(record, checked, **options) for _ in range(count)], plan)  # type: ignore[arg-type]


def in_bulk(plan: dn.Plan, record: dict[str, Any], count: int) -> dn.Reports:
    """By `dn.randomize`."""
    return dn.randomize({name: [answer] * count for name, answer in record.items()}, plan)


def by_command(plan: dn.Plan, record: dict[str, Any], count: int) -> dn.Reports:
    """By `deniable randomize`, from a CSV file to a Parquet file."""
    with tempfile.TemporaryDirectory() as folder:
        there = Path(folder)
        plan.save(there / "plan.json")
        lines = [",".join(record), *[",".join(map(str, record.values()))] * count]
        (there / "answers.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        files = [str(there / name) for name in ("plan.json", "answers.csv", "reports.parquet")]
        with contextlib.redirect_stderr(io.StringIO()):
            assert main(["randomize", files[0], files[1], "-o", files[2]]) == 0
        return dn.Reports.load(files[2])


# -- rates and independence --------------------------------------------------------------------------------------------


def check_rates(makes: Makes, plan: dn.Plan, record: dict[str, Any], count: int) -> None:
    """Every answer's evidence, and that of every two, comes as often as the protocols say, independently."""
    reports = makes(plan, record, count)
    counts = dn.count(reports, order=2)
    for one, other in itertools.combinations(plan.schema.names, 2):
        found = counts.array(one, other) / count
        expected = np.multiply.outer(_rates(plan, one, record[one]), _rates(plan, other, record[other]))
        errors = np.sqrt(expected * (1 - expected) / count)
        assert (abs(found - expected) <= SIGMAS * errors).all(), (one, other)


def _rates(plan: dn.Plan, name: str, answer: Any) -> npt.NDArray[np.float64]:
    feature, protocol = plan.schema[name], plan[name]
    shown = [feature.answers[code] for code in feature.columns]
    return np.array([1.0, *(protocol.q if value == answer else protocol.p for value in shown)])


def check_rows(makes: Makes, count: int, lags: tuple[int, ...]) -> None:
    """Reports of one record are independent of each other, also those far apart, and no two runs are the same."""
    record = dict.fromkeys(FLAGS.names, True)
    first, second = (_bits(makes(EVERY_FLAG, record, count)) for _ in range(2))
    assert not np.array_equal(first, second)
    for one, other in [(first[:-lag], first[lag:]) for lag in lags] + [(first, second)]:
        together = ((one - 0.75) * (other - 0.75)).mean(axis=0)
        assert (abs(together) <= SIGMAS * 0.1875 / math.sqrt(len(one))).all()


def _bits(reports: dn.Reports) -> npt.NDArray[Any]:
    return np.column_stack([column.to_numpy() for column in reports.table.columns])


def check_fields(makes: Makes, count: int) -> None:
    """Within one answer: bits of unary encoding are independent, hashes all different and evenly spread."""
    table = makes(EVERY_CHOICE, dict.fromkeys(CHOICES, "v1"), count).table
    names = [name for name in table.column_names if name.startswith("unary")]
    bits = np.column_stack([table[name].to_numpy() for name in names])
    rates = np.array([0.5 if name.endswith("v1") else 0.25 for name in names])
    spread = np.sqrt(rates * (1 - rates))
    together = ((bits - rates) / spread).T @ ((bits - rates) / spread) / count
    assert (abs(together - np.eye(len(names))) <= SIGMAS * math.sqrt(3 / count)).all()
    seeds = next(name for name in table.column_names if name.startswith("hash"))
    raw = np.frombuffer(b"".join(_seed(seed) for seed in table[seeds].to_pylist()), "<u4").reshape(count, 4)
    assert len({row.tobytes() for row in raw}) == count
    for place in (0, 15, 30):
        half = ((raw >> place) & 1) - 0.5
        assert (abs(half.mean(axis=0)) <= SIGMAS * 0.5 / math.sqrt(count)).all()
        assert (abs((half.T @ half / count)[np.triu_indices(4, 1)]) <= SIGMAS * 0.25 / math.sqrt(count)).all()


def _seed(seed: Any) -> bytes:
    return seed if isinstance(seed, bytes) else np.asarray(seed, "<u4").tobytes()


def check_arms(makes: Makes, count: int) -> None:
    """Arms are drawn by their shares, whatever the answers are."""
    for record in ({"a": True, "b": True, "c": "v2"}, {"a": False, "b": False, "c": "v0"}):
        sizes = [len(arm) for arm in makes(IN_ARMS, record, count).arms]
        assert abs(sizes[0] - count / 4) <= SIGMAS * math.sqrt(count * 3 / 16)


def check_arms_vary() -> None:
    """How many records each arm has varies from run to run as for draws, here with a standard deviation of 8.7."""
    sizes = [len(in_bulk(IN_ARMS, {"a": True, "b": True, "c": "v2"}, 400).arms[0]) for _ in range(40)]
    assert 4 < np.std(sizes) < 16


def check_every_draw() -> None:
    """The bulk code's source gives every number of 16 bits; 30 times as many draws miss one once in 1e8 times."""
    assert (np.bincount(secure()(30 << 16), minlength=1 << 16) > 0).all()


# -- one device --------------------------------------------------------------------------------------------------------


def check_bytes() -> None:
    """The reports of spec/vectors.json and spec/vectors_of_arms.json, with every draw used."""
    for case in VECTORS:
        for record in case["records"]:
            source = client_source(case["plan"], record["draws"])
            assert client.report_from(source, record["answers"], case["plan"]).hex() == record["report"]
    for case in VECTORS_OF_ARMS:
        document, names = case["plan"], [arm["name"] for arm in case["plan"]["arms"]]
        for record in case["records"]:
            draw, arm = record.get("arm_draw"), record.get("arm")
            number = names.index(arm) if arm else 0 if draw is None else drawn_arm(document, draw)
            source = arm_source(document, number, record["draws"], draw)
            assert client.report_from(source, record["answers"], document, arm).hex() == record["report"]
            assert source.left == b""


def check_kept() -> None:
    """The kept answers of spec/vectors_of_kept.json, which follow from their secrets."""
    for case in json.loads(KEPT_PATH.read_text(encoding="utf-8")):
        client.read(case["plan"])
        for record in case["records"]:
            kept = keeping.derived(bytes.fromhex(record["secret"]), record["answers"], case["plan"], record.get("arm"))
            assert kept.hex() == record["kept"]


@contextlib.contextmanager
def recorded() -> Iterator[list[bytes]]:
    """What the operating system's randomness gives meanwhile."""
    right, given = os.urandom, []

    def recording(count: int) -> bytes:
        given.append(right(count))
        return given[-1]

    os.urandom = recording
    try:
        yield given
    finally:
        os.urandom = right


def check_source() -> None:
    """A report, and an arm, are made of what the operating system gave just then, all of it and nothing else."""
    for plan, record in (
        (EVERY_FLAG, dict.fromkeys(FLAGS.names, True)),
        (EVERY_CHOICE, dict.fromkeys(CHOICES, "v3")),
        (IN_ARMS, {"a": True, "b": False, "c": "v1"}),
    ):
        checked = client.read(plan.to_json())
        for _ in range(3):
            with recorded() as given:
                sent = client.report(record, checked, at_most=99)
            again = io.BytesIO(b"".join(given))
            assert client.report_from(again.read, record, checked) == sent
            assert again.read() == b""
            assert all(len(part) % 2 == 0 for part in given)
    with recorded() as given:
        assert (
            client.draw_arm(IN_ARMS.to_json())
            == IN_ARMS.arm_names[0 if int.from_bytes(given[0], "little") < 16384 else 1]
        )
    with recorded() as given:
        in_bulk(EVERY_FLAG, dict.fromkeys(FLAGS.names, True), 10)
    assert [len(part) for part in given] == [32, 16]  # a key and a counter
    with recorded() as other:
        by_command(EVERY_FLAG, dict.fromkeys(FLAGS.names, True), 10)
    assert {len(part) for part in other} >= {32, 16}
    assert not {*given} & {*other}


def check_deals() -> None:
    """A report is refused unless the plan is the one that was agreed to, to its last digit and its last column."""
    plan, record = EVERY_CHOICE, dict.fromkeys(CHOICES, "v0")
    text, right = plan.to_json(), plan.fingerprint
    first, last = (f"{(int(digit, 16) + 1) % 16:x}" for digit in (right[0], right[-1]))
    wrong = [right[:8], right[:12], right[:-1] + last, first + right[1:], right[:8] + "0" * 56, right + "0", ""]
    shown = dn.Plan(FLAGS, {FLAGS.names[-1]: dn.Public()}, epsilon=1.0)
    flags = dict.fromkeys(FLAGS.names, True)
    for options in ({"expect": one} for one in wrong):
        _refused(record, text, at_most=99, **options)
    _refused(record, text, at_most=math.nextafter(plan.epsilon, 0))
    _refused(record, dn.Plan(dn.Schema([dn.Flag("a")]), epsilon=8.5).to_json())
    *others, last_name = FLAGS.names
    for public in ((), others, (last_name[:4],), (last_name + " ",), (last_name.upper(),)):
        _refused(flags, shown.to_json(), public=public)
    for made in (
        lambda: client.report(record, text, expect=right, at_most=plan.epsilon),
        lambda: client.report(flags, shown.to_json(), public=FLAGS.names[-1:]),
    ):
        assert made()


def _refused(record: dict[str, Any], plan: str, **options: Any) -> None:
    with recorded() as given:
        try:
            client.report(record, plan, **options)
        except client.PlanError:
            assert given == []
            return
    raise AssertionError(f"agreed to {options}")


def check_refusals() -> None:
    """Every plan of spec/refused_plans.json and all answers of spec/refused_answers.json are refused."""
    for case in REFUSED_PLANS:
        try:
            client.read(case["text"] if "text" in case else case["plan"])
        except client.PlanError:
            continue
        raise AssertionError(case["title"])
    for case in REFUSED_ANSWERS:
        names = [feature["name"] for feature in case["plan"]["features"]]
        for record in case["records"]:
            try:
                client.report(record["answers"], case["plan"], public=names)
            except client.AnswerError:
                continue
            raise AssertionError(record["title"])


class OnlyAsked(dict):  # type: ignore[type-arg]
    """A record that may be asked for some of its answers alone."""

    asked: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Any:
        assert name in self.asked
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        assert name in self.asked
        return super().get(name, default)

    def values(self) -> Any:
        raise AssertionError("all answers were looked at")

    items = __iter__ = values  # type: ignore[assignment]


def check_silence() -> None:
    """Nothing of an answer is printed, stands in an error, or is looked at without being asked."""
    plan = dn.Plan(dn.Schema([dn.Choice("a", [SECRET, "other"]), dn.Flag("b")]), epsilon=1.0, arms=[["a"], ["b"]])
    checked = client.read(plan.to_json())
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        for arm, asked in (("a", ("a",)), ("b", ("b",))):
            record = OnlyAsked(a=SECRET, b=True)
            record.asked = asked
            client.report(record, checked, arm=arm)
        dn.randomize({"a": [SECRET] * 9, "b": [True] * 9}, plan)
        with tempfile.TemporaryDirectory() as folder:
            plan.save(f"{folder}/plan.json")
            Path(folder, "answers.csv").write_text(f"a,b\n{SECRET},true\n", encoding="utf-8")
            main(["randomize", f"{folder}/plan.json", f"{folder}/answers.csv", "-o", f"{folder}/r.parquet"])
    said = said.getvalue()
    assert SECRET not in said
    assert said.count("\n") <= 2
    assert "True" not in said
    for wrong in ({"a": [UNLISTED], "b": UNLISTED}, {"a": UNLISTED, "b": [UNLISTED]}):
        for arm in plan.arm_names:
            with pytest.raises(client.AnswerError) as refused:
                client.report(wrong, checked, arm=arm)
            assert UNLISTED not in str(refused.value)


def check_words() -> None:
    """The promise on the device says the bound that follows from the exact probabilities, and names what is public."""
    for plan in (EVERY_FLAG, EVERY_CHOICE, IN_ARMS, PLANS["everything mixed"]):
        words = client.promise(plan.to_json())
        most = of_report(plan).most(BELIEF)
        assert f"from 1 in 10 to at most {math.ceil(100 * most)} in 100." in words
        assert ("protects little" in words) == (most > 0.95)
        assert all(name in words.splitlines()[-1] for name in plan.public)


# -- plans and bulk code -----------------------------------------------------------------------------------------------


def check_budgets() -> None:
    """A plan never spends more than was asked for, spends nearly all of it, and the device finds the same epsilon."""
    for epsilon in (0.3, 1.0, 2.5):
        for protocol in (dn.GRR, dn.SubsetSelection, dn.LocalHashing):
            _check_budget(dn.Plan(dn.Schema([dn.Choice("a", values(9))]), {"a": protocol(epsilon=epsilon)}), epsilon)
        for unary in (dn.UnaryEncoding.optimized, dn.UnaryEncoding.symmetric):
            _check_budget(dn.Plan(dn.Schema([dn.Choice("a", values(9))]), {"a": unary(epsilon)}), epsilon)
        _check_budget(dn.Plan(dn.Schema([dn.Flag("a"), dn.Choice("b", values(4))]), epsilon=epsilon), epsilon)
        _check_budget(dn.Plan(IN_ARMS.schema, epsilon=epsilon, arms=[["a", "b"], ["c"]]), epsilon)
    for p, q in ((0.125, 0.25), (0.75, 0.875)):  # a true flag is given away by a 1, a false one by a 0
        ratio = dn.RandomizedResponse(p=p, q=q).ratio
        assert ratio == 2


def _check_budget(plan: dn.Plan, epsilon: float) -> None:
    assert 0.98 * epsilon <= plan.epsilon <= epsilon
    with localcontext(Context(prec=60)):  # and what it says is not below what its probabilities give
        assert Decimal(plan.epsilon).exp() * plan.ratio.denominator >= plan.ratio.numerator
    assert dn.Plan.from_json(plan.to_json()) == plan
    assert client.read(plan.to_json()).epsilon == plan.epsilon


def check_thresholds() -> None:
    """All 65 536 draws through the bulk code: each outcome has exactly its numerator."""
    for plan in SINGLES:
        check_all_draws(plan, by_bulk)


EVERY_ROW = dict.fromkeys(FLAGS.names, True)
CHECKS: dict[str, Callable[[], None]] = {
    "bytes": check_bytes,
    "kept": check_kept,
    "source": check_source,
    "deals": check_deals,
    "refusals": check_refusals,
    "silence": check_silence,
    "words": check_words,
    "budgets": check_budgets,
    "thresholds": check_thresholds,
    "rates in bulk": lambda: check_rates(in_bulk, EVERY_CHOICE, dict.fromkeys(CHOICES, "v1"), 20_000),
    "flags in bulk": lambda: check_rates(in_bulk, EVERY_FLAG, EVERY_ROW, 20_000),
    "rows in bulk": lambda: check_rows(in_bulk, 150_000, (1, 7, 8, 64, 65_536)),
    "fields in bulk": lambda: check_fields(in_bulk, 20_000),
    "arms in bulk": lambda: check_arms(in_bulk, 20_000),
    "arms from run to run": check_arms_vary,
    "every draw": check_every_draw,
    "command line": lambda: check_rates(by_command, EVERY_CHOICE, dict.fromkeys(CHOICES, "v4"), 20_000),
    "rows by command": lambda: check_rows(by_command, 20_000, (1, 8)),
    "flags on the device": lambda: check_rates(by_device, EVERY_FLAG, EVERY_ROW, 1_500),
    "choices on the device": lambda: check_rates(by_device, EVERY_CHOICE, dict.fromkeys(CHOICES, "v2"), 1_500),
    "rows on the device": lambda: check_rows(by_device, 1_500, (1, 8)),
    "fields on the device": lambda: check_fields(by_device, 1_500),
    "arms on the device": lambda: check_arms(by_device, 1_500),
}
