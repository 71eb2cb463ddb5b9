"""Numbers of marked evidence bits, drawn from their exact distribution without any report or pattern."""

from typing import Any

import numpy as np

import deniable as dn
from deniable.survey.protocols.base import Protocol


def marked_bits(protocol: Protocol, people: Any, rng: np.random.Generator) -> Any:
    """Draw how often each evidence bit is marked, exactly: people are (surveys, cells), as the result is."""
    if protocol.several and protocol.exact_patterns:
        return dn.simulate.marked_values(protocol, people, rng)
    if isinstance(protocol, dn.GRR):
        law = np.full((protocol.columns, protocol.columns), protocol.p)
        np.fill_diagonal(law, 1 - protocol.p * (protocol.columns - 1))
        return rng.multinomial(people, law).sum(axis=1)
    raise TypeError(f"a block here has subset selection, unary encoding or GRR; found {protocol!r}")
