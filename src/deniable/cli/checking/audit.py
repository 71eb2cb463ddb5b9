"""The command `deniable audit`: reports drawn from the shipped clients against the epsilon that a plan states."""

import argparse
import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from deniable.cli.options import add_command, people_of
from deniable.errors import DeniableError

if TYPE_CHECKING:
    from deniable.cli.options import Commands
    from deniable.collect.audit.audit import Audit, Row

MOST_OFF = 20  # So many of the things that are off are listed.


def add_audit(commands: "Commands") -> None:
    """Add `deniable audit`."""
    command = add_command(commands, "audit", "test the shipped clients against a plan's epsilon")
    command.add_argument("plan", metavar="PLAN.json", help="a plan, as `deniable plan` writes it")
    command.add_argument(
        "--draws",
        type=people_of,
        default=100_000,
        metavar="N",
        help="reports of each record and arm from each client (default 100000); ten times as many see a third as much",
    )
    command.add_argument("--json", action="store_true", help="print a JSON object")
    command.set_defaults(run=_audit, stopped="stopped; nothing was found out")


def _audit(arguments: argparse.Namespace) -> None:
    from deniable.collect.audit.audit import audit
    from deniable.collect.audit.shipped_clients import WHERE_TO_GET_NODE
    from deniable.survey.plan import Plan
    from deniable.text.progress import told

    plan = Plan.load(arguments.plan)
    found = audit(plan, draws=arguments.draws, watch=lambda names: told(names, "drawing reports: {}".format))
    print(json.dumps(found.to_json(), indent=1, ensure_ascii=False) if arguments.json else _text(found))
    for client, reason in found.not_audited.items():
        print(f"NOT AUDITED: the {client} client, for {reason} (node: {WHERE_TO_GET_NODE})", file=sys.stderr)
    if not found.passed:
        sys.stdout.flush()
    if not found.protects and not found.off:
        raise DeniableError("nothing to audit: the plan protects no answer; protect some, or do not call it private")
    if not found.passed:
        raise DeniableError("the audit FAILED: do not collect with this client; what is off is listed above")


def _text(found: "Audit") -> str:
    """An audit as a page of text that can be filed."""
    from deniable.text.tables import aligned, coloured, is_terminal

    arms = len({row.arm for row in found.rows}) > 1
    heads = [*(["arm"] * arms), "question", "protocol", "stated", *(f"{one}, at least" for one in found.clients)]
    head = [*heads, "right client", "caught"]
    body = aligned(
        head,
        [_cells(row, found, arms=arms) for row in found.rows],
        numbers=range(2 + arms, len(head)),
        rule=is_terminal(sys.stdout),
        colour=coloured(sys.stdout),
    )
    return "\n".join(
        [*_facts(found), "", *(body if found.rows else ["Nothing is protected here."]), "", *_verdict(found)]
    )


def _facts(found: "Audit") -> list[str]:
    """What was audited, when and with what, a line each."""
    missing = [f"; NOT the {client} client, for {reason}" for client, reason in found.not_audited.items()]
    facts = {
        "Audit of plan": found.fingerprint,
        "Epsilon": f"{found.epsilon:.6g} for {found.epsilon_is_of}, as the plan states",
        "Date": f"{found.date} (UTC)",
        "Versions": ", ".join(f"{name} {version}" for name, version in found.versions.items()),
        "Clients": f"{', '.join(found.clients)}{''.join(missing)}",
        "Draws": f"{found.draws:,} reports of each record and arm from each client, by their real randomness",
        "Error": f"right clients fail at most {found.error:g} of such audits ({found.comparisons:,} tests, Bonferroni)",
    }  # fmt: skip
    if found.public:
        facts["NOT PROTECTED"] = f"sent as they are, and in no epsilon: {_names(found.public)}"
    wide = max(map(len, facts))
    return [f"{name:<{wide}}  {fact}" for name, fact in facts.items()]


def _cells(row: "Row", found: "Audit", *, arms: bool) -> list[str]:
    seen = [f"{row.at_least[one]:.3f}" if one in row.at_least else "-" for one in found.clients]
    caught = f"{row.caught:.2%}" if row.caught < 1 else "-"
    return [*([row.arm] * arms), row.question, row.protocol, f"{row.stated:.3f}", *seen, f"{row.typical:.3f}", caught]


def _verdict(found: "Audit") -> list[str]:
    """How the table is read, what is off, and the result."""
    lines = [
        "stated        the epsilon that the plan states for it",
        "at least      lower bound of epsilon from what the client sent (Clopper-Pearson; all bounds hold at once)",
        "right client  the bound that a client without mistakes shows with so many draws",
        "caught        the least share of answers, sent as they are, that is found in 95 of 100 audits",
        "",
    ]
    for one in found.off[:MOST_OFF]:
        lines.append(f"OFF: {one.client}{f', arm {one.arm}' if one.arm else ''}: {one.what}")
    if len(found.off) > MOST_OFF:
        lines.append(f"OFF: {len(found.off) - MOST_OFF:,} more, listed by --json")
    return [*lines, f"Result: {_result(found)}"]


def _result(found: "Audit") -> str:
    """The result in a line: what was looked for, with which power, and what no audit can be about."""
    from deniable.collect.audit.audit import LOOKED_FOR

    if found.off:
        return "FAILED."
    if not found.protects:
        return f"NOT PROTECTED. Every answer is sent as it is: {_names(found.public)}. There is no epsilon to audit."
    said = "No bound is above what is stated, and every probability looked at is as stated."
    if found.public:
        said += f" This says nothing of what is sent as it is: {_names(found.public)}."
    if not found.low_power:
        return f"PASSED. {said}"
    return (
        f"PASSED, BUT WITH LOW POWER: with {found.draws:,} draws, fewer than 95 of 100 audits find a client that sends "
        f"{_missed(found.caught)} to a question as they are. To find one that sends {LOOKED_FOR:.0%} of them, take "
        f"--draws {found.draws_needed}. {said}"
    )


def _missed(caught: float) -> str:
    """The answers that a client can send as they are while fewer than 95 of 100 audits find it."""
    return "even all answers" if caught >= 1 else f"less than {caught:.0%} of the answers"


def _names(names: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)
