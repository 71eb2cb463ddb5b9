"""Tokens: an analyst's of 256 bits, and one-time invitations of 128 bits. Only their SHA-256 is stored."""

import hashlib
import hmac
import secrets
from collections.abc import Mapping

from deniable.errors import abbreviated

TOKEN_BYTES = 32  # Random bytes of an analyst's token.
LONGEST_NAME = 100  # Characters of the name of a token.
INVITATION_BYTES = 16  # Random bytes of an invitation.


def new_token() -> str:
    """A new token for an analyst, in 43 letters, digits, hyphens and underscores."""
    return secrets.token_urlsafe(TOKEN_BYTES)


def new_invitation() -> str:
    """A new invitation, in 22 letters, digits, hyphens and underscores."""
    return secrets.token_urlsafe(INVITATION_BYTES)


def name_fault(name: object) -> str | None:
    """What is wrong with the name of a token; None for a name by whose path the token can be revoked."""
    if not isinstance(name, str) or not name.strip() or len(name) > LONGEST_NAME or not name.isprintable():
        return f"a token needs a name of 1 to {LONGEST_NAME} printable characters; found {abbreviated(name)}"
    if {".", ".."} & set(name.split("/")):
        why = "programs drop these from paths, and the token could not be revoked"
        return f"a token's name is not . or .., also not between slashes: {why}; found {abbreviated(name)}"
    return None


def hash_of(token: str) -> bytes:
    """What is stored of a token. It has so many random bits that no salt or slow hash is needed."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


def whose(token: str, hashes: Mapping[str, bytes]) -> str | None:
    """The name of the analyst whose token this is. All hashes are compared, each in a time that tells nothing."""
    own = hash_of(token)
    found = None
    for name, hash in hashes.items():
        if hmac.compare_digest(own, hash):
            found = name
    return found
