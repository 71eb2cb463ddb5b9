"""Mutants that no test can kill, with the reason: they give the same results as the code."""

REMEMBERED = "how much is remembered changes no result"
ONE_BY_ONE = "values are counted alike in both ways; it only says which one is faster"
AS_MANY = "both always have one length, so that there is nothing to be strict about"
THE_SAME_ONE = "there is one, which is the first and the last; or all have the same length"
GROWING = "where more is needed, it is made anew"
UNREAD = "more is set aside than is read"
TOLD_ANEW = "of data in memory every error that names a row is told anew, with all others"

KEPT = "PLANS_KEPT = 1 << 10"
FEW = "FEW_VALUES = 12"
ALL = "packed, rows = [np.full((reports + 7) // 8, 255, np.uint8)], [0]"
PART = "part = table if len(table) <= rows else table.slice(start, rows)"
SIGNS = "return np.asarray(_diagonals(shares) + noise * np.array([[1.0, -1.0], [-1.0, 1.0]]))"
BY_ROW = "return self if self.weights is None else replace(self, weights=self.weights[:, 0].repeat(rows, axis=0))"
MARKED = "marked = np.zeros(len(arrays[0]), np.uint16)"
ZEROS = "zeros = memoryview(bytes(1 << 18))"
WORDS = 'return words.astype("<u8", copy=False).view("<u2")[:count]'
JOINED = "for waiting, own in zip(tables, part.arms, strict=True):"
SLABS = "return [cube[:, index]] if inner >= 16 else [cube[:, index, j] for j in range(inner)]"
PLANES = "if self.memory is None or len(self.memory) < rows or self.memory.shape[1] * 64 < reports:"
WIDTH = '_, width = PERTURB[protocol["name"]](0, m, protocol, bytes)'
MERGED = "merged = tuple(sorted((*rest[:k], rest[k] + first, *rest[k + 1 :]), reverse=True))"
PART_OF = "def part(self, data: Any, first_row: int = 0, places: Places | None = None) -> Reports:"
DRAWN = "numbers = drawn_arms(plan, len(given[plan.schema.names[0]]), draws) if arms is None else np.asarray(arms)"
CALLS = "calls = self.shape[0] * -(-reports // (64 * plain.TILE))"

EQUIVALENT: dict[tuple[str, str, str], str] = {  # (file, its line, what) -> why
    (
        "one_feature.py",
        SIGNS,
        "arithmetic: noise * np.array([[1.0, -1.0], [-1.0, 1.0]]) -> noise / np.array([[1.0, -1.0], [-1.0, 1.0]])",
    ): "a product with 1 or -1 is the quotient by it, to the last bit",
    **{
        ("fields.py", KEPT, what): REMEMBERED
        for what in (
            "arithmetic: 1 << 10 -> 1 >> 10",
            *(f"constant: {pair}" for pair in ("1 -> 2", "1 -> 0", "10 -> 11", "10 -> 9")),
        )
    },
    **{("tally_kinds.py", CALLS, f"constant: 64 -> {other}"): ONE_BY_ONE for other in (63, 65)},
    ("counts_files.py", "if file.read(1):", "constant: 1 -> 2"): "one byte more is as wrong as two",
    **{("bitplanes.py", FEW, f"constant: 12 -> {other}"): ONE_BY_ONE for other in (11, 13)},
    ("evidence_planes.py", PART, "comparison: len(table) <= rows -> len(table) < rows"): (
        "a part of as many rows as there are is the whole table"
    ),
    **{
        ("evidence_planes.py", ALL, what): UNREAD
        for what in ("arithmetic: (reports + 7) // 8 -> (reports + 7) * 8", "constant: 7 -> 8", "constant: 8 -> 7")
    },
    **{("randomness.py", ZEROS, f"constant: 18 -> {other}"): GROWING for other in (17, 19)},
    **{("fields.py", MARKED, f"constant: 0 -> {other}"): THE_SAME_ONE for other in (1, -1)},
    ("one_feature.py", BY_ROW, "constant: 0 -> -1"): THE_SAME_ONE,
    ("fields.py", "return [self.columns[0].to_arrow(shown)]", "constant: 0 -> -1"): THE_SAME_ONE,
    ("fields.py", "return arrays[0].indices.to_numpy()", "constant: 0 -> -1"): THE_SAME_ONE,
    (
        "fields.py",
        "return dict(zip(table.column_names, table.columns, strict=True))",
        "constant: True -> False",
    ): AS_MANY,
    ("randomness.py", WORDS, "constant: False -> True"): "a copy has the same words",
    **{("randomize.py", PART_OF, f"constant: 0 -> {other}"): TOLD_ANEW for other in (1, -1)},
    ("randomize.py", DRAWN, "constant: 0 -> -1"): THE_SAME_ONE,
    ("randomness.py", "SLACK = 15", "constant: 15 -> 16"): UNREAD,
    ("randomize.py", JOINED, "constant: True -> False"): AS_MANY,
    ("layout.py", SLABS, "constant: 16 -> 17"): ONE_BY_ONE,
    ("tally.py", PLANES, "constant: 64 -> 63"): GROWING,
    ("client.py", WIDTH, "constant: 0 -> 1"): "every code has the same width",
    ("dependence.py", MERGED, "constant: True -> False"): "a sum over different values is the same in any order",
    ("one_feature.py", "CACHED = 1 << 14", "arithmetic: 1 << 14 -> 1 >> 14"): REMEMBERED,
    **{("fields.py", "HASH_SECONDS = 5e-8", f"constant: 5e-08 -> {5e-8 + k}"): ONE_BY_ONE for k in (1, -1)},
    ("perturb.py", "SET_SECONDS = 1.5e-8", f"constant: 1.5e-08 -> {1.5e-8 + 1}"): ONE_BY_ONE,
    ("randomness.py", ZEROS, "arithmetic: 1 << 18 -> 1 >> 18"): GROWING,
}
