"""The protocols, one file for each: how one answer is randomized, and what evidence a report gives of it."""

from deniable.survey.protocols.base import Protocol
from deniable.survey.protocols.grr import GRR
from deniable.survey.protocols.local_hashing import LocalHashing
from deniable.survey.protocols.public import Public
from deniable.survey.protocols.randomized_response import RandomizedResponse
from deniable.survey.protocols.subset_selection import SubsetSelection
from deniable.survey.protocols.unary_encoding import UnaryEncoding

__all__ = ["GRR", "PROTOCOLS", "LocalHashing", "Public", "RandomizedResponse", "SubsetSelection", "UnaryEncoding"]

PROTOCOLS: dict[str, type[Protocol]] = {
    protocol.name: protocol
    for protocol in (RandomizedResponse, GRR, SubsetSelection, UnaryEncoding, LocalHashing, Public)
}
