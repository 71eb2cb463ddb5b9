"""What is said where surveys ask a question with different answers, so that it is not the same question."""

from collections.abc import Collection, Sequence
from typing import Any

from deniable.errors import listed


def different_answers(name: str, every: Sequence[Sequence[Any]], missing: Collection[str | None], cure: str) -> str:
    """Which answers to a feature only some surveys have, of all answers of each, and what can be done.

    `missing` are what the surveys call a skipped question. Where they differ in this alone, those who answered can be
    looked at; otherwise answers can be merged.
    """
    shown = [[str(answer) for answer in own] for own in every]
    common = set(shown[0]).intersection(*shown)
    odd = [
        f"survey {place} has {listed(apart)}"
        for place, own in enumerate(shown, 1)
        if (apart := [answer for answer in own if answer not in common])
    ]
    told = f"{'; '.join(odd)}. " if odd else "the same ones in another order, or with other edges or labels. "
    cures = f"put answers together with est.merge({name!r}, ...)"
    if len({tuple(answer for answer in own if answer not in missing) for own in every}) == 1 < len(set(missing)):
        answers = [answer for answer in every[0] if answer not in missing]
        cures = f"look only at those who answered, est.among({name!r}, {answers})"
    return f"the surveys ask {name!r} with different answers: {told}{cure.format(cures)}"
