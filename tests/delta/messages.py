#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the command says when it refuses, word for word: tests/golden/delta/messages.txt.

The one idea: an error message is part of the product. Each situation is made afresh with fixed names, the one line on
stderr is compared with the golden file, and `--rewrite` writes that file anew for review.
"""
import json
import os
import random
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
from delta.hostile import change_vector, edit, rewrite, lines_of, vector_table
from delta.tables import FEED, append, delete, table
from support import harness
from support.harness import changes, check_refused

GOLDEN = os.path.join(HERE, "..", "golden", "delta", "messages.txt")


def situations(d):
    """(name, table folder, words) of every refusal."""
    yield "no such folder", d + "/nowhere", []
    os.makedirs(d + "/empty")
    yield "a folder that is no table", d + "/empty", []

    t = table(d + "/history", FEED)
    for i in range(1, 5):
        append(t, i)
    yield "a column that is not there", t.root, ["--columns", "ids"]
    yield "a filter column that is not there", t.root, ["--where", "nope = 1"]
    yield "a filter of the wrong type", t.root, ["--where", "id = 'abc'"]
    yield "a filter that ends early", t.root, ["--where", "id = 1 AND"]
    yield "an identity that is not there", t.root, ["--identity", "nope"]
    yield "a range that runs backwards", t.root, ["--from", 3, "--to", 1]
    yield "a version that is not there yet", t.root, ["--to", 9]
    yield "a bound that is none", t.root, ["--from", "yesterday"]

    t = table(d + "/vacuumed")
    for i in range(1, 4):
        append(t, i)
    delete(t, 2)
    append(t, 9)
    t.vacuum()
    yield "data files vacuumed", t.root, ["--from", 1]

    t = table(d + "/gap")
    for i in range(1, 5):
        append(t, i)
    os.remove(t.log_path(2))
    yield "a version missing in the middle", t.root, []

    t = table(d + "/cut")
    for i in range(1, 5):
        append(t, i)
    t.checkpoint()
    append(t, 9)
    t.cut_log(4)
    yield "a start before the log was cleaned up", t.root, ["--from", 1]

    t = table(d + "/feature")
    append(t, 1)
    with t.commit() as c:
        c.protocol(minReaderVersion=3, readerFeatures=["timeTravelPrevention"])
    yield "an unknown reader feature", t.root, []
    t = table(d + "/catalog")
    with t.commit() as c:
        c.protocol(minReaderVersion=3, readerFeatures=["catalogManaged", "vacuumProtocolCheck"])
    yield "a table whose commits a catalog keeps", t.root, []

    t = table(d + "/line")
    append(t, 1)
    append(t, 2)
    rewrite(t, 2, [line[:-3] for line in lines_of(t, 2)])
    yield "a log line cut short", t.root, []
    t = table(d + "/schema")
    append(t, 1)
    edit(t, 0, "metaData", lambda m: m.update(schemaString=json.dumps({"type": "struct", "fields": [{"name": "where", "type": "geometry", "nullable": True, "metadata": {}}]})))
    yield "a type that is not known", t.root, []

    t = table(d + "/parquet")
    append(t, 1, 2)
    (path,) = t.versions[-1].files
    open(os.path.join(t.root, path), "r+b").truncate(200)
    yield "a data file cut short", t.root, []

    t = vector_table(d + "/cardinality")
    change_vector(t, lambda v: v.update(cardinality=33))
    yield "a vector of another cardinality", t.root, []
    t = vector_table(d + "/checksum")
    (name,) = [n for n in os.listdir(t.root) if n.endswith(".bin")]
    data = bytearray(open(os.path.join(t.root, name), "rb").read())
    data[30] ^= 1
    open(os.path.join(t.root, name), "wb").write(data)
    yield "a vector with a flipped bit", t.root, []


def text(d):
    harness.fix_names(random.Random(1))
    out = []
    for name, root, words in situations(d):
        line = check_refused(changes(root, *words))
        out.append(f"{name}\n    {line.replace(d, '')}\n")
    return "\n".join(out)


def main():
    a = harness.arguments(__doc__, rewrite=dict(action="store_true", help="write the golden file anew"))
    top = harness.workspace(a.keep)
    said = text(top)
    if a.rewrite:
        os.makedirs(os.path.dirname(GOLDEN), exist_ok=True)
        open(GOLDEN, "w", encoding="utf-8").write(said)
    want = open(GOLDEN, encoding="utf-8").read()
    got, expected = said.split("\n\n"), want.split("\n\n")
    wrong = [f"FAIL\n  said   {g}\n  golden {w}" for g, w in zip(got, expected) if g != w]
    if len(got) != len(expected):
        wrong.append(f"FAIL {len(got)} situations, {len(expected)} in the golden file")
    print("\n".join(wrong) if wrong else "every message is as reviewed")
    harness.finish(len(got) - len(wrong), len(wrong))


if __name__ == "__main__":
    main()
