"""Writes spec/signatures.json: plans' fingerprints signed by a key for tests, and signatures that must be refused.

The private key of these cases is public: bytes 0 to 31. Never use it.
"""

import json
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from deniable.collect.signatures import Signature, message_of, sign

PATH = Path(__file__).with_name("signatures.json")
KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
OTHER = Ed25519PrivateKey.from_private_bytes(bytes(range(32, 64)))
FINGERPRINTS = ("0" * 64, "0123456789abcdef" * 4)


def cases() -> dict[str, Any]:
    """All cases, as the file has them."""
    first, second = FINGERPRINTS
    right, key = sign(first, KEY), sign(first, KEY).key
    unheaded = Signature(key, KEY.sign(first.encode()).hex())
    changed = Signature(key, f"{int(right.signature[0], 16) ^ 1:x}{right.signature[1:]}")
    refused = {
        "the signature of another plan": (second, right.to_json(), key),
        "by another key": (first, sign(first, OTHER).to_json(), key),
        "by another key that says it is this one": (first, Signature(key, sign(first, OTHER).signature).to_json(), key),
        "the fingerprint alone was signed": (first, unheaded.to_json(), key),
        "one bit changed": (first, changed.to_json(), key),
        "cut short": (first, Signature(key, right.signature[:-2]).to_json(), key),
        "capital letters": (first, Signature(key, right.signature.upper()).to_json(), key),
        "no signature": (first, "", key),
        "not JSON": (first, right.signature, key),
        "a part more": (first, json.dumps({"key": key, "signature": right.signature, "until": "2030"}), key),
        "a key that is too short": (first, right.to_json(), key[:-2]),
        "an empty key": (first, right.to_json(), ""),
        "a fingerprint in capital letters": (second.upper(), sign(second, KEY).to_json(), key),
    }
    return {
        "about": "Ed25519 signatures of plans; signed-plans.md has the format. The private key is public.",
        "private_key": bytes(range(32)).hex(),
        "public_key": key,
        "signed": [
            {"fingerprint": one, "message": message_of(one).hex(), "file": sign(one, KEY).to_json()}
            for one in FINGERPRINTS
        ],
        "refused": [
            {"title": title, "fingerprint": fingerprint, "file": file, "key": pinned}
            for title, (fingerprint, file, pinned) in refused.items()
        ],
    }


def text() -> str:
    """The text of the file."""
    return json.dumps(cases(), indent=1) + "\n"


if __name__ == "__main__":
    PATH.write_text(text(), encoding="utf-8")
