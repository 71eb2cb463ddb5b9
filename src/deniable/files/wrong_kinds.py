"""Files of the wrong kind: what they are by their names, and the next command that makes what was wanted of them."""

from pathlib import PurePath

from deniable.files.stores import AnyFile

RANDOMIZE = "`deniable randomize plan.json {answers} -o reports.parquet`"
SCHEMA = "`deniable schema {name} -o survey.toml`"
READ_FROM = "are read from a .csv, .tsv or .parquet file"
SPREADSHEET = (
    "this is a spreadsheet; save it as CSV (Excel: Save As, CSV UTF-8), or in Python give the frame that "
    "pandas.read_excel({name!r}) makes"
)
OF_STATISTICS = "save it as CSV or Parquet, or in Python give the frame that pandas.{reader}({name!r}) makes"
PLAN = "`deniable plan {name} --epsilon 2 --people 5000 -o plan.json`"

# INSTEAD says, for what is wanted and a file's ending, what the file is and what to do with it.
INSTEAD = {
    "reports": {
        ".json": "this is a plan or a survey, not reports; answers become reports by "
        + RANDOMIZE.format(answers="answers.csv"),
        ".toml": f"this is a survey file, not reports; first plan it: {PLAN}",
        ".csv": "these are answers, not reports; they become reports by " + RANDOMIZE.format(answers="{name}"),
        ".npz": "these are counts already; `deniable table {name} ...` estimates from them",
        ".html": "this is a page, not reports; open it in a browser",
    },
    "a plan": {
        ".csv": f"these are answers, not a plan; {SCHEMA} proposes questions, and `deniable plan` makes a plan of them",
        ".toml": f"this is a survey file, not a plan; {PLAN} makes a plan of it",
        ".parquet": "these are reports or answers, not a plan; `deniable show {name}` shows the plan that reports hold",
        ".npz": "these are counts, not a plan; `deniable show {name}` shows the plan that they hold",
        ".html": "this is a page, not a plan",
    },
    "a survey": {
        ".csv": f"these are answers, not a survey file; {SCHEMA} proposes the questions",
        ".parquet": f"this is no survey file; if it holds answers, {SCHEMA} proposes the questions",
        ".npz": "these are counts, not a survey file; `deniable show {name}` shows what they hold",
        ".html": "this is a page, not a survey file",
    },
    "counts": {
        ".parquet": "these are reports or answers, not counts; `deniable count {name} -o counts.npz` counts reports, "
        "as dn.count({name!r}) does",
        ".csv": "these are answers, not counts; they become reports by " + RANDOMIZE.format(answers="{name}"),
        ".json": "this is a plan or a survey, not counts; `deniable count reports.parquet -o counts.npz` makes those",
        ".toml": f"this is a survey file, not counts; first plan it: {PLAN}",
        ".html": "this is a page, not counts; open it in a browser",
    },
    "answers": {
        ".json": "this is a plan or a survey, not answers; those " + READ_FROM,
        ".toml": "this is a survey file, not answers; those " + READ_FROM,
        ".npz": "these are counts, made of answers already; those " + READ_FROM,
        ".xlsx": SPREADSHEET,
        ".xls": SPREADSHEET,
        ".ods": SPREADSHEET,
        ".sav": "this is a file of SPSS; " + OF_STATISTICS.replace("{reader}", "read_spss"),
        ".dta": "this is a file of Stata; " + OF_STATISTICS.replace("{reader}", "read_stata"),
    },
}


def instead_of(wanted: str, path: str | AnyFile) -> str:
    """What a file is that is not what was wanted, and the next step; empty if its ending does not tell."""
    name = str(path)
    ending = PurePath(name).suffix.lower()
    return INSTEAD[wanted].get(".csv" if ending == ".tsv" else ending, "").format(name=name)
