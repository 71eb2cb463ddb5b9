"""Which blocks may be asked at all: how many questions they have, what stands apart, and what stands together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deniable.errors import PlanError, abbreviated, listed
from deniable.survey.aim import Names
from deniable.survey.blocks import TIMES, grouped
from deniable.survey.planning.information import Set
from deniable.survey.schema import Schema

Group = frozenset[int]  # places of questions


@dataclass(frozen=True)
class Rules:
    """Blocks of at most so many questions, without two of a group of `apart`, and with all or none of `together`."""

    most: int | None = None
    apart: tuple[Group, ...] = ()
    together: tuple[Group, ...] = ()  # no two of which share a question

    def allowed(self, block: Set) -> bool:
        """Whether a block is small enough, and apart what must be; then each part of it is, too."""
        own = frozenset(block)
        return (self.most is None or len(own) <= self.most) and all(len(group & own) < 2 for group in self.apart)

    def against(self, block: Set, names: Sequence[str]) -> str:
        """The rule by which a block may not be asked, in words; nothing if it may."""
        if self.most is not None and len(block) > self.most:
            shell = f"in the shell --most {self.most}"
            return f"it has {len(block)} questions, and most={self.most} ({shell}) allows one person {self.most}"
        parted = (group & frozenset(block) for group in self.apart)
        two = next((sorted(own) for own in parted if len(own) > 1), [])
        return f"apart has {listed(names[place] for place in two)}" if two else ""

    def closed(self, block: Set) -> Set:
        """A block with all questions that must be asked together with some of its own."""
        own = frozenset(block)
        return tuple(sorted(own.union(*(group for group in self.together if group & own))))


def rules_for(
    schema: Schema, places: Mapping[str, int], tables: Sequence[Names], *, most: Any, apart: Any, together: Any
) -> Rules:
    """The rules that a user gave, checked: each wanted table must be in a block that may be asked."""
    if most is not None and (isinstance(most, bool) or not isinstance(most, int) or most < 1):
        raise PlanError(f"most is how many questions one person is asked, a whole number; found {abbreviated(most)}")
    joined = _joined(_groups(schema, places, "together", together))
    rules = Rules(most, _groups(schema, places, "apart", apart), joined)
    names = list(places)
    for group in joined:
        if against := rules.against(tuple(sorted(group)), names):
            said = listed(names[place] for place in sorted(group))
            raise PlanError(f"{said} must be asked together, but may not be: {against}; leave one of these rules out")
    for table in tables:
        own = tuple(sorted(places[name] for name in table if name in places))
        if against := rules.against(rules.closed(own), names):
            with_it = f" (with {listed(names[k] for k in more)})" if (more := {*rules.closed(own)} - {*own}) else ""
            raise PlanError(f"{TIMES.join(table)!r}{with_it} is wanted, but may not be asked together: {against}")
    return rules


def _groups(schema: Schema, places: Mapping[str, int], what: str, given: Any) -> tuple[Group, ...]:
    """Lists of questions as sets of places; public columns, which everybody is asked, do not count."""
    if isinstance(given, str) or not isinstance(given, Sequence) or any(isinstance(one, str) for one in given):
        raise PlanError(f'{what} is a list of lists of names, [["income", "illness"]]; found {abbreviated(given)}')
    return tuple(frozenset(places[name] for name in grouped(schema, names) if name in places) for names in given)


def _joined(groups: Sequence[Group]) -> tuple[Group, ...]:
    """Groups that share a question are one."""
    found: list[Group] = []
    for group in groups:
        met = [one for one in found if one & group]
        found = [one for one in found if not one & group] + [group.union(*met)]
    return tuple(found)
