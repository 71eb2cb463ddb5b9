"""Mutants that no test can kill, with the reason: they do the same as the code."""

EQUIVALENT: dict[tuple[str, str], str] = {  # (file, what) -> why
    (
        "one_feature.py",
        "arithmetic: noise * np.array([[1.0, -1.0], [-1.0, 1.0]]) -> noise / np.array([[1.0, -1.0], [-1.0, 1.0]])",
    ): "a product with 1 or -1 is the quotient by it, to the last bit",
    (
        "perturb.py",
        "swapped: min(BLOCK, SET_NUMBERS // values & -8) -> min(SET_NUMBERS // values & -8, BLOCK)",
    ): "the smaller of two whole numbers is the same in any order",
    ("base.py", "swapped: max(self.columns, 2) -> max(2, self.columns)"): (
        "the larger of two whole numbers is the same in any order"
    ),
}
