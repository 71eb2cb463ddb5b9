"""The planner: who should be asked what, so that the wanted tables are known best at a given epsilon."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import combinations
from math import ceil, floor, log, log10, prod, sqrt
from typing import Any

import numpy as np

from deniable.client import MAX_VALUES
from deniable.errors import PlanError, abbreviated, listed
from deniable.survey.aim import GOALS, Aim, Manner, Names, tables_named, unwanted, wanted_tables
from deniable.survey.blocks import TIMES, grouped
from deniable.survey.half_widths import TWO_SIDED, HalfWidths
from deniable.survey.plan import Plan
from deniable.survey.planning.blocks_in_use import best_design
from deniable.survey.planning.information import Set, Wanted
from deniable.survey.planning.rules import Rules, rules_for
from deniable.survey.planning.shares import Shares, mixed
from deniable.survey.protocols.grid import Epsilon, positive
from deniable.survey.protocols.public import Public
from deniable.survey.schema import Schema
from deniable.text.progress import told

# Between these the least epsilon for a half-width is looked for.
LEAST_EPSILON, MOST_EPSILON = 0.01, 20.0
# The first design that the least epsilon is looked for with has this one.
FIRST_EPSILON = 1.0
# The least epsilon is found when two designs agree on it to this part.
SAME_EPSILON = 5e-4
# At most so many designs are made for it; three to five do.
MOST_DESIGNS = 12
# Where some question is in no wanted table, this share of the people is asked for every pair, unless `spare` says more.
SPARE_FOR_UNWANTED = 0.1
# No wanted table matters this many times more than another, or designs for both would not mean anything.
MOST_WEIGHT = 1e6


def design(
    schema: Schema,
    *,
    epsilon: Epsilon | None = None,
    want: Sequence[str | Sequence[str]] | None = None,
    order: int | None = None,
    n: int | None = None,
    half_width: float | None = None,
    goal: str | None = None,
    weights: Mapping[Any, float] | None = None,
    most: int | None = None,
    public: Sequence[str] = (),
    apart: Sequence[Sequence[str]] = (),
    together: Sequence[Sequence[str]] = (),
    spare: float | None = None,
) -> Plan:
    """Plan who should be asked what: arms and their shares that estimate the wanted tables best at uniform truth.

    Parameters
    ----------
    schema
        What is asked.
    epsilon
        The privacy budget of one whole report. Without it, the least is found that gives `half_width` with n people.
    want
        A list of the tables that are wanted: a name, or several names, each. The name of a multi-select question in a
        table stands for a table with each of its flags; name several flags for one table of them all.
    order
        Instead of `want`: how many questions each wanted table has, of which every one is wanted; 2 by default.
    n
        How many respondents are expected. With epsilon and `half_width` the least number is found, in `plan.n`.
    half_width
        The half-width of 95 % intervals, as a share, root mean square over the cells of each wanted table.
    goal
        "mean" for the least mean variance of all wanted tables, "worst" for the least largest. By default the mean,
        and the worst where `half_width` is given, which all tables are to reach.
    weights
        How much more some tables matter than others, which have the weight 1: `{("smoker", "age"): 3}`.
    most
        How many questions one person is asked at most.
    public
        Columns that are shown as they are, in every arm.
    apart
        Lists of questions of which no person is asked two.
    together
        Lists of questions of which every person is asked all or none, in one block.
    spare
        The share of the respondents who are asked for every pair of questions alike, for what nobody thought of. None
        by default, but a tenth if the schema has questions that no wanted table has; 0 refuses such questions.

    Returns
    -------
    Plan
        A plan with arms, with what it was made for in `plan.want` and `plan.n`.

    Examples
    --------
    >>> schema = dn.Schema([dn.Flag("smoker"), dn.Choice("age", ["18-29", "30-64", "65+"]), dn.Flag("drinker")])
    >>> plan = dn.design(schema, epsilon=2.0, want=[("smoker", "age"), "drinker"], n=10_000)
    >>> sorted(plan.arm_names)
    ['drinker', 'smoker x age']
    """
    people, width = _checked_people(n), _checked_width(half_width)
    aimed = ("mean" if width is None else "worst") if goal is None else goal
    rules = partial(rules_for, most=most, apart=apart, together=together)
    asked = _Asked.of(schema, want, order, aimed, weights, public, rules, _checked_spare(spare))
    if epsilon is None:
        if people is None or width is None:
            raise PlanError("design takes epsilon; or, for the least one, both n and half_width")
        epsilon, found = asked.least_epsilon(people, width)
    elif people is not None and width is not None:
        raise PlanError("of epsilon, n and half_width at least one is found; leave out the one that you look for")
    else:
        found = asked.found(epsilon)
    plan = asked.plan(found, epsilon, people)
    return plan if people is not None or width is None else _with_least_people(plan, width)


def _with_least_people(plan: Plan, width: float) -> Plan:
    """The plan for the least number of respondents with which all its wanted tables have this half-width."""
    assert plan.aim is not None
    widths = HalfWidths(plan)
    people = max(ceil((widths(table, 1) / width) ** 2) for table in plan.aim.want)
    return plan.for_aim(replace(plan.aim, n=people))


@dataclass(frozen=True, eq=False)
class _Asked:
    """What a design is asked for, checked."""

    schema: Schema
    tables: tuple[Names, ...]  # with public columns
    strata: Mapping[Names, "_Stratified"]  # of each of them
    wanted: Wanted  # of the questions that are protected, by their places in `names`
    names: Names
    public: Names
    rules: Rules
    manner: Manner

    @classmethod
    def of(
        cls, schema: Any, want: Any, order: Any, goal: Any, weights: Any, public: Any, rules: Any, spare: float | None
    ) -> "_Asked":
        """Check what is asked for."""
        if not isinstance(schema, Schema):
            raise PlanError(f"a design is made for a Schema; found {abbreviated(schema)}")
        if goal not in GOALS:
            raise PlanError(f'goal is "mean" or "worst"; found {abbreviated(goal)}')
        shown = _public(schema, public)
        tables = wanted_tables(schema, want, order)
        names = tuple(name for name in schema.names if name not in shown)
        spared = _spared(names, tables, spare)
        places = {name: place for place, name in enumerate(names)}
        strata = {table: _Stratified.of(schema, places, table) for table in tables}
        by_table = _weights(schema, tables, weights)
        wanted = _wanted(schema, names, strata, by_table, worst=goal == "worst")
        checked: Rules = rules(schema, places, tables)
        _check_sizes(wanted, strata, checked)
        unlike = tuple((table, weight) for table, weight in by_table.items() if weight != 1)
        apart, together = (
            tuple(tuple(names[k] for k in sorted(one)) for one in of) for of in (checked.apart, checked.together)
        )
        manner = Manner(goal, unlike, checked.most, apart, together, spared)
        return cls(schema, tables, strata, wanted, names, shown, checked, manner)

    def found(self, epsilon: Epsilon) -> Shares:
        """The best blocks and shares at an epsilon; a part of them for every pair, if that is spared."""
        how = partial(best_design, epsilon=positive(epsilon), allowed=self.rules.allowed, closed=self.rules.closed)
        best, spare = how(self.wanted, worst=self.manner.goal == "worst"), self.manner.spare
        return mixed(best, how(self._pairs(), worst=False), spare) if spare else best

    def _pairs(self) -> Wanted:
        """Every pair of questions that one person may be asked; of one that may be in none, that question."""
        questions = range(len(self.names))
        pairs = [pair for pair in combinations(questions, 2) if self.rules.allowed(self.rules.closed(pair))]
        alone = [(place,) for place in questions if not any(place in pair for pair in pairs)]
        tables = (*pairs, *alone)
        return replace(self.wanted, tables=tables, weights=np.ones(len(tables)), constants=0.0)

    def half_width(self, found: Shares) -> float:
        """The largest half-width of a wanted table, for one respondent, about the population."""
        variances = dict(zip(self.wanted.tables, found.candidates.variances(found.shares).tolist(), strict=True))
        return TWO_SIDED * sqrt(max(one.variance(variances.get(one.own, 0.0)) for one in self.strata.values()))

    def least_epsilon(self, n: int, width: float) -> tuple[Fraction, Shares]:
        """The least epsilon, to three digits, at which all wanted tables have this half-width with n respondents."""
        limit = width * sqrt(n)
        *_, (epsilon, found) = told(
            self._narrowing(limit), lambda step: f"looking for the least epsilon; it is at most {step[0]:.3g}"
        )
        if not self._enough(found, epsilon, limit):
            raise PlanError(
                f"not even epsilon {MOST_EPSILON:g} gives a half-width of {width:.4g} with {n:,} people; ask more, or "
                "want less"
            )
        digit = Fraction(10) ** (floor(log10(epsilon)) - 2)
        rounded = ceil(Fraction(epsilon) / digit) * digit
        return rounded, replace(found, candidates=replace(found.candidates, epsilon=rounded))

    def _narrowing(self, limit: float) -> Iterator[tuple[float, Shares]]:
        """Designs, each at the least epsilon that does for the blocks and shares of the one before; and that epsilon.

        Blocks and shares that are best at one epsilon are nearly the best at another, so that few designs are made.
        """
        epsilon = FIRST_EPSILON
        for _ in range(MOST_DESIGNS):
            found = self.found(epsilon)
            before, epsilon = epsilon, self._least_for(found, limit)
            yield epsilon, found
            if abs(log(epsilon / before)) < SAME_EPSILON:
                return

    def _least_for(self, found: Shares, limit: float) -> float:
        """The least epsilon at which these blocks and shares have a half-width; the most there is, if none does."""
        low, high = LEAST_EPSILON, MOST_EPSILON
        while high / low > 1 + SAME_EPSILON / 10:
            middle = sqrt(low * high)
            low, high = (low, middle) if self._enough(found, middle, limit) else (middle, high)
        return high

    def _enough(self, found: Shares, epsilon: float, limit: float) -> bool:
        """Whether these blocks and shares, with this epsilon, have a half-width for one respondent."""
        return self.half_width(replace(found, candidates=replace(found.candidates, epsilon=epsilon))) <= limit

    def plan(self, found: Shares, epsilon: Epsilon, n: int | None) -> Plan:
        """The plan of these blocks and shares."""
        blocks = zip(found.candidates.blocks, found.shares.tolist(), strict=True)
        arms = {tuple(self.names[place] for place in block): share for block, share in blocks}
        protocols = {name: Public() for name in self.public}
        return Plan(self.schema, protocols, epsilon=epsilon, arms=arms).for_aim(Aim(self.tables, n, self.manner))


@dataclass(frozen=True)
class _Stratified:
    """A wanted table: its protected questions with their cells, in so many strata of public columns."""

    own: Set
    cells: int
    strata: int

    @classmethod
    def of(cls, schema: Schema, places: Mapping[str, int], table: Names) -> "_Stratified":
        own = tuple(sorted(places[name] for name in table if name in places))
        cells = prod(schema[name].levels for name in table if name in places)
        return cls(own, cells, prod(schema[name].levels for name in table if name not in places))

    def variance(self, protected: float) -> float:
        """The mean cell variance of the whole table for one respondent, given that of the protected questions'.

        A contrast of protected questions is known as well within strata as over all, and each of the others, of the
        strata alone, has the variance 1.
        """
        return protected / self.strata + (self.strata - 1) / (self.strata * self.cells) ** 2


def _wanted(
    schema: Schema, names: Names, strata: Mapping[Names, _Stratified], weights: Mapping[Names, float], *, worst: bool
) -> Wanted:
    """The wanted tables of the questions that are protected: public columns are known, and divide their variance.

    What the strata themselves add to it changes which table is the worst, but not which shares have the least mean.
    """
    protected = [(strata[table], weight) for table, weight in weights.items() if strata[table].own]
    if not protected:
        raise PlanError("nothing that is wanted is protected: public columns are known as they are")
    features = [schema[name] for name in names]
    flags = frozenset(place for place, feature in enumerate(features) if len(feature.columns) == 1)
    levels = tuple(feature.levels for feature in features)
    tables, numbers = tuple(one.own for one, _ in protected), [weight / one.strata for one, weight in protected]
    constants = np.array([weight * one.variance(0.0) for one, weight in protected]) if worst else 0.0
    return Wanted(levels, flags, tables, np.array(numbers), constants)


def _spared(names: Names, tables: Sequence[Names], spare: float | None) -> float:
    """The share of the people who are asked for every pair: questions that nothing wants are asked of nobody else."""
    unused = unwanted(names, tables)
    if unused and spare == 0:
        them = "them" if len(unused) > 1 else "it"
        raise PlanError(
            f"no wanted table has {listed(unused)}; add {them} to want, leave {them} out of the schema (in the shell "
            "--only-wanted), or keep a share of the people for all pairs alike (spare=0.1; in the shell --spare 10%)"
        )
    return spare if spare is not None else SPARE_FOR_UNWANTED if unused else 0.0


def _check_sizes(wanted: Wanted, strata: Mapping[Names, _Stratified], rules: Rules) -> None:
    """Refuse a wanted table with more combinations of answers than can be asked together."""
    for table, one in strata.items():
        if (cells := wanted.cells(rules.closed(one.own))) > MAX_VALUES:
            joined = " with all that must be asked together with it" if rules.closed(one.own) != one.own else ""
            raise PlanError(
                f"{TIMES.join(table)!r}{joined} has {cells:,} combinations of answers, and at most {MAX_VALUES:,} can "
                "be asked together; join answers, make a question public, or name the tables that you want without it "
                "(want)"
            )


def _weights(schema: Schema, tables: Sequence[Names], weights: Any) -> dict[Names, float]:
    """How much each wanted table matters."""
    by_table = dict.fromkeys(tables, 1.0)
    if not isinstance(weights, Mapping | None):
        raise PlanError(f"weights are a mapping from tables to numbers; found {abbreviated(weights)}")
    for key, weight in (weights or {}).items():
        named = tables_named(schema, key)
        if any(table not in by_table for table in named):
            raise PlanError(f"weights are of wanted tables; found {abbreviated(key)}")
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight < float("inf"):
            raise PlanError(f"the weight of {key!r} must be a positive number; found {abbreviated(weight)}")
        if not 1 / MOST_WEIGHT <= weight <= MOST_WEIGHT:
            raise PlanError(f"the weight of {key!r} must be between 1e-6 and 1e6; found {abbreviated(weight)}")
        by_table |= dict.fromkeys(named, float(weight))
    return by_table


def _public(schema: Schema, public: Any) -> Names:
    """The names of public columns, checked."""
    if isinstance(public, str) or not isinstance(public, Sequence):
        raise PlanError(f'public is a list of names, ["region"]; found {abbreviated(public)}')
    if repeated := [name for name in public if list(public).count(name) > 1]:
        raise PlanError(f"public names each column once; found {abbreviated(repeated[0])} twice")
    return grouped(schema, tuple(public)) if public else ()


def _checked_people(n: Any) -> int | None:
    if n is not None and (isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1):
        raise PlanError(f"n is how many respondents are expected, a whole number above 0; found {abbreviated(n)}")
    return None if n is None else int(n)


def _checked_width(width: Any) -> float | None:
    if width is not None and (isinstance(width, bool) or not isinstance(width, int | float) or not 0 < width < 1):
        raise PlanError(f"half_width is a share between 0 and 1, such as 0.02; found {abbreviated(width)}")
    return None if width is None else float(width)


def _checked_spare(spare: Any) -> float | None:
    if spare is None:
        return None
    if isinstance(spare, bool) or not isinstance(spare, int | float) or not 0 <= spare < 1:
        raise PlanError(f"spare is a share of the respondents below 1, such as 0.05; found {abbreviated(spare)}")
    return float(spare)
