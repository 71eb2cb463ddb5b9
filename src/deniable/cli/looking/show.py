"""The command `deniable show`: what a plan, reports or counts hold and promise, for whoever must answer for them."""

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from deniable.cli.options import add_command
from deniable.errors import DeniableError

if TYPE_CHECKING:
    from deniable.cli.looking.opened import Opened
    from deniable.cli.options import Commands
    from deniable.counts.counts import Counts

# MOST_TABLES is how many counted tables are named.
MOST_TABLES = 12


def add_show(commands: "Commands") -> None:
    """Add `deniable show`."""
    command = add_command(commands, "show", "show what a file holds and promises; compare two plans")
    command.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="a plan, a file or a folder of reports, or counts; of two, the plans in them are compared",
    )
    command.add_argument("--json", action="store_true", help="print a JSON object")
    command.set_defaults(run=_show)


def _show(arguments: argparse.Namespace) -> None:
    from deniable.cli.looking.opened import opened

    if len(arguments.files) > 2:
        raise DeniableError(f"show takes one file, or two to compare their plans; found {len(arguments.files)}")
    files = [opened(path) for path in arguments.files]
    told = _as_json if arguments.json else _as_text
    print(told(*files))


def _as_text(first: "Opened", second: "Opened | None" = None) -> str:
    """One file in words, or the plans of two side by side."""
    from deniable.cli.looking.promises import probability_lines, promise_lines
    from deniable.cli.looking.two_plans import comparison_lines
    from deniable.survey.describe import describe
    from deniable.survey.privacy import heading_of_beliefs
    from deniable.text.tables import coloured

    colour = coloured(sys.stdout)
    if second is not None:
        both = (("First", first), ("Second", second))
        prints = [f"{name}: {one.in_one_line}, fingerprint {one.plan.fingerprint}" for name, one in both]
        return "\n".join([*prints, "", *comparison_lines(first.plan, second.plan, colour=colour)])
    plan = first.plan
    lines = [first.in_one_line, *_counted(first.counts if first.kind == "counts" else None), "",
             describe(plan, colour=colour), ""]  # fmt: skip
    if plan.has_arms:
        lines += ["How answers are randomized:", *probability_lines(plan, colour=colour), ""]
    lines += [f"{heading_of_beliefs(plan)}:", *promise_lines(plan, colour=colour), ""]
    return "\n".join([*lines, "Checked:", *(f"- {check}" for check in first.checks)])


def _counted(counts: "Counts | None") -> list[str]:
    """What was counted, in a line."""
    if counts is None:
        return []
    tables = tables_of(counts)
    more = f" and {len(tables) - MOST_TABLES:,} more" if len(tables) > MOST_TABLES else ""
    return [f"Tables counted: {', '.join(tables[:MOST_TABLES])}{more}."]


def tables_of(counts: "Counts") -> list[str]:
    """The tables that counts hold, of all arms, each once."""
    from deniable.counts.layout import in_print

    every = {2: "every pair", 3: "every triple"}
    found = [in_print(arm.plan, names) for arm in counts.arms for names in arm.tables]
    found += [every[arm.moments.ndim] for arm in counts.arms if arm.moments is not None]
    return list(dict.fromkeys(found))


def _as_json(first: "Opened", second: "Opened | None" = None) -> str:
    """One file, or two and how their plans differ, as JSON."""
    from deniable.cli.looking.two_plans import arms_that_differ, compared, verdict

    document = _file_as_json(first)
    if second is not None:
        document = {
            "files": [document, _file_as_json(second)],
            "same plan": first.plan == second.plan,
            "verdict": verdict(first.plan, second.plan),
            "arms that differ": arms_that_differ(first.plan, second.plan),
            "compared": [one.to_json() for one in compared(first.plan, second.plan)],
        }
    return json.dumps(document, indent=1, ensure_ascii=False)


def _file_as_json(file: "Opened") -> dict[str, Any]:
    from deniable.cli.looking.promises import plan_as_json

    facts: dict[str, Any] = {"file": file.path, "holds": file.kind, "files": file.files, "bytes": file.size}
    if file.counts is not None:
        facts |= {"reports": file.counts.n, "reports of arms": [arm.n for arm in file.counts.arms]}
    if file.counts is not None and file.kind == "counts":
        facts["tables"] = tables_of(file.counts)
    return {**facts, "plan": plan_as_json(file.plan), "checked": list(file.checks)}
