"""The commands `deniable serve` and `deniable collect`: reports come in over HTTP, or from files of another pipe."""

import argparse
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from deniable.cli.options import add_command, add_force, check_new, public_in_link
from deniable.errors import DeniableError
from deniable.text.fixed_phrases import how_many

if TYPE_CHECKING:
    from deniable.cli.options import Commands
    from deniable.collect.collector import Collector
    from deniable.survey.plan import Plan

MOST = 8  # The largest epsilon that a client takes unless it is told that more was agreed to.


@contextmanager
def _extra() -> Iterator[None]:
    """Say how to install what collecting needs, where it is not there."""
    try:
        yield
    except ImportError as error:
        raise DeniableError(f"collecting needs {error.name}; install it with: pip install 'deniable[serve]'") from None


def add_serve(commands: "Commands") -> None:
    """Add `deniable serve`."""
    command = add_command(commands, "serve", "collect reports over HTTP, and show the results so far")
    command.add_argument(
        "plans",
        nargs="+",
        metavar="PLAN.json",
        help="the current plan, and then others of which reports are still taken",
    )
    command.add_argument(
        "--store", required=True, metavar="STORE", help="a file, which is made if need be, or postgresql://..."
    )
    command.add_argument("--host", default="127.0.0.1", help="the address to listen at (default 127.0.0.1)")
    command.add_argument("--port", type=int, default=8000, help="the port; 0 is any that is free (default 8000)")
    command.add_argument(
        "--invited", action="store_true", help="take a report only with an invitation that was not used before"
    )
    command.add_argument(
        "--origin",
        action="append",
        default=[],
        metavar="URL",
        help="let pages of this origin send reports, too; may be given more than once",
    )
    command.add_argument("--most-waiting", type=int, default=20_000, help="reports that wait at most (default 20000)")
    command.add_argument("--most-requests", type=int, default=512, help="requests under way at most (default 512)")
    command.add_argument("--new-token", metavar="NAME", help="make one more analyst's token and print it")
    command.set_defaults(run=_serve, stopped="stopped before anything was served")


def _serve(arguments: argparse.Namespace) -> None:
    with _extra():
        from deniable.collect.access import name_fault
        from deniable.collect.collector import Collector, Limits
        from deniable.collect.serve import listen, opener, serve, server_for
        from deniable.collect.signatures import signature_beside
    from deniable.survey.plan import Plan

    for option, least, most in (("most_waiting", 1, 10**9), ("most_requests", 1, 10**9), ("port", 0, 65_535)):
        if not least <= (given := getattr(arguments, option)) <= most:
            raise DeniableError(f"--{option.replace('_', '-')} must be {least} to {most}; found {given}")
    if arguments.new_token is not None and (fault := name_fault(arguments.new_token)):
        raise DeniableError(f"--new-token: {fault}")
    plans = {path: Plan.load(path) for path in arguments.plans}
    signed = {plan.fingerprint: signature_beside(path, plan.fingerprint) for path, plan in plans.items()}
    _say_what_is_above_the_ceiling(plans)
    listening = listen(arguments.host, arguments.port)
    limits = Limits(waiting=arguments.most_waiting, requests=arguments.most_requests)
    collector = Collector(
        opener(arguments.store),
        [plan.to_json() for plan in plans.values()],
        invited=arguments.invited,
        limits=limits,
        signatures={fingerprint: found.to_json() for fingerprint, found in signed.items() if found},
    )
    try:
        server = server_for(collector, origins=arguments.origin)
        _show_token(collector, arguments.new_token)
        address = listening.getsockname()
        url = f"http://{f'[{address[0]}]' if ':' in address[0] else address[0]}:{address[1]}"
        print(f"Collecting at {url}; results at {url}/page with the token. Ctrl-C stops.", file=sys.stderr, flush=True)
        _say_that_waves_stand_apart([path for path, plan in plans.items() if plan.kept])
        serve(server, listening)
    finally:
        collector.stop()
    print("Stopped. All reports that were acknowledged are stored.", file=sys.stderr)


def _show_token(collector: "Collector", name: str | None) -> None:
    """Print the analyst's first token, or a new one of this name; each is shown this once."""
    token = collector.first_token() if name is None else collector.make_token(name)
    if name is not None and token is None:
        raise DeniableError(f"--new-token: there is a token named {name!r} already")
    if token is not None:
        print(f"The analyst's token, shown this once: {token}", flush=True)


def _say_what_is_above_the_ceiling(plans: Mapping[str, "Plan"]) -> None:
    """Say of plans by their paths which ones the survey page refuses unless its link allows them."""
    for path, plan in plans.items():
        if (epsilon := plan.epsilon) > MOST:
            text = f"{path} has epsilon {epsilon:.4g}: the survey page asks nothing above {MOST}, unless its link says"
            print(
                f"{text} that more was agreed to, as in #epsilon={math.ceil(epsilon)}{public_in_link(plan)}",
                file=sys.stderr,
            )


def _say_that_waves_stand_apart(kept: Sequence[str]) -> None:
    """Say of plans that keep answers that one store is for one wave: a report does not say which wave it is of."""
    if kept:
        text = f"{', '.join(kept)} keeps answers: counts take each report of a store as another person's. Give each"
        print(f"{text} wave of the same people a --store of its own, and estimate over all counts.", file=sys.stderr)


def add_collect(commands: "Commands") -> None:
    """Add `deniable collect`."""
    command = add_command(commands, "collect", "take reports from NDJSON, CSV or Parquet of another pipe")
    command.add_argument("plan", metavar="PLAN.json", help="the plan that the reports were made by")
    command.add_argument(
        "inputs",
        nargs="+",
        metavar="IN",
        help="files with a column `report`, in base64 or hexadecimal digits, and perhaps a column `id`; "
        "- is NDJSON from standard input",
    )
    command.add_argument(
        "-o", "--output", required=True, metavar="FOLDER", help="where to write one Parquet file for each input"
    )
    add_force(command)
    command.set_defaults(run=_collect)


def _collect(arguments: argparse.Namespace) -> None:
    with _extra():
        from deniable.collect.pipes import collect, outputs
    from deniable.survey.plan import Plan

    plan = Plan.load(arguments.plan)
    folder = Path(arguments.output)
    for path in chain.from_iterable(outputs(arguments.inputs, folder)):
        check_new(str(path), force=arguments.force, why="of an earlier run")
    used = refused = 0
    for found in collect(arguments.inputs, plan, folder):
        used += found.reports + found.same
        refused += found.refused
        again = f", {found.same:,} sent again" if found.same else ""
        aside = f", {found.refused:,} refused: see {found.refused_path}" if found.refused else ""
        print(f"Wrote {found.path} ({how_many(found.reports, 'report')}{again}{aside}).", file=sys.stderr)
    if refused and not used:
        raise DeniableError(
            f"{how_many(refused, 'row')} refused, and no report taken; look at the reasons, and whether these reports "
            "were made by this plan"
        )
