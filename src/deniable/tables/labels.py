"""Tables with what people read as questions and answers: their labels, where a survey has them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from deniable.survey.describe import distinct_titles
from deniable.survey.schema import Feature
from deniable.tables.table import Table


def labelled(table: Table, features: Sequence[Feature] = ()) -> Table:
    """A table with the labels of its features, or of these, in the place of names and answers."""
    features = features or table.features
    titles, taken = distinct_titles(features), set(table.column_names)
    heads = {name: name if titles.get(name, name) in taken else titles[name] for name in table.column_names}
    labels = {one.name: dict(zip(one.answers, one.titles, strict=True)) for one in features}
    columns = {
        heads[name]: [labels[name].get(cell, cell) if isinstance(cell, str) else cell for cell in column]
        if name in labels
        else column
        for name, column in table.columns.items()
    }
    about = replace(table.about, title=_titled(table.about.title, titles))
    return replace(table, columns=columns, keys=tuple(heads[name] for name in table.keys), about=about)


def _titled(title: str, titles: Mapping[str, str]) -> str:
    """A title in which names that stand by themselves are replaced by labels, the longest first."""
    names = sorted((name for name in titles if titles[name] != name), key=len, reverse=True)
    each = "|".join(map(re.escape, names))
    return re.sub(rf"(?<!\w)({each})(?!\w)", lambda found: titles[found[1]], title) if names else title
