"""Signed plans: an Ed25519 signature over a plan's fingerprint, which devices check by a key that they have pinned.

A plan says what is randomized, and how. Whoever can change it on its way to a device could ask for less protection. A
signature holds for a plan whatever way it came: an app ships the public key, once, and takes every plan that its
owner signs from then on. What is signed is the fingerprint with words before it, so that no other thing that the key
signs can be taken for a plan:

    deniable signed plan 1 <fingerprint, 64 hexadecimal digits>

The fingerprint follows from the plan's content, which every client checks. spec/signed-plans.md has the format, and
spec/signatures.json cases to check another program against.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from deniable.errors import PlanError, abbreviated

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

HEADING = "deniable signed plan 1 "  # This stands before the fingerprint in what is signed.
MAKE_A_KEY = "openssl genpkey -algorithm ed25519 -out key.pem"


@dataclass(frozen=True)
class Signature:
    """A signature of a plan, with the public key that it is said to be by; both in hexadecimal digits."""

    key: str
    signature: str

    def to_json(self) -> str:
        """The text of a file `plan.sig`."""
        return json.dumps({"key": self.key, "signature": self.signature}, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> "Signature":
        """Read the text of a file `plan.sig`."""
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            found = None
        right = isinstance(found, dict) and found.keys() == {"key", "signature"}
        if not (right and _is_hex(found["key"], 64) and _is_hex(found["signature"], 128)):
            raise PlanError("a signature is JSON with key and signature, 64 and 128 hexadecimal digits")
        return cls(found["key"], found["signature"])

    @classmethod
    def load(cls, path: str | Path) -> "Signature":
        """Read a file `plan.sig`; an error names it."""
        try:
            return cls.from_json(Path(path).read_bytes())
        except PlanError as error:
            raise PlanError(f"{path}: {error}") from None


def message_of(fingerprint: str) -> bytes:
    """The bytes that are signed for the plan of this fingerprint."""
    if not _is_hex(fingerprint, 64):
        raise PlanError(f"a fingerprint is 64 hexadecimal digits, in small letters; found {abbreviated(fingerprint)}")
    return (HEADING + fingerprint).encode()


def sign(fingerprint: str, key: "Ed25519PrivateKey") -> Signature:
    """Sign the plan of this fingerprint.

    Examples
    --------
    >>> from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    >>> plan = dn.Plan(dn.Schema([dn.Flag("smoker")]), epsilon=1.0)
    >>> signed = sign(plan.fingerprint, Ed25519PrivateKey.generate())
    >>> verify(plan.fingerprint, signed, signed.key)
    """
    return Signature(key.public_key().public_bytes_raw().hex(), key.sign(message_of(fingerprint)).hex())


def verify(fingerprint: str, signature: Signature, key: str) -> None:
    """Refuse a plan that is not signed by the key that was pinned: its 64 hexadecimal digits.

    `fingerprint` must be that of a plan whose content was checked, as `client.read(plan).fingerprint` is.
    """
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    if not _is_hex(key, 64):
        raise PlanError(f"a public key is 64 hexadecimal digits, in small letters; found {abbreviated(key)}")
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(key)).verify(
            bytes.fromhex(signature.signature), message_of(fingerprint)
        )
    except (InvalidSignature, ValueError):
        by = "" if signature.key == key else f"; the signature says that it is by {signature.key}"
        raise PlanError(f"the plan {fingerprint} is not signed by the key {key}{by}") from None


def load_private_key(path: str | Path) -> "Ed25519PrivateKey":
    """The private key of a PEM file, without a password."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(Path(path).read_bytes(), None)
    except FileNotFoundError:
        raise PlanError(f"{path}: no such file; make a key with: {MAKE_A_KEY}") from None
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise PlanError(f"{path}: not a private key for Ed25519 without a password; make one with: {MAKE_A_KEY}")
    return key


def signature_path(plan: str | Path) -> Path:
    """Where the signature of a plan's file stands: beside it, `plan.sig` of `plan.json`."""
    return Path(plan).with_suffix(".sig")


def signature_beside(plan: str | Path, fingerprint: str) -> Signature | None:
    """The signature beside a plan's file, which must be one of this plan; None if there is none."""
    path = signature_path(plan)
    if not path.exists():
        return None
    found = Signature.load(path)
    try:
        verify(fingerprint, found, found.key)
    except PlanError:
        raise PlanError(f"{path}: does not sign {plan} as it is now; sign it anew, or remove the file") from None
    return found


def _is_hex(text: object, digits: int) -> bool:
    return isinstance(text, str) and bool(re.fullmatch(f"[0-9a-f]{{{digits}}}", text))
