"""The code that is mutated, in groups, and the tests that are there to notice; all but the slow ones.

Tests that look at the clock are left out: on a busy machine they would kill anything.
"""

from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parents[2]
ROOT = HERE / "src" / "deniable"


class Group(NamedTuple):
    """Modules, by patterns below the package, and the folders and files of their tests."""

    modules: tuple[str, ...]
    tests: tuple[str, ...]

    @property
    def files(self) -> list[Path]:
        """The modules' files, in order."""
        return sorted({path for pattern in self.modules for path in ROOT.glob(pattern) if path.stem != "__init__"})

    @property
    def test_files(self) -> list[Path]:
        """The tests' files, in order."""
        return sorted({path for pattern in self.tests for path in (HERE / "tests").glob(pattern)})


DEVICE = (
    "test_client*.py", "test_spec.py", "test_keeping.py", "survey/test_plan*.py", "survey/test_missing_and_labels.py",
    "survey/test_texts.py", "reports/test_answers_in.py",
)  # fmt: skip
RANDOM = ("reports/test_r*.py", "reports/test_perturb.py", "reports/test_arm*.py", "reports/test_missing_answers.py")
COUNTED = (
    "counts/test_[!ow]*.py",
    "test_copies.py",
    "estimates/test_from_reports.py",
)  # not on engines and in warehouses
GROUPS = {
    "client": Group(("client.py",), DEVICE),
    "protocols": Group(
        ("survey/protocols/*.py",),
        ("survey/test_protocol*.py", "survey/test_dependence.py", "survey/test_privacy.py", "survey/test_plan.py",
         "survey/test_blocks.py", "inference/test_one_feature.py", "test_keeping.py", *RANDOM, "counts/test_count*.py"),
    ),
    "randomizing": Group(
        ("reports/random*.py", "kernels/perturb.py"), (*RANDOM, "reports/test_answer*.py", "test_keeping.py")
    ),
    "evidence": Group(
        ("counts/evidence_planes.py", "reports/fields.py", "kernels/bitplanes.py", "kernels/hashing.py"),
        ("counts/test_[cdet]*.py", "kernels/test_*.py", "reports/test_fields.py", "reports/test_re*.py"),
    ),
    "counts": Group(
        ("counts/count*.py", "counts/[alrst]*.py", "counts/checks.py", "counts/fit.py"), COUNTED
    ),
    "axis": Group(
        ("inference/one_feature.py",),
        ("inference/test_one_*.py", "inference/test_cumulants.py", "inference/test_any_weights.py",
         "estimates/test_centring.py", "estimates/test_respondent_group.py"),
    ),
}  # fmt: skip
