"""What is asked and how each answer is randomized, with its exact privacy budget.

A plan travels with everything made from it. Its JSON holds integers and text only where it carries meaning, and its
fingerprint, the SHA-256 of that meaning, changes with any of it.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from deniable import client
from deniable.errors import PlanError, SchemaError
from deniable.files import replacing
from deniable.survey.protocols import PROTOCOLS
from deniable.survey.protocols.base import Protocol, bound
from deniable.survey.protocols.best import best
from deniable.survey.protocols.grid import Epsilon, positive
from deniable.survey.schema import Feature, Schema, feature_from_json


@dataclass(frozen=True, init=False, repr=False)
class Plan:
    """A schema with one protocol per feature.

    Parameters
    ----------
    schema
        What is asked.
    protocols
        Your protocols, by the names of features. A name may be a group of flags: then each of its flags gets the
        protocol. Features without one share what is left of the budget.
    epsilon
        The privacy budget of one whole report. What your protocols spend comes off it first; the rest is split evenly
        over the questions, and each gets the protocol of least variance.

    Examples
    --------
    >>> schema = dn.Schema([dn.Flag("smoker"), dn.Choice("age", ["18-29", "30-64", "65+"])])
    >>> plan = dn.Plan(schema, epsilon=2.0)
    >>> plan["age"].name, plan.epsilon <= 2.0
    ('GRR', True)
    >>> dn.Plan(schema, {"smoker": dn.RandomizedResponse(p=0.1, q=0.8), "age": dn.GRR(epsilon=1.0)})["smoker"].q
    0.79998779296875
    """

    schema: Schema
    protocols: tuple[Protocol, ...]

    def __init__(
        self,
        schema: Schema,
        protocols: Mapping[str, Protocol] | None = None,
        *,
        epsilon: Epsilon | None = None,
    ) -> None:
        if not isinstance(schema, Schema):
            raise PlanError(f"a plan is made for a Schema; found {schema!r}")
        if not isinstance(protocols, Mapping | None):
            raise PlanError(f"protocols are a mapping from names; found {protocols!r}. For a budget, say epsilon=...")
        given = _expand(schema, protocols or {})
        unassigned = [fs for fs in schema.questions.values() if any(f.name not in given for f in fs)]
        if unassigned:
            given |= _split(unassigned, given, epsilon)
        elif epsilon is not None:
            raise PlanError("every feature has its protocol already; leave epsilon out")
        self.__dict__.update(schema=schema, protocols=tuple(given[name] for name in schema.names))

    @cached_property
    def epsilon(self) -> float:
        """What a respondent who answers everything spends: the exact sum, rounded up in its last digit."""
        return client.log_up(protocol.ratio for protocol in self.protocols)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of what this plan means, in hexadecimal."""
        return client.fingerprint(self._meaning())

    @cached_property
    def public(self) -> tuple[str, ...]:
        """The features that are shown as they are, about which nothing is promised."""
        return tuple(feature.name for feature, protocol in self if not protocol.protects)

    def __getitem__(self, name: str) -> Protocol:
        return self.protocols[self.schema.index(name)]

    def __iter__(self) -> Iterator[tuple[Feature, Protocol]]:
        """Feature and protocol, in order."""
        return iter(zip(self.schema, self.protocols, strict=True))

    def __contains__(self, name: object) -> bool:
        return name in self.schema

    def __str__(self) -> str:
        from deniable.survey.describe import describe

        return describe(self)

    def __repr__(self) -> str:
        return f"<Plan of {len(self.schema)} features, epsilon {self.epsilon:.6g}, {self.fingerprint[:12]}>"

    def _meaning(self) -> dict[str, Any]:
        features = [
            feature.to_json() | {"protocol": {"name": protocol.name, **protocol.integers}} for feature, protocol in self
        ]
        return {"version": client.VERSION, "features": features}

    def to_json(self) -> str:
        """The plan as JSON text: what a device needs, and what `save` writes."""
        document = self._meaning() | {"epsilon": self.epsilon, "fingerprint": self.fingerprint}
        return json.dumps(document, indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> "Plan":
        """Read a plan from JSON, and refuse one that is inconsistent or was changed.

        Parameters
        ----------
        text
            What `to_json` gives, or the content of a file that `save` wrote.

        Returns
        -------
        Plan
            The plan, equal to the one that was written.

        Examples
        --------
        >>> plan = dn.Plan(dn.Schema([dn.Flag("smoker")]), epsilon=1.0)
        >>> dn.Plan.from_json(plan.to_json()) == plan
        True
        """
        document = client.read(text)
        tables = [dict(table) for table in document["features"]]
        protocols = [table.pop("protocol") for table in tables]
        try:
            schema = Schema(feature_from_json(table) for table in tables)
        except SchemaError as error:
            raise PlanError(f"the plan's schema cannot be used: {error}") from None
        given = {
            feature.name: PROTOCOLS[table["name"]].from_integers(
                {key: table[key] for key in table if key != "name"}, feature
            )
            for feature, table in zip(schema, protocols, strict=True)
        }
        return cls(schema, given)

    def save(self, path: str | Path) -> None:
        """Write the plan to a JSON file, whole or not at all."""
        with replacing(path) as temporary:
            temporary.write_text(self.to_json(), encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> "Plan":
        """Read a plan from a JSON file."""
        try:
            return cls.from_json(Path(path).read_bytes())
        except OSError as error:
            raise PlanError(f"{path}: cannot be read: {error.strerror}") from None
        except PlanError as error:
            survey = "; if it is a survey, `deniable plan` makes a plan of it" if Path(path).suffix == ".toml" else ""
            raise PlanError(f"{path}: {error}{survey}") from None


def _expand(schema: Schema, protocols: Mapping[str, Protocol]) -> dict[str, Protocol]:
    """Bound protocols by feature name, groups of flags taken apart."""
    given: dict[str, Protocol] = {}
    for name, protocol in protocols.items():
        for feature in schema.questions.get(name) or (schema[name],):
            if feature.name in given:
                raise PlanError(f"{feature.name!r} is given two protocols, by its own name and by its question's")
            given[feature.name] = bound(protocol, feature)
    return given


def _split(
    questions: list[tuple[Feature, ...]], given: Mapping[str, Protocol], epsilon: Epsilon | None
) -> dict[str, Protocol]:
    """The best protocols for the features without one: each question an equal share of what is left, then each flag."""
    names = [feature.name for features in questions for feature in features if feature.name not in given]
    if epsilon is None:
        raise PlanError(
            f"no protocol for {', '.join(map(repr, names))}; name one for each, or give a total: epsilon, or --epsilon"
        )
    left = positive(epsilon) - Fraction(client.log_up(p.ratio for p in given.values()))
    if left <= 0:
        raise PlanError(f"the protocols given spend all of epsilon {epsilon}; nothing is left for {', '.join(names)}")
    share = left / len(questions)
    chosen: dict[str, Protocol] = {}
    for features in questions:
        without = [feature for feature in features if feature.name not in given]
        for feature in without:
            try:
                chosen[feature.name] = best(feature, share / len(without))
            except PlanError as error:
                raise PlanError(f"feature {feature.name!r}: {error}") from None
    return chosen
