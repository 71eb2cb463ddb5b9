"""A page read into a tree of elements, the surveys pages are made of, and names that no page may choke on."""

from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import combinations, pairwise
from typing import Any

import numpy as np

import deniable as dn

VOID = {"meta", "br", "hr", "img", "link", "input"}
WORDS = """
html head meta title style body a header h1 h2 h3 p dl div dt dd nav ol ul li main section figure details summary span
table caption thead tbody tr th td data code footer svg desc path text
"""
KNOWN = set(WORDS.split())


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    parent: "Element | None" = None
    children: list["Element | str"] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    def all(self, *tags: str) -> list["Element"]:
        """The elements with these tags in this one, in order."""
        own = [child for child in self.children if isinstance(child, Element)]
        return [one for child in own for one in ([child] * (child.tag in tags) + child.all(*tags))]


class Reader(HTMLParser):
    """A tree of elements; what is not closed as it was opened is an error."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.root = self.at = Element("", {})
        self.feed(text)
        self.close()
        assert self.at is self.root, f"<{self.at.tag}> is not closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(set(names)) == len(names), f"an attribute stands twice in <{tag}>"
        element = Element(tag, {name: value or "" for name, value in attrs}, self.at)
        self.at.children.append(element)
        if tag not in VOID:
            self.at = element

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.at.tag == tag, f"</{tag}> closes <{self.at.tag}>"
        assert self.at.parent is not None
        self.at = self.at.parent

    def handle_data(self, data: str) -> None:
        self.at.children.append(data)


def read(text: str) -> Element:
    return Reader(text).root


def survey(n: int, *, epsilon: float = 12.0, seed: int = 1) -> dn.Counts:
    """Choices, flags, a question of several flags and a public one; some go together."""
    rng = np.random.default_rng(seed)
    schema = dn.Schema(
        [
            dn.Choice("age", ["young", "middle", "old"]),
            dn.Flag("smoker"),
            dn.Flag("drinker"),
            dn.Flags("sports", ["chess", "judo"]),
            dn.Choice("arm", ["treated", "control"]),
        ]
    )
    age = rng.choice(3, n, p=[0.3, 0.5, 0.2])
    smoker = rng.random(n) < np.array([0.5, 0.3, 0.1])[age]
    records = {
        "age": np.array(["young", "middle", "old"])[age],
        "smoker": smoker,
        "drinker": rng.random(n) < np.where(smoker, 0.3, 0.6),
        "sports: chess": rng.random(n) < 0.2,
        "sports: judo": rng.random(n) < 0.4,
        "arm": rng.choice(["treated", "control"], n),
    }
    plan = dn.Plan(schema, {"arm": dn.Public()}, epsilon=epsilon)
    return dn.count(dn.randomize(records, plan, rng=rng), order=2)


AGES = ["young", "middle", "old"]
DESIGN = dn.Schema(
    [
        dn.Flag("smoker"),
        dn.Flag("drinker"),
        dn.Choice("age", AGES),
        dn.Choice("income", ["low", "high"]),
        dn.Flags("sports", ["chess", "judo"]),
        dn.Choice("region", ["north", "south"]),
    ]
)
REGION = {"region": dn.Public()}
PAIRS = dn.Schema([dn.Flag(f"flag {k}") for k in range(16)])
DESIGNS = {
    "blocks": dn.Plan(DESIGN, epsilon=8.0, together=[["smoker", "age"], ["drinker", "income"]]),
    "arms": dn.Plan(
        DESIGN,
        REGION,
        epsilon=3.0,
        arms=[["smoker", "age"], ["smoker", "drinker"], [["age", "income"], ["sports"]]],
    ),
    "named arms": dn.Plan(
        DESIGN,
        epsilon=3.0,
        arms={
            "panel": (["smoker", "age"], 0.5),
            "phone": (["drinker", "income"], 0.3),
            "web": (["sports", "region"], 0.2),
        },
        assigned=True,
    ),
    "one question per arm": dn.Plan(DESIGN, epsilon=2.0, arms=[[name] for name in DESIGN.names]),
    "an arm that nobody falls into": dn.Plan(
        DESIGN,
        epsilon=3.0,
        arms={("smoker", "age", "drinker"): 65_535, ("income", "sports", "region"): 1},
    ),
    "120 arms": dn.Plan(PAIRS, epsilon=2.0, arms=[list(pair) for pair in combinations(PAIRS.names, 2)]),
}


def design(plan: dn.Plan, n: int, *, seed: int = 1) -> dn.Reports:
    """Reports by a plan over DESIGN or PAIRS, in which smoking goes with age and drinking."""
    rng = np.random.default_rng(seed)
    age = rng.choice(3, n, p=[0.3, 0.5, 0.2])
    smoker = rng.random(n) < np.array([0.6, 0.3, 0.1])[age]
    records: dict[str, Any] = {
        "smoker": smoker,
        "drinker": rng.random(n) < np.where(smoker, 0.8, 0.3),
        "age": np.array(AGES)[age],
        "income": rng.choice(["low", "high"], n),
        "sports: chess": rng.random(n) < 0.2,
        "sports: judo": rng.random(n) < 0.4,
        "region": rng.choice(["north", "south"], n),
    }
    if plan.schema == PAIRS:
        records = {name: rng.random(n) < np.where(smoker, 0.3 + 0.03 * k, 0.4) for k, name in enumerate(PAIRS.names)}
    if not plan.assigned:
        return dn.randomize(records, plan, rng=rng)
    given = rng.choice(plan.arm_names, n, p=np.array(plan.shares) / sum(plan.shares))
    return dn.randomize({**records, "given": given}, plan, rng=rng, arm="given")


NASTY = [
    "<script>alert(1)</script>",
    "$x^2$ & \"q\" 'q'",
    "</text></svg><img src=x onerror=alert(1)>",
    "{{ 7 * 7 }}{% raw %}",
    "日本語 🎈",
    '#010101 url(#m) id="x" --> ]]>',
    "a\uffffb",
    "very long " * 30 + "end",
    "\u2067turned",
    "שלום",
]


def nasty() -> dn.Counts:
    rng = np.random.default_rng(3)
    features = [dn.Choice(f"{name} ?", NASTY) for name in NASTY[:2]] + [dn.Flag(name) for name in NASTY]
    schema = dn.Schema([*features, dn.Flags("</style> <b>", [name.strip() for name in NASTY[:3]])])
    kind = rng.integers(len(NASTY), size=3_000)
    records: dict[str, Any] = {
        feature.name: np.array(NASTY)[kind] for feature in schema if isinstance(feature, dn.Choice)
    }
    records |= {feature.name: kind < 3 for feature in schema if isinstance(feature, dn.Flag)}
    plan = dn.Plan(schema, {NASTY[0]: dn.Public()}, epsilon=60.0)
    return dn.count(dn.randomize(records, plan, rng=rng), order=2)


def nasty_arms() -> dn.Counts:
    """Questions and arms with nasty names, and a public column with one."""
    rng = np.random.default_rng(4)
    schema = dn.Schema([dn.Flag(name) for name in NASTY])
    arms = {f"{name.strip()} arm": [name, other] for name, other in pairwise(NASTY[1:])}
    plan = dn.Plan(schema, {NASTY[0]: dn.Public()}, epsilon=5.0, arms=arms)
    return dn.count(dn.randomize({name: rng.random(4_000) < 0.4 for name in NASTY}, plan, rng=rng))


def numbers(row: Element) -> list[float]:
    return [float(data.attributes["value"]) for data in row.all("data")]


def figure_of(root: Element, heading: str) -> Element:
    (found,) = [figure for figure in root.all("figure") if figure.all("h3")[0].text == heading]
    return found


def rows_of(figure: Element) -> dict[tuple[str, ...], list[float]]:
    """Words and numbers of each row."""
    found = {}
    for row in figure.all("tbody")[0].all("tr"):
        words = tuple(cell.text for cell in row.all("th", "td") if not cell.all("data"))
        found[words] = numbers(row)
    return found
