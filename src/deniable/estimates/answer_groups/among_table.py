"""The table of two features among those with certain answers, as an estimate of its own, for how they go together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from deniable.estimates.answer_groups.among_group import AmongGroup
from deniable.estimates.answer_groups.left_answers import counted, left_of
from deniable.estimates.answers_as_weights import Features, feature_named, places_of
from deniable.estimates.interface import AnyEstimate, linear_groups, total
from deniable.inference.about_whom import Subject
from deniable.inference.one_feature import Array
from deniable.inference.tensors import along


@dataclass(frozen=True, eq=False)
class AmongTable:
    """The estimated table of features among those with certain answers, with the answers that are left alone."""

    features: Features
    groups: tuple[AmongGroup, ...]
    subject: Subject
    fitted: Array | None

    @property
    def n(self) -> int:
        """How many of these respondents there are, as estimated."""
        return sum(group.n for group in self.groups)

    @property
    def asked(self) -> int:
        """How many of them were asked all of these features."""
        return sum(group.asked for group in self.groups)

    @property
    def truth(self) -> Array:
        """The estimated numbers of respondents."""
        return total([group.truth for group in self.groups]) if self.fitted is None else self.fitted

    @property
    def apart(self) -> "AmongTable":
        """The table with each group of respondents by itself: what is asked is asked within each of them."""
        return replace(self, groups=tuple(group.alone for group in self.groups))

    def project(self, *names: str) -> "AmongTable":
        """The table with its features in this order."""
        axes = places_of(self.features, names, "project takes one or more of")
        groups = tuple(group.project(axes) for group in self.groups)
        fitted = None if self.fitted is None else self.fitted.transpose(axes)
        return AmongTable(tuple(self.features[axis] for axis in axes), groups, self.subject, fitted)


def among_table(est: AnyEstimate, kept: Mapping[str, Sequence[int]], names: Sequence[str], asker: str) -> AmongTable:
    """The table of some features among those whose answers, of each feature in `kept`, are at these places."""
    places_of(est.features, names, f"{asker} takes different features of this estimate,")
    others = [name for name in kept if name not in names]
    narrow = est.project(*names, *others)
    shown = [left_of(feature_named(est.features, name), kept.get(name)) for name in names]
    left = [counted(feature_named(est.features, name), kept[name]) for name in others]
    maps = [own for _, own in shown]
    groups = AmongGroup.of(linear_groups(narrow), maps, left)
    fitted = None
    if narrow.fitted is not None:
        of_fitted = along(narrow.fitted, [*maps, *(vector[None] for vector in left)])
        of_fitted = of_fitted.reshape(of_fitted.shape[: len(maps)])
        fitted = of_fitted * (sum(group.n for group in groups) / of_fitted.flat[0])
    return AmongTable(tuple(feature for feature, _ in shown), groups, est.subject, fitted)
