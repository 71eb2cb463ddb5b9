"""The command `deniable audit`: reports drawn from the shipped clients against the epsilon that a plan states."""

import argparse
import json
import sys
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
    if found.passed:
        lines.append("Result: PASSED. No bound is above what is stated, and every probability looked at is as stated.")
    else:
        lines.append("Result: FAILED.")
    return lines
