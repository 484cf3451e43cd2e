# SPDX-License-Identifier: Apache-2.0
"""What is written about options and errors is what there is: generated documents are current, the manual page of each
command names exactly the flags that the command completes, and every option and flag is used by a test.

Usage: check_docs.py; the command is $LAKECDC.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
from def_tables import rows  # noqa: E402  (it lies where the generators are)

MAN = ROOT / "docs" / "man"


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, timeout=60, cwd=ROOT)


def generated():
    for script in ("gen_options.py", "gen_errors.py", "gen_sinks.py"):
        result = run(sys.executable, f"scripts/{script}", "--check")
        if result.returncode:
            yield result.stdout.strip() or result.stderr.strip()


def pages():
    """Every page turns into roff; what the command completes is what its page describes."""
    names = run(os.environ["LAKECDC"], "completion", "fish").stdout
    with tempfile.TemporaryDirectory() as folder:
        for page in sorted(MAN.glob("*.md")):
            result = run(sys.executable, "scripts/make_man.py", str(page), f"{folder}/page.1")
            if result.returncode:
                yield result.stderr.strip()
                continue
            roff = Path(f"{folder}/page.1").read_text(encoding="utf-8")
            for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "SEE ALSO"):
                if f"SH {section}" not in roff and f'SH "{section}"' not in roff:
                    yield f"{page.name}: no section {section}"
            command = page.stem.removeprefix("lakecdc-")
            has = set(re.findall(rf"seen_subcommand_from {command}' -l (\S+)", names))
            told = set(re.findall(r"^(?:\*\*-\w\*\*, )?\*\*--([\w-]+)\*\*", page.read_text(encoding="utf-8"), re.M))
            if page.stem != "lakecdc" and has != told:
                yield f"{page.name}: describes {sorted(told - has)} too much and {sorted(has - told)} too little"
            if page.stem != "lakecdc" and not has:
                yield f"{page.name}: the command completes no flag at all"


def texts(folder, *suffixes):
    return "\n".join(p.read_text(encoding="utf-8", errors="replace") for p in sorted((ROOT / folder).rglob("*"))
                     if p.suffix in suffixes and p.is_file())


def untested():
    tests = texts("tests", ".py", ".sh", ".c", ".exact", ".glob")
    for key, flag, *_ in rows("src/core/options.def", "LC_OPTION"):
        if f'"{key}"' not in tests and not (flag and flag in tests):
            yield f"no test sets the option {key}"
    for _, flag, *_ in rows("src/cli/flags.def", "LC_FLAG"):
        if flag not in tests:
            yield f"no test uses the flag {flag}"


def main():
    found = [problem for check in (generated, pages, untested) for problem in check()]
    print("\n".join(found) if found else "documents and tables agree")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
