"""The dialects of SQL: how each of them writes names, texts, bytes and whole-number division.

Everything else that the queries need, integer arithmetic, CASE, JOIN and GROUP BY, is the same in all of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from deniable.errors import CountError, abbreviated, meant

MOST_TERMS = 16  # A sum of more terms is written as the sum of two.


@dataclass(frozen=True)
class Dialect:
    """One dialect, by templates."""

    name: str
    quote: str  # It stands around names.
    byte: str  # The number in byte `at`, counted from `first`, of `of`.
    first: int
    divided: str  # The quotient of `a`, which is not negative, by `b`, rounded down.
    escapes: tuple[tuple[str, str], ...]  # What is written in a text for characters, in this order.
    joins_own_values: bool = False  # A row can be joined with values that are made of it, quickly.
    mistakes_case: bool = False  # It reads column "A" where the table has "A" and "a", and "a" is asked for.

    def identifier(self, name: str) -> str:
        """The name of a column."""
        return f"{self.quote}{name.replace(self.quote, 2 * self.quote)}{self.quote}"

    def text(self, value: str) -> str:
        """A literal text."""
        for characters, written in self.escapes:
            value = value.replace(characters, written)
        return f"'{value}'"

    def byte_of(self, column: str, at: int) -> str:
        """The number in a byte of a column of bytes, the first being byte 0."""
        return self.byte.format(of=column, at=at + self.first)

    def quotient(self, a: str, b: int) -> str:
        """The whole part of a quotient."""
        return a if b == 1 else self.divided.format(a=a, b=b)

    def whole(self, parts: list[str]) -> str:
        """The number that bytes make, the lowest first."""
        return summed([part if k == 0 else f"{256**k} * {part}" for k, part in enumerate(parts)])


def summed(parts: Sequence[str]) -> str:
    """The sum of some terms, many of them in brackets of halves: databases nest expressions to a depth of 1 000."""
    if len(parts) <= MOST_TERMS:
        return " + ".join(parts) or "0"
    middle = len(parts) // 2
    return f"({summed(parts[:middle])}) + ({summed(parts[middle:])})"


DIALECTS = {
    dialect.name: dialect
    for dialect in (
        Dialect(
            "duckdb", '"', "CAST(TRY_CAST({of}[{at}:{at}] AS BIT) AS BIGINT)", 1, "({a} // {b})", (("'", "''"),),
            mistakes_case=True,
        ),
        Dialect(
            "postgres", '"', "CAST(get_byte({of}, {at}) AS BIGINT)", 0, "({a} / {b})", (("'", "''"),),
            joins_own_values=True,
        ),
        Dialect(
            "spark", "`", "CAST(conv(hex(substring({of}, {at}, 1)), 16, 10) AS BIGINT)", 1, "({a} div {b})",
            (("\\", "\\\\"), ("'", "\\'"), ("${", "$\\{")),  # the last would name a variable of Spark's
        ),
    )
}  # fmt: skip


def dialect_of(name: str) -> Dialect:
    """The dialect of this name."""
    if name not in DIALECTS:
        hint = meant(name, DIALECTS) if isinstance(name, str) else ""
        raise CountError(f"the dialects of SQL are {', '.join(DIALECTS)}; found {abbreviated(name)}{hint}")
    return DIALECTS[name]
