#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The sample table that the manual shows is the one its script makes, and its changes are read right."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from delta import make_demo_table
from support import harness
from support.expected import Request
from support.harness import check_request

SHIPPED = make_demo_table.OUT


def names(root):
    return sorted(os.path.relpath(os.path.join(f, n), root) for f, _, ns in os.walk(root) for n in ns)


def test_shipped_table_is_what_the_script_makes(d):
    make_demo_table.build(d + "/orders")
    assert names(SHIPPED) == names(d + "/orders"), "run make_demo_table.py"
    for name in names(SHIPPED):
        if name.endswith((".json", ".bin")):
            assert open(f"{SHIPPED}/{name}", "rb").read() == open(f"{d}/orders/{name}", "rb").read(), f"{name} differs: run make_demo_table.py"


def test_changes_of_the_shipped_table(d):
    t = make_demo_table.build(d + "/orders")
    for first in range(t.latest + 1):
        for options in ({}, {"columns": ["order_id", "status"]}, {"net": True, "identity": ["order_id"]}, {"fold": True, "identity": ["order_id"]},
                        {"where": ("cmp", "customer", "=", "Ada")}):
            check_request(t, Request(first, t.latest, **options), SHIPPED)
    assert harness.run("verify", SHIPPED, "--from", 0, "--to", t.latest).code == 0


if __name__ == "__main__":
    harness.main(__doc__)
