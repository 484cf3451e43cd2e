#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes docs/errors.md and the EXIT STATUS of lakecdc(1) from src/base/reasons.def and include/lakecdc/base.h.

With --check nothing is written and the exit status says whether they are up to date.
"""

import re
import sys

from def_tables import ROOT, between, keep, rows

PAGE = "docs/man/lakecdc.md"


def statuses():
    """(number, name, meaning) of lcdc_status, as base.h comments them."""
    text = (ROOT / "include/lakecdc/base.h").read_text(encoding="utf-8")
    enum = re.search(r"typedef enum lcdc_status \{(.*?)\} lcdc_status;", text, re.S).group(1)
    meant = {"LCDC_OK": "done; also when there was nothing to read", "LCDC_OUT_OF_MEMORY": "memory ran out"}
    found = []
    for name, number, comment in re.findall(r"(LCDC_\w+) = (\d+),?(?: */\*\*< (.*?) \*/)?", enum):
        found.append((int(number), name.removeprefix("LCDC_"), comment or meant[name]))
    return found


def reference():
    out = ["<!-- SPDX-License-Identifier: Apache-2.0 -->",
           "<!-- Made by scripts/gen_errors.py from src/base/reasons.def and include/lakecdc/base.h; change those. -->",
           "# Errors", "",
           "A failed call returns a status, which is also the exit status of the command, and fills an error object: a stable reason",
           "token, one line for a person, and details. The command prints `lakecdc: MESSAGE (REASON)`.", "",
           "## Statuses", "", "| exit status | status | meaning |", "|---|---|---|"]
    out += [f"| {number} | `{name}` | {text} |" for number, name, text in statuses()]
    out += ["", "The command ends with 130 or 143 when SIGINT or SIGTERM interrupted it, after cleaning up.", "", "## Reasons", "",
            "| reason | status | try again | what it means, what to do |", "|---|---|---|---|"]
    for _, token, status, retriable, text in rows("src/base/reasons.def", "LC_REASON"):
        out.append(f"| `{token}` | `{status.removeprefix('LCDC_')}` | {'yes' if retriable == '1' else ''} | {text} |")
    return "\n".join(out) + "\n"


def manual():
    lines = [f"**{number}**\n: {text}\n" for number, _, text in statuses()]
    return "\n" + "\n".join(lines) + "\n**130**, **143**\n: ended by SIGINT, SIGTERM, after cleaning up\n\n"


def main():
    page = (ROOT / PAGE).read_text(encoding="utf-8")
    return keep({"docs/errors.md": reference(), PAGE: between(page, "statuses", manual())})


if __name__ == "__main__":
    sys.exit(main())
