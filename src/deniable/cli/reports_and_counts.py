"""The commands `deniable randomize`, `count` and `sql`: answers become reports, and reports become counts."""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from deniable.cli.options import REPORTS, add_command, add_force, add_reading, check_new, delimiter_of, names_of
from deniable.cli.printing import say_wrote
from deniable.errors import DeniableError
from deniable.files import check_ending, check_target

if TYPE_CHECKING:
    from deniable.cli.options import Commands
    from deniable.counts.counts import Counts
    from deniable.survey.plan import Plan

# CONNECT_SECONDS is how long a cluster is waited for.
CONNECT_SECONDS = 30
# MOST_SAID is how many letters are told of what an engine says.
MOST_SAID = 200
# MOST_ARMS is how many arms `deniable count` tells the sizes of.
MOST_ARMS = 24
# REDRAWN is why reports are not written over without being told.
REDRAWN = "reports of the same answers, drawn again, cost epsilon again"
# LONG_NAME is how many columns of a terminal the name of an arm takes at most.
LONG_NAME = 60


def add_randomize(commands: "Commands") -> None:
    """Add `deniable randomize`."""
    command = add_command(commands, "randomize", "randomize the answers in CSV or Parquet files")
    command.add_argument("plan", metavar="PLAN.json", help="the plan, as `deniable plan` writes it")
    command.add_argument(
        "answers",
        nargs="+",
        metavar="ANSWERS",
        help="CSV or Parquet files with a column for each feature, or folders or globs of them",
    )
    command.add_argument(
        "-o", "--output", metavar="REPORTS.parquet", required=True, help="where to write the reports, in one file"
    )
    command.add_argument(
        "--arm-column",
        metavar="COLUMN",
        help="the column that names each respondent's arm, where they were asked it already (default: arms are drawn)",
    )
    add_reading(command)
    command.add_argument(
        "--keep-going", action="store_true", help="leave out records whose answers cannot be read, and say how many"
    )
    add_force(command)
    command.set_defaults(run=_randomize)


def _randomize(arguments: argparse.Namespace) -> None:
    from deniable.reports.randomize import randomize
    from deniable.survey.plan import Plan

    plan = Plan.load(arguments.plan)
    check_target(arguments.output, arguments.plan, *arguments.answers)
    check_new(arguments.output, force=arguments.force, why=REDRAWN)
    form = {"delimiter": delimiter_of(arguments.delimiter), "encoding": arguments.encoding}
    written = randomize(
        arguments.answers, plan, output=arguments.output, arm=arguments.arm_column, na=arguments.na,
        keep_going=arguments.keep_going, **form,
    )  # fmt: skip
    _say_unused(arguments.answers, plan, arguments.arm_column, form)
    if not written:
        print("deniable: warning: there are no records in these files", file=sys.stderr)
    say_wrote(arguments.output, written)


def _say_unused(answers: Sequence[str], plan: "Plan", arm: str | None, form: Mapping[str, Any]) -> None:
    """Tell on stderr which columns of files of answers no question is about."""
    from deniable.errors import listed
    from deniable.reports.answer_files import found_files
    from deniable.reports.randomize import wanted_columns
    from deniable.reports.reading.csv_files import CsvForm

    files = found_files(answers, lambda there: wanted_columns(plan, arm, there), CsvForm(**form))
    if unused := dict.fromkeys(name for file in files for name in file.unused):
        print(f"Columns that no question of the plan is about, not used: {listed(unused)}.", file=sys.stderr)
    for form_found in dict.fromkeys(str(file.form) for file in files if file.form is not None):
        if form_found:
            print(f"Read with {form_found}.", file=sys.stderr)


def add_count(commands: "Commands") -> None:
    """Add `deniable count`."""
    command = add_command(commands, "count", "count reports, for every pair of features or chosen tables")
    command.add_argument("reports", nargs="+", metavar="REPORTS", help=REPORTS)
    what = command.add_mutually_exclusive_group()
    what.add_argument(
        "--order",
        type=int,
        help="count every feature (1), every pair (2), every triple (3), ... that one person is asked "
        "(default: all that each arm asks; without arms, every pair)",
    )
    what.add_argument(
        "--table",
        action="append",
        metavar="A,B,C",
        help="count one table of these features; may be given more than once; "
        "a name with a comma in it goes in double quotes",
    )
    command.add_argument(
        "-o", "--output", metavar="COUNTS.npz", required=True, help="where to write the counts (over older ones)"
    )
    command.add_argument("--plan", metavar="PLAN.json", help="the plan, for files that do not hold one")
    command.add_argument("--engine", choices=("dask", "spark"), help="let a cluster count files that it can read")
    command.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="where the cluster is: Dask's tcp://host:8786; Spark's spark://host:7077, or local[*] for this machine",
    )
    command.set_defaults(run=partial(_count, refuse=command.error))


def _count(arguments: argparse.Namespace, refuse: Callable[[str], Any]) -> None:
    from deniable.counts.count import count
    from deniable.counts.sources import find_files, plan_and_total
    from deniable.survey.plan import Plan

    if (arguments.engine is None) != (arguments.scheduler is None):
        refuse("a cluster is named by --engine dask (or spark) and --scheduler ADDRESS; give both")
    files = find_files(arguments.reports)
    check_target(arguments.output, *files)
    check_ending(arguments.output, ".npz", "counts are written to a NumPy file")
    plan = None if arguments.plan is None else Plan.load(arguments.plan)
    known = (plan or plan_and_total(files[:1])[0]).schema.names if arguments.table else ()
    tables = [names_of(table, "--table", known) for table in arguments.table or []]
    with _engine(arguments.engine, arguments.scheduler) as engine:
        counts = count(files, tables or None, order=arguments.order, plan=plan, engine=engine)
    counts.save(arguments.output)
    say_wrote(arguments.output, counts.n)
    if counts.plan.has_arms:
        _say_sizes(counts)


@contextmanager
def _engine(name: str | None, scheduler: str | None) -> Iterator[Any]:
    """The engine that options ask for, if they do: a client or a session that ends with the command."""
    if name is None:
        yield None
        return
    try:
        engine = _connected(name, str(scheduler))
    except ImportError as error:
        raise DeniableError(f"--engine {name} needs a package ({error}): pip install 'deniable[{name}]'") from None
    with engine:
        yield engine


def _connected(name: str, scheduler: str) -> Any:
    """A client or a session of a cluster; what is told where there is none names the address."""
    connect: Callable[[], Any]
    if name == "dask":
        from distributed import Client

        connect = partial(Client, scheduler, timeout=CONNECT_SECONDS)
    else:
        from pyspark.sql import SparkSession

        connect = SparkSession.builder.master(scheduler).appName("deniable").getOrCreate
    try:
        return connect()
    except Exception as error:  # each engine, and each of its ways to connect, has errors of its own
        said = next(iter(str(error).splitlines()), "") or type(error).__name__
        address = {"dask": "tcp://host:8786", "spark": "spark://host:7077 or 'local[*]'"}[name]
        raise DeniableError(
            f"--scheduler {scheduler}: no scheduler of {name.capitalize()} answers there, whose address is like "
            f"{address} ({said[:MOST_SAID]})"
        ) from None


def _say_sizes(counts: "Counts") -> None:
    """Tell on stderr how many reports each arm has, against its share, and whether chance explains that."""
    from deniable.client import SCALE
    from deniable.estimates.designs.groups import arm_sizes
    from deniable.text.tables import aligned, coloured
    from deniable.text.width import shortened

    parts = list(zip(counts.plan.arm_names, counts.arms, counts.plan.shares, strict=True))
    rows = [
        (
            shortened(name, LONG_NAME),
            f"{arm.n:,}",
            f"{arm.n / counts.n:.2%}" if counts.n else "",
            f"{share / SCALE:.2%}",
        )
        for name, arm, share in parts[:MOST_ARMS]
    ]
    head = ("arm", "reports", "of all", "share")
    lines = aligned(head, rows, numbers=(1, 2, 3), rule=True, colour=coloured(sys.stderr))
    if len(parts) > MOST_ARMS:
        lines.append(f"... and {len(parts) - MOST_ARMS:,} more arms")
    print(*lines, f"Sizes against shares: {arm_sizes(counts)}.", sep="\n", file=sys.stderr)


def add_sql(commands: "Commands") -> None:
    """Add `deniable sql`."""
    command = add_command(commands, "sql", "print the query that counts reports inside a database")
    command.add_argument("plan", metavar="PLAN.json", help="the plan of the reports")
    command.add_argument("features", nargs="*", metavar="FEATURE", help="the features of the table to count")
    command.add_argument("--order", type=int, help="instead of features: every pair (2), every triple (3), ...")
    command.add_argument("--table", default="reports", help="what to select from (default reports)")
    command.add_argument("--dialect", default="duckdb", metavar="NAME", help="duckdb (default), postgres or spark")
    command.add_argument(
        "--packed", metavar="COLUMN", help="the column of bytes that holds whole reports, if they are stored as sent"
    )
    command.set_defaults(run=partial(_sql, refuse=command.error), stopped="stopped")


def _sql(arguments: argparse.Namespace, refuse: Callable[[str], Any]) -> None:
    from deniable.counts.warehouse.query import sql
    from deniable.survey.plan import Plan

    if bool(arguments.features) == (arguments.order is not None):
        refuse("give the features of a table, or --order 2 for every pair; one of these")
    plan = Plan.load(arguments.plan)
    print(
        sql(
            plan, arguments.features or None, order=arguments.order, table=arguments.table, dialect=arguments.dialect,
            packed=arguments.packed,
        )
    )  # fmt: skip
