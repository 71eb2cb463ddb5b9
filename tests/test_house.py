"""The house: its promised names, its rooms and what they may import, and how large things may get."""

import pytest

import deniable as dn


def test_every_public_name_resolves() -> None:
    for name in dn.__all__:
        assert getattr(dn, name).__name__.removeprefix("deniable.") == name
        assert name in dir(dn)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = dn.nothing
