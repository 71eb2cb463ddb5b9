"""Who is asked what: what is wanted, or blocks and arms, as a survey file and the options of `deniable plan` say them.

    want = [["smoker", "age"], "region"]    --want smoker,age             tables that the best design is looked for
    weights = [{table = "region", weight = 3}]                            which of them matter more
    goal = "worst", most = 2, spare = 0.05  --goal worst --spare 5%       as `dn.design` has them
    apart = [["income", "illness"]]                                       questions that no person is asked two of
    together = [["smoker", "age"]]          --together smoker,age         questions that are randomized together
    public = ["region"]                     --public region               shown as it is, not protected
    [[arms]]                                --arm "smoker,age+income"     what some of the respondents are asked:
    ask = [["smoker", "age"], ["income"]]                                 blocks, each a list of questions
    name = "panel"                          --every 3                     an arm for every three questions
    share = 0.5
    assigned = true, unequal = true                                       as `Plan` has them
    repeat = "keep", epsilon_1 = 1.0        --repeat keep --epsilon-1 1   answers that are kept, and sent again

In a TOML file the single lines stand above the first `[[features]]`.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Any

from deniable.cli.options import names_of
from deniable.client import SCALE
from deniable.errors import PlanError, SchemaError, abbreviated, meant

if TYPE_CHECKING:
    import argparse

    from deniable.survey.aim import Aim
    from deniable.survey.plan import Plan
    from deniable.survey.schema import Schema

# What a survey file may say beside its features.
KEYS = (
    "want", "weights", "goal", "most", "apart", "spare", "arms", "together", "public", "assigned", "unequal",
    "repeat", "epsilon_1",
)  # fmt: skip
# What it may say besides for those who read it.
NOTES = ("title", "description")
# What one of its arms may say.
ARM_KEYS = ("ask", "name", "share")
# A "+" with an even number of quotes behind it, so not inside a quoted name.
BETWEEN_BLOCKS = re.compile(r'\+(?=(?:[^"]*"[^"]*")*[^"]*$)')


@dataclass(frozen=True)
class Wish:
    """What is wanted, of how many people, and how the best design is looked for; None where nothing is said."""

    want: tuple[Any, ...] = ()
    order: int | None = None
    people: int | None = None
    half_width: float | None = None
    manner: Mapping[str, Any] = field(default_factory=dict)  # other options of `dn.design`

    def plan(self, schema: "Schema", epsilon: float | None, public: Sequence[str]) -> "Plan":
        """The best design."""
        from deniable.survey.design import design

        self._check(epsilon)
        return design(
            schema, epsilon=epsilon, want=list(self.want) or None, order=self.order, n=self.people,
            half_width=self.half_width, public=public, **self.manner,
        )  # fmt: skip

    def _check(self, epsilon: float | None) -> None:
        """Refuse too many or too few of the three numbers of which the third is found."""
        if self.half_width is not None and not 0 < self.half_width < 1:
            raise PlanError(f"--half-width takes a share between 0 and 1, such as 2%; found {self.half_width:g}")
        if epsilon is None and (self.people is None or self.half_width is None):
            raise PlanError("give --epsilon; or, for the least one, both --people and --half-width")
        if epsilon is not None and self.people is not None and self.half_width is not None:
            raise PlanError("of --epsilon, --people and --half-width give two, and the third is found")

    def aim(self, schema: "Schema", plan: "Plan") -> "Aim | None":
        """What a plan is for that somebody said; without a word, all pairs that are asked, or each question."""
        from deniable.survey.aim import Aim, wanted_tables

        if self.want or self.order is not None:
            return Aim(wanted_tables(schema, list(self.want) or None, self.order), self.people)
        if self.people is None:
            return None
        pairs = dict.fromkeys(pair for arm in plan.arms for pair in combinations(arm.schema.names, 2))
        return Aim(tuple(pairs) or tuple((name,) for name in schema.names), self.people)

    def check(self) -> None:
        """Refuse what is said twice, or cannot be."""
        if self.want and self.order is not None:
            raise PlanError("--order wants every table of so many features; leave it out, or what is wanted by name")
        if self.order is not None and self.order < 1:
            raise PlanError(f"--order takes how many features each wanted table has; found {self.order}")
        if self.people is not None and self.people < 1:
            raise PlanError(f"--people takes how many respondents there will be, above 0; found {self.people}")

    @property
    def said(self) -> list[str]:
        """What says how the best design is looked for."""
        return [*(["--half-width"] if self.half_width is not None else []), *self.manner]


@dataclass(frozen=True)
class Design:
    """What is asked together, of whom, and what is public; without any of it the best design is looked for."""

    together: tuple[Sequence[str], ...] = ()
    arms: Any = None  # as `Plan` takes them
    every: int | None = None
    public: tuple[str, ...] = ()
    assigned: bool = False
    unequal: bool = False
    split: bool = False
    wish: Wish = Wish()
    repeat: Any = None  # with `epsilon_1`, as `Plan` takes it
    epsilon_1: Any = None

    @property
    def said(self) -> list[str]:
        """What says who is asked what."""
        named = {
            "--split": self.split, "arms": self.arms is not None or self.every is not None,
            "together": self.together, "assigned": self.assigned, "unequal": self.unequal,
        }  # fmt: skip
        return [name for name, given in named.items() if given]

    def plan(self, schema: "Schema", epsilon: float | None) -> "Plan":
        """The plan of this design, or the best one, with answers kept if that is asked for."""
        from deniable.survey.kept_answers import check_repeat

        keeps = check_repeat(self.repeat, self.epsilon_1, {})
        made = self._made(schema, epsilon)
        return made.keep(self.epsilon_1) if keeps else made

    def _made(self, schema: "Schema", epsilon: float | None) -> "Plan":
        """The plan of this design, or the best one; of one question there is nothing to look for."""
        nothing_to_find = self.wish == Wish() and _is_one_question(schema, self.public)
        if not self.said and not nothing_to_find:
            return self.wish.plan(schema, epsilon, self.public)
        from deniable.survey.plan import Plan
        from deniable.survey.protocols import Public

        arms = self.arms if self.every is None else every_set(schema, self.every, self.public)
        made = Plan(
            schema, {name: Public() for name in self.public}, epsilon=epsilon, together=self.together, arms=arms,
            unequal=self.unequal, assigned=self.assigned,
        )  # fmt: skip
        return made.for_aim(self.wish.aim(schema, made))


def design_of(arguments: "argparse.Namespace") -> Design:
    """The design that a survey file and options describe together; arms are said in one place only."""
    of_file = _of_file(arguments.survey)
    known = _names_there(arguments.survey)
    together = tuple(names_of(text, "--together", known) for text in arguments.together)
    arms = [_blocks_of(text, known) for text in arguments.arm] or None
    split = arguments.split or None
    places = {
        "--split": split, "--arm": arms, "--every": arguments.every, f"the arms in {arguments.survey}": of_file.arms
    }  # fmt: skip
    if len(said := [place for place, given in places.items() if given is not None]) > 1:
        raise PlanError(f"arms are said in one place; found {' and '.join(said)}")
    instead = bool(split or arms or arguments.every is not None or together)
    made = Design(
        (*of_file.together, *together), of_file.arms or arms, arguments.every, (*of_file.public, *arguments.public),
        of_file.assigned, of_file.unequal, arguments.split, _wish(arguments, of_file.wish, instead=instead),
        arguments.repeat or of_file.repeat, of_file.epsilon_1 if arguments.epsilon_1 is None else arguments.epsilon_1,
    )  # fmt: skip
    made.wish.check()
    _check_options(arguments, made)
    _check_one_of_two(made)
    return made


def _wish(arguments: "argparse.Namespace", of_file: Wish, *, instead: bool) -> Wish:
    """What is wanted, by the file and by options; a name by itself is a table of one question.

    Where options say who is asked what instead, the file's manner of looking for a design is left aside.
    """
    known = _names_there(arguments.survey)
    named = [names_of(text, "--want", known) for text in arguments.want]
    want = (*of_file.want, *(names[0] if len(names) == 1 else names for names in named))
    given = {"goal": arguments.goal, "most": arguments.most, "spare": arguments.spare}
    manner = {} if instead else {**of_file.manner}
    manner |= {name: value for name, value in given.items() if value is not None}
    return Wish(want, arguments.order, arguments.people, arguments.half_width, manner)


def _check_options(arguments: "argparse.Namespace", design: Design) -> None:
    """Refuse what cannot be, by the options that it came with."""
    if arguments.spare is not None and not 0 <= arguments.spare < 1:
        raise PlanError(f"--spare takes a share of the people below 100%, such as 10%; found {arguments.spare:.6g}")
    if arguments.most is not None and arguments.most < 1:
        raise PlanError(f"--most takes how many questions one person is asked, 1 or more; found {arguments.most}")
    if arguments.epsilon_1 is not None and design.repeat is None:
        raise PlanError("--epsilon-1 is of one report where answers are kept; say --repeat keep, too")


def _check_one_of_two(design: Design) -> None:
    """Refuse to look for the best design where it is said already who is asked what."""
    if design.said and design.wish.said:
        raise PlanError(
            f"who is asked what is said already ({', '.join(design.said)}), so that there is no design to look for "
            f"({', '.join(design.wish.said)}); leave one of them out"
        )


def _is_one_question(schema: "Schema", public: Sequence[str]) -> bool:
    """Whether at most one feature is protected."""
    shown = {feature.name for name in public for feature in schema.questions.get(name) or (schema[name],)}
    return len(schema) - len(shown) <= 1


def _blocks_of(text: str, known: Collection[str]) -> list[list[str]]:
    """The blocks of an arm as `--arm` has them, with "+" between them."""
    return [names_of(block, "--arm", known) for block in ([text] if text in known else BETWEEN_BLOCKS.split(text))]


def _names_there(survey: str) -> Collection[str]:
    """The names of all features and questions of a survey file; none if it is no survey, which is told of elsewhere."""
    from deniable.survey.schema import Schema

    try:
        schema = Schema.load(survey)
    except SchemaError:
        return ()
    return dict.fromkeys([*schema.names, *schema.questions])


def every_set(schema: "Schema", size: int, public: Sequence[str] = ()) -> list[list[str]]:
    """An arm for every set of so many questions that are not public; a group of flags is one question."""
    shown = {*public}
    questions = [
        name
        for name, features in schema.questions.items()
        if name not in shown and not {f.name for f in features} <= shown
    ]
    if not 1 <= size <= len(questions):
        raise PlanError(f"--every takes how many of the {len(questions)} questions an arm asks; found {size}")
    if (arms := comb(len(questions), size)) > SCALE:
        raise PlanError(
            f"--every {size} of {len(questions)} questions are {arms:,} arms, and a plan has at most {SCALE:,}; ask "
            "fewer together, or name the arms that you want: --arm"
        )
    return [list(names) for names in combinations(questions, size)]


def _of_file(path: str) -> Design:
    """What a survey file says beside its features."""
    document = _document(path)
    try:
        _check_keys(document)
        return Design(
            tuple(_lists(document, "together")), _arms(document), None, tuple(_names(document, "public")),
            _flag(document, "assigned"), _flag(document, "unequal"),
            wish=Wish(tuple(_wanted(document)), manner=_manner(document)),
            repeat=document.get("repeat"), epsilon_1=document.get("epsilon_1"),
        )  # fmt: skip
    except PlanError as error:
        raise PlanError(f"{path}: {error}") from None


def _document(path: str) -> Mapping[str, Any]:
    """The content of a survey file; nothing if it cannot be read, which `Schema.load` says more about."""
    from deniable.survey.questions import survey_file

    try:
        return survey_file.document(path)
    except SchemaError:
        return {}


def _check_keys(document: Mapping[str, Any]) -> None:
    """Refuse an unknown key, and one that TOML has put into the table above it."""
    if {"version", "fingerprint"} <= document.keys():
        raise PlanError("this is a plan already, not a survey; `deniable show` shows what it promises")
    for key in document:
        if key not in ("features", *KEYS, *NOTES):
            instead = meant(key, KEYS) or f"; a survey file has features, {', '.join(KEYS)}"
            raise PlanError(f"unknown key {key!r}{instead}")
    tables = [("features", table) for table in _tables(document, "features")]
    for where, table in [*tables, *(("arms", table) for table in _tables(document, "arms"))]:
        if inside := [key for key in KEYS if key in table]:
            raise PlanError(f"{inside[0]!r} stands inside a table of [[{where}]]; write it above the first table")


def _tables(document: Mapping[str, Any], key: str) -> Iterator[Mapping[str, Any]]:
    found = document.get(key)
    return (table for table in found if isinstance(table, Mapping)) if isinstance(found, list) else iter(())


def _flag(document: Mapping[str, Any], key: str) -> bool:
    if not isinstance(found := document.get(key, False), bool):
        raise PlanError(f"{key} is true or false; found {abbreviated(found)}")
    return found


def _names(document: Mapping[str, Any], key: str) -> list[str]:
    found = document.get(key, [])
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        raise PlanError(f'{key} is a list of names, ["region"]; found {abbreviated(found)}')
    return found


def _lists(document: Mapping[str, Any], key: str) -> list[list[str]]:
    found = document.get(key, [])
    if not isinstance(found, list) or not all(isinstance(names, list) for names in found):
        raise PlanError(f'{key} is a list of lists of names, [["smoker", "age"]]; found {abbreviated(found)}')
    return [_names({key: names}, key) for names in found]


def _wanted(document: Mapping[str, Any]) -> list[Any]:
    found = document.get("want", [])
    if not isinstance(found, list) or ("want" in document and not found):
        raise PlanError(f'want is a list of tables, [["smoker", "age"], "region"]; found {abbreviated(found)}')
    return [one if isinstance(one, str) else _names({"want": one}, "want") for one in found]


def _manner(document: Mapping[str, Any]) -> dict[str, Any]:
    """How the best design is looked for, as `dn.design` takes it and checks it further."""
    found = {name: document[name] for name in ("goal", "most", "spare") if name in document}
    if "apart" in document:
        found["apart"] = _lists(document, "apart")
    if "weights" in document:
        found["weights"] = dict(_weight(one) for one in _list_of_weights(document["weights"]))
    return found


def _list_of_weights(found: Any) -> list[Any]:
    if not isinstance(found, list):
        raise PlanError(f'weights are a list, [{{table = ["smoker", "age"], weight = 3}}]; found {abbreviated(found)}')
    return found


def _weight(found: Any) -> tuple[Any, Any]:
    """A table and how much it matters."""
    if not isinstance(found, Mapping) or found.keys() != {"table", "weight"}:
        raise PlanError(f'a weight is {{table = ["smoker", "age"], weight = 3}}; found {abbreviated(found)}')
    table = found["table"]
    return table if isinstance(table, str) else tuple(_names({"table": table}, "table")), found["weight"]


def _arms(document: Mapping[str, Any]) -> Any:
    """The arms as `Plan` takes them: a mapping from a name, or from what an arm asks, to what it asks and its share."""
    found = document.get("arms")
    if found is None:
        return None
    if not isinstance(found, list) or not found or not all(isinstance(table, Mapping) for table in found):
        raise PlanError(f'arms are tables: [[arms]], ask = ["smoker", "age"]; found {abbreviated(found)}')
    arms: dict[Any, Any] = {}
    shared = any("share" in table for table in found)
    for place, table in enumerate(found, start=1):
        key, value = _arm(table, f"arm {place}", shared=shared)
        if key in arms:
            raise PlanError(f"arm {place} is called, or asks, what an arm above it does; give it a name of its own")
        arms[key] = value
    return arms


def _arm(table: Mapping[str, Any], where: str, *, shared: bool) -> tuple[Any, Any]:
    """One arm of a survey file, as an entry of the mapping that `Plan` takes."""
    if unknown := [key for key in table if key not in ARM_KEYS]:
        raise PlanError(f"{where}: unknown key {unknown[0]!r}; an arm has {', '.join(ARM_KEYS)}")
    if shared != ("share" in table):
        raise PlanError(f"{where} has no share, and others have; give all arms shares, or none")
    asked, share, name = table.get("ask"), table.get("share", 1), table.get("name")
    if not isinstance(asked, list) or not asked:
        raise PlanError(f'{where}: ask is a list of names, ["smoker", "age"], or of lists; found {abbreviated(asked)}')
    if name is None:
        return tuple(tuple(one) if isinstance(one, list) else one for one in asked), share
    if not isinstance(name, str) or not name.strip():
        raise PlanError(f"{where}: its name must be text; found {abbreviated(name)}")
    if isinstance(share, bool) or not isinstance(share, int | float):
        raise PlanError(f"{where}: its share must be a positive number; found {abbreviated(share)}")
    return name, (asked, share)
