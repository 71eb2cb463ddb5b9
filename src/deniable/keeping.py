"""Answers that are kept and sent again, and what a device spent: beside client.py, for people who are asked repeatedly.

This file needs client.py and the standard library alone, and can be copied with it as it is.

    first time    record + plan --(client.report_from)--> kept bytes, stored on the device and nowhere else
    each time     kept bytes --(a fresh coin over each answer, if the plan has one)--> the bytes to send

All reports of a person follow from the kept bytes (memoization), which are one report: so epsilon of all of them
together is that of the kept one. With a fresh coin b = fresh / 65 536, each kept answer is sent as it is with
probability b, and else as any of its m values, two for a flag; one report alone then has the smaller epsilon of both
coins in a row. What is stored is sent also if the true answers change later: that is neither seen nor paid for.

Instead of being stored, kept bytes can be derived from a secret of the device: the draws of a block are then the bytes
of HMAC-SHA256 by that secret, of the texts `fingerprint/arm/block/code/0`, `.../1` and so on, end to end, with the
numbers of arm and block and the code of the answer; those of the arm are of `fingerprint/arm/0` and so on. The promise
is then as good as HMAC, and a changed answer has draws of its own: it costs epsilon once more.
"""

import contextlib
import hashlib
import hmac
import itertools
import json
import math
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

try:
    from deniable import client
except ImportError:  # copied, beside client.py
    import client  # type: ignore[import-not-found, no-redef]

LEAST_SECRET = 16  # A secret has at least so many bytes.
UNITS = 1 << 32  # A ledger counts epsilon in whole parts of this, rounded up, so that sums are exact.
FORMAT = 1  # the version of a keeper's file
FOREIGN = "what was kept is damaged, or of another plan; get it back as it was, and make no other report"


class KeepingError(client.DeniableError):
    """A file of kept answers that is damaged or foreign, or a report that would spend more than the ceiling."""


# -- from kept bytes to what is sent -----------------------------------------------------------------------------------


def again(kept: bytes, plan: client.Plan) -> bytes:
    """What to send of kept bytes: the same, or with a fresh coin over each answer. Bytes of another plan are refused.

    If sending fails, send what was made here, and do not make it again.
    """
    return again_from(os.urandom, kept, plan)


def again_from(source: client.Source, kept: bytes, plan: client.Plan) -> bytes:
    """`again` with its randomness as an argument: for tests, never for real answers."""
    checked = _kept_plan(plan)
    _need(isinstance(kept, bytes) and len(kept) == checked.length, FOREIGN)
    bits, position = int.from_bytes(kept, "little"), (len(checked.arms) - 1).bit_length()
    sent = number = bits & (1 << position) - 1
    _need(number < len(checked.arms), FOREIGN)
    for block in checked.arms[number]:
        field, levels = bits >> position & (1 << block.width) - 1, max(block.m, 2)
        _need(field < levels or block.protocol["name"] not in client.ONE_VALUE, FOREIGN)
        if checked.kept < client.SCALE and not block.public:
            field, _ = client.PERTURB["GRR"](field, levels, {"keep": checked.kept}, source)
        sent |= field << position
        position += block.width
    _need(not bits >> position, FOREIGN)
    return sent.to_bytes(checked.length, "little")


def _need(right: Any, what: str) -> None:
    if not right:
        raise KeepingError(what)


def _need_own_arm(arm: str | None, own: str) -> None:
    elsewhere = f"this device keeps its arm, {own!r}, and can be asked no other; found {arm!r:.200}"
    _need(arm in (None, own), elsewhere)


def _kept_plan(plan: client.Plan) -> client.CheckedPlan:
    checked = client.read(plan)
    if not checked.kept:
        raise client.PlanError("answers to this plan are not kept: make its reports by client.report, or by a Keeper")
    return checked


# -- answers that follow from a secret ---------------------------------------------------------------------------------


def report(
    record: Mapping[str, Any],
    plan: client.Plan,
    *,
    secret: bytes,
    expect: str | None = None,
    at_most: float = 8.0,
    public: Iterable[str] = (),
    arm: str | None = None,
) -> bytes:
    """Make a report of a plan whose answers are kept, from a secret, with nothing stored; else as `client.report`.

    Parameters
    ----------
    record, plan, expect, at_most, public, arm
        As `client.report` takes them. The epsilon is that of all reports together while the answers stay the same; each
        change costs it once more. The arm is the one that follows from the secret, and any other is refused. Arms that
        are assigned are refused: each would cost epsilon once more, and a secret does not remember which was first.
    secret
        At least 16 random bytes (`secrets.token_bytes(32)`) that the device keeps for ever and gives to nobody: whoever
        has them can undo the randomizing.

    Returns
    -------
    bytes
        The report, whose length is the same for every record of the plan.

    Examples
    --------
    >>> plan = dn.Plan(dn.Schema([dn.Flag("smoker")]), epsilon=1.0, repeat="keep")
    >>> two = [report({"smoker": True}, plan.to_json(), secret=bytes(range(32))) for wave in range(2)]
    >>> two[0] == two[1]
    True
    """
    checked = client.agreed_plan(_kept_plan(plan), expect, at_most, public)
    if checked.assigned:  # each arm would be another report, and epsilon of all together that of several
        raise client.PlanError(
            "arms are assigned, and a secret does not remember which is this device's: take a Keeper"
        )
    own = derived_arm(secret, checked)
    _need_own_arm(arm, own)
    return again(derived(secret, record, checked, own), checked)


def derived(secret: bytes, record: Mapping[str, Any], plan: client.Plan, arm: str | None = None) -> bytes:
    """The kept bytes that follow from a secret. They are for `again`, and must not be sent themselves.

    Those of each arm are another report, which costs epsilon once more: `report` makes that of `derived_arm` alone.
    """
    checked = _kept_plan(plan)
    number = client.arm_number(checked, arm, _stream(secret, checked, "arm"))
    bits, position = number, (len(checked.arms) - 1).bit_length()
    codes = [client.code_of(block, record) for block in checked.arms[number]]
    for place, (block, code) in enumerate(zip(checked.arms[number], codes, strict=True)):
        source = _stream(secret, checked, f"{number}/{place}/{code}")
        field, width = client.PERTURB[block.protocol["name"]](code, block.m, block.protocol, source)
        bits |= field << position
        position += width
    return bits.to_bytes(checked.length, "little")


def derived_arm(secret: bytes, plan: client.Plan) -> str:
    """The arm that follows from a secret: its name, for `client.questions` and then for `report`."""
    checked = _kept_plan(plan)
    return checked.names[client.arm_number(checked, None, _stream(secret, checked, "arm"))]


def _stream(secret: bytes, plan: client.CheckedPlan, what: str) -> client.Source:
    """The bytes that a secret gives for what is to be drawn, as a source of draws."""
    right = isinstance(secret, bytes) and len(secret) >= LEAST_SECRET
    _need(right, f"a secret must be {LEAST_SECRET} or more random bytes; found {type(secret).__name__}")
    texts = (f"{plan.fingerprint}/{what}/{number}" for number in itertools.count())
    stream = itertools.chain.from_iterable(hmac.digest(secret, text.encode(), "sha256") for text in texts)
    return lambda count: bytes(itertools.islice(stream, count))


# -- answers that are stored, and the ledger ---------------------------------------------------------------------------


class Keeper:
    """A file on the device that keeps randomized answers and what was spent, and refuses to spend more than a ceiling.

    Reports of a plan that keeps answers are spent once, all others each time. Every change is on the disk before a
    report is given out, whole or not at all; a file that is damaged or foreign is refused and left as it is.

    Parameters
    ----------
    path
        The file, for one person alone; it is made when there is something to keep. Whoever reads it sees the kept
        answers, which are randomized, and which surveys were answered.
    ceiling
        The largest sum of epsilons over all plans. It is an aid to an honest device, not a guarantee to others.

    Examples
    --------
    >>> plan = dn.Plan(dn.Schema([dn.Flag("smoker")]), epsilon=1.0, repeat="keep")
    >>> import tempfile
    >>> keeper = Keeper(tempfile.mkdtemp() + "/kept.json", ceiling=2.0)
    >>> first = keeper.report({"smoker": True}, plan.to_json())
    >>> keeper.report({"smoker": False}, plan.to_json()) == first  # the answer changed, what was kept did not
    True
    >>> keeper.spent <= 1.0
    True
    """

    def __init__(self, path: str | Path, *, ceiling: float = 8.0) -> None:
        right = isinstance(ceiling, int | float) and not isinstance(ceiling, bool) and ceiling > 0
        _need(right, f"the ceiling is the largest epsilon that may be spent in all, above 0; found {ceiling!r}")
        self.path, self.ceiling = Path(path), ceiling
        self._read()

    @property
    def spent(self) -> float:
        """The sum of the epsilons of all reports so far, rounded up."""
        return _epsilon(_units(self._read()))

    def arm(self, plan: client.Plan) -> str:
        """The arm to ask: the kept one; else one is drawn, and kept before any answer is there."""
        checked = _kept_plan(plan)
        with self._changing() as content:
            return str(self._entry(content, checked, None)["arm"])

    def report(
        self,
        record: Mapping[str, Any],
        plan: client.Plan,
        *,
        expect: str | None = None,
        at_most: float = 8.0,
        public: Iterable[str] = (),
        arm: str | None = None,
    ) -> bytes:
        """Make a report as `client.report` does, from what was kept if the plan says so, and within the ceiling.

        Where something was kept, the record is not looked at. Raises KeepingError before any answer is looked at if the
        ceiling would be passed.
        """
        checked = client.agreed_plan(plan, expect, at_most, public)
        if not checked.kept:
            with self._changing() as content:
                self._charge(content, checked)
                return client.report_from(os.urandom, record, checked, arm)
        with self._changing() as content:
            self._entry(content, checked, arm)  # which is kept whatever the answers are, also if they do not fit
        with self._changing() as content:
            entry = self._entry(content, checked, arm)
            if entry["report"] is None:
                self._charge(content, checked)
                entry["report"] = client.report_from(os.urandom, record, checked, entry["arm"]).hex()
            return again(bytes.fromhex(entry["report"]), checked)

    def _entry(self, content: dict[str, Any], plan: client.CheckedPlan, arm: str | None) -> dict[str, Any]:
        """What is kept of a plan: its arm, which is drawn if there is none yet, and the kept bytes in hexadecimal."""
        found: dict[str, Any] | None = content["kept"].get(plan.fingerprint)
        if found is None:
            drawn = plan.names[client.arm_number(plan, arm, os.urandom)]
            found = content["kept"].setdefault(plan.fingerprint, {"arm": drawn, "report": None})
        _need_own_arm(arm, found["arm"])
        return found

    def _charge(self, content: dict[str, Any], plan: client.CheckedPlan) -> None:
        """Write down what one more report spends, unless it is more than is left."""
        entry = content["spent"].setdefault(plan.fingerprint, {"epsilon": plan.epsilon, "times": 0})
        entry["times"] += 1
        after = _epsilon(_units(content))
        what = f"this device would have spent epsilon {after:.6g} in all, and its ceiling is {self.ceiling:.6g}"
        _need(after <= self.ceiling, f"{what}; no report was made")

    def _read(self) -> dict[str, Any]:
        """What the file holds; nothing yet if there is none."""
        try:
            text = self.path.read_bytes()
        except FileNotFoundError:
            return {"deniable": FORMAT, "kept": {}, "spent": {}}
        except OSError as error:
            raise KeepingError(f"{self.path} cannot be read as a file of kept answers: {error.strerror}") from None
        try:
            content = json.loads(text)
            right = content.pop("check") == _check(content) and content.get("deniable") == FORMAT
        except (ValueError, AttributeError, KeyError, TypeError, RecursionError):
            right = False
        _need(
            right, f"{self.path} is damaged, or no file of kept answers; it was left as it is: get it back, or move it"
        )
        return dict(content)

    @contextlib.contextmanager
    def _changing(self) -> Iterator[dict[str, Any]]:
        """The content to change, alone among processes; written if nothing is raised, and before this is left."""
        with _locked(self.path.with_name(self.path.name + ".lock")):
            content = self._read()
            before = _check(content)
            yield content
            if _check(content) != before:
                self._write(content)

    def _write(self, content: dict[str, Any]) -> None:
        """Write the file whole or not at all, and only then return."""
        handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=self.path.name)  # for its owner alone
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(content | {"check": _check(content)}, file, ensure_ascii=False, indent=1)
                file.flush()
                os.fsync(file.fileno())
            os.replace(name, self.path)  # noqa: PTH105 - what a copied file needs is here
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)  # noqa: PTH108
            raise
        if hasattr(os, "O_DIRECTORY"):  # the new name, too, is on the disk
            folder = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY)
            os.fsync(folder)
            os.close(folder)


def _units(content: Mapping[str, Any]) -> int:
    """What was spent, in whole parts of UNITS."""
    return sum(one["times"] * math.ceil(one["epsilon"] * UNITS) for one in content["spent"].values())


def _epsilon(units: int) -> float:
    """Parts as an epsilon: exact, as they are far fewer than a float has."""
    return units / UNITS


def _check(content: Mapping[str, Any]) -> str:
    """A checksum of what a file holds, by which damage is found."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Alone among the processes that lock this file; where there is no flock, among none."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    try:
        file = path.open("w")
    except OSError as error:
        raise KeepingError(f"{path} cannot be written, beside the kept answers: {error.strerror}") from None
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
