"""The command `deniable power`: how probable it is that a survey shows what one looks for."""

import argparse
from collections.abc import Mapping
from shlex import quote
from typing import TYPE_CHECKING, Any

from deniable.cli.options import add_command, people_of, share_of
from deniable.errors import DeniableError, abbreviated

if TYPE_CHECKING:
    from deniable.cli.options import Commands
    from deniable.survey.plan import Plan
    from deniable.survey.schema import Schema


def add_power(commands: "Commands") -> None:
    """Add `deniable power`."""
    command = add_command(commands, "power", "say what a plan can detect, before anybody is asked")
    command.add_argument("plan", metavar="PLAN.json", help="a plan, as `deniable plan` writes it")
    command.add_argument("first", metavar="FEATURE", help="a flag, or an answer to a choice: age=65+")
    command.add_argument("second", metavar="FEATURE", help="another one")
    what = command.add_mutually_exclusive_group()
    what.add_argument("--correlation", type=share_of, metavar="R", help="the correlation to detect")
    what.add_argument(
        "--difference",
        type=share_of,
        metavar="SHARE",
        help="the difference to detect: in the share of the first, between those with and without the second",
    )
    command.add_argument(
        "--people", type=people_of, metavar="N", help="how many respondents (default: those of the plan)"
    )
    command.add_argument(
        "--power", type=share_of, default=0.8, metavar="SHARE", help="the probability of detecting it (default 80%%)"
    )
    command.add_argument(
        "--guess",
        action="append",
        default=[],
        metavar="FEATURE=SHARE",
        help="the assumed share of a flag, or shares of all answers to a choice, separated by commas (default: equal "
        "shares); may be given more than once",
    )
    command.set_defaults(run=_power)


def _power(arguments: argparse.Namespace) -> None:
    from deniable.survey.plan import Plan

    plan = Plan.load(arguments.plan)
    first, second = (indicator_of(plan.schema, text) for text in (arguments.first, arguments.second))
    kind = "correlation" if arguments.difference is None else "difference"
    effect = arguments.correlation if arguments.difference is None else arguments.difference
    n = plan.n if arguments.people is None else arguments.people
    _check(effect, n, arguments.power)
    guess = _guess(plan.schema, arguments.guess)
    of = f"between {arguments.first} and {arguments.second}"
    if kind == "difference":
        of = f"of {arguments.first} between those with and without {arguments.second}"
    said = [] if effect is None or n is None else [_probability(plan, first, second, kind, effect, n, guess)]
    if effect is not None:
        people = plan.needed(first, second, power=arguments.power, guess=guess, **{kind: effect})
        said.append(f"People for a power of {arguments.power:.0%}: {_people(people)}.")
    if n is not None:
        said.append(_smallest(plan, first, second, kind, n, guess, arguments.power))
    if effect is not None:
        said.append(str(plan.interval(first, second, n=n, power=arguments.power, guess=guess, **{kind: effect})))
    what = "" if effect is None else f" of {_in_words(kind, effect)}"
    print(f"To see a {kind}{what} {of}, by a two-sided test at 5 %:", *said, sep="\n")


def _people(number: int) -> str:
    from deniable.survey.planning.hardly_known import EVERYBODY

    return f"{number:,}" if number <= EVERYBODY else f"{number:,}, more than live on earth"


def _check(effect: float | None, n: int | None, power: float) -> None:
    """Refuse numbers that cannot be, by the options that they came with."""
    if not 0.05 < power < 1:
        raise DeniableError(f"--power takes a share above 5% and below 100%, such as 80%; found {power:g}")
    if n is not None and n < 1:
        raise DeniableError(f"--people takes how many respondents there will be, above 0; found {n}")
    if effect is None and n is None:
        raise DeniableError("say what is to be detected, --correlation or --difference; or how many --people are asked")


def _probability(
    plan: "Plan", first: Any, second: Any, kind: str, effect: float, n: int, guess: Mapping[str, Any]
) -> str:
    found = plan.power(first, second, n=n, guess=guess, **{kind: effect})
    return f"Power with {n:,} people: {found:.1%}."


def _smallest(plan: "Plan", first: Any, second: Any, kind: str, n: int, guess: Mapping[str, Any], power: float) -> str:
    """The minimal detectable effect."""
    found = plan.detectable(first, second, n=n, power=power, guess=guess)
    least = found.correlation if kind == "correlation" else found.difference
    with_people = f"with {n:,} {'person' if n == 1 else 'people'} and a power of {power:.0%}"
    if least is None:
        return f"No {kind} can be seen {with_people}."
    return f"Smallest {kind} {with_people}: {_in_words(kind, float(f'{least:.2g}'))}."


def _in_words(kind: str, effect: float) -> str:
    """An effect as people say it: differences of shares in percentage points."""
    return f"{effect:g}" if kind == "correlation" else f"{100 * effect:g} points"


def indicator_of(schema: "Schema", text: str) -> Any:
    """A flag by its name, or an answer to a choice: the name, "=", and the answer."""
    from deniable.survey.schema import Flag

    if text in schema:
        if not isinstance(feature := schema[text], Flag):
            example = quote(f"{text}={feature.answers[0]}")
            raise DeniableError(f"{text} is a choice: say which answer, such as {example}")
        return text
    name, answer = name_and_answer(schema, text)
    return (name, answer) if answer and name in schema else text


def name_and_answer(schema: "Schema", text: str) -> tuple[str, str]:
    """The two sides of FEATURE=ANSWER; the sign may stand in the feature's name and in the answer, too."""
    name, _, answer = text.partition("=")
    while "=" in answer and name not in schema:
        more, _, answer = answer.partition("=")
        name = f"{name}={more}"
    return name, answer


def _guess(schema: "Schema", texts: list[str]) -> dict[str, Any]:
    """The shares that --guess names, by feature."""
    guess: dict[str, Any] = {}
    for text in texts:
        name, _, shares = text.rpartition("=")
        if not name:
            raise DeniableError(f"--guess takes FEATURE=SHARE, such as smoker=20%; found {abbreviated(text)}")
        schema.index(name)
        try:
            found = [share_of(share) for share in shares.split(",")]
        except argparse.ArgumentTypeError as error:
            raise DeniableError(f"--guess {name}: {error}") from None
        guess[name] = found[0] if len(found) == 1 else found
    return guess
