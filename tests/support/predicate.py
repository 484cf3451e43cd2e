# SPDX-License-Identifier: Apache-2.0
"""SQL filters for tests: made at random, printed for the command line, and evaluated here in three-valued logic.

The one idea: a filter is a tree of small tuples with two readings, `text` and `holds`, that share nothing but the
tree. True, False and None (unknown) are Python's own. Comparison follows Spark: NaN equals NaN and is above every
number, -0.0 equals 0.0, strings order by their UTF-8 bytes.
"""
import datetime as dt
import decimal
import math
import re

_OPS = {"=": lambda c: c == 0, "<>": lambda c: c != 0, "<": lambda c: c < 0, "<=": lambda c: c <= 0, ">": lambda c: c > 0, ">=": lambda c: c >= 0}


def compare(a, b):
    """-1, 0, 1."""
    if isinstance(a, str):
        a, b = a.encode(), b.encode()
    if isinstance(a, float) or isinstance(b, float):
        a_nan, b_nan = isinstance(a, float) and math.isnan(a), isinstance(b, float) and math.isnan(b)
        if a_nan or b_nan:
            return a_nan - b_nan
    return (a > b) - (a < b)


def literal(v):
    if v is None:
        return "NULL"
    if isinstance(v, bool):
        return "TRUE" if v else "FALSE"
    if isinstance(v, str):
        return "'" + v.replace("'", "''") + "'"
    if isinstance(v, dt.datetime):
        if v.tzinfo:
            return "'" + v.astimezone(dt.timezone.utc).replace(tzinfo=None).isoformat(sep=" ", timespec="microseconds") + "Z'"
        return "'" + v.isoformat(sep=" ", timespec="microseconds") + "'"
    if isinstance(v, dt.date):
        return f"'{v.isoformat()}'"
    if isinstance(v, decimal.Decimal):
        return format(v, "f")
    return repr(v)


def text(p):
    kind, *a = p
    if kind == "cmp":
        return f"{a[0]} {a[1]} {literal(a[2])}"
    if kind == "in":
        return f"{a[0]} {'NOT ' if a[2] else ''}IN ({', '.join(map(literal, a[1]))})"
    if kind == "between":
        return f"{a[0]} {'NOT ' if a[3] else ''}BETWEEN {literal(a[1])} AND {literal(a[2])}"
    if kind == "like":
        return f"{a[0]} {'NOT ' if a[2] else ''}LIKE {literal(a[1])}"
    if kind == "null":
        return f"{a[0]} IS {'NOT ' if a[1] else ''}NULL"
    if kind == "not":
        return f"NOT ({text(a[0])})"
    return "(" + f" {kind.upper()} ".join(text(x) for x in a[0]) + ")"


def _value(row, path):
    for name in path.split("."):
        if row is None:
            return None
        row = row[name]
    return row


def _not(v):
    return None if v is None else not v


def _and(values):
    values = list(values)
    return False if False in values else None if None in values else True


def holds(p, row):
    """True, False or None for an image (a dict by column name)."""
    kind, *a = p
    if kind == "and":
        return _and(holds(x, row) for x in a[0])
    if kind == "or":
        return _not(_and(_not(holds(x, row)) for x in a[0]))
    if kind == "not":
        return _not(holds(a[0], row))
    v = _value(row, a[0])
    if kind == "null":
        return (v is None) != a[1]
    if v is None:
        return None
    if kind == "cmp":
        return None if a[2] is None else _OPS[a[1]](compare(v, a[2]))
    if kind == "between":
        r = _and([compare(v, a[1]) >= 0, compare(v, a[2]) <= 0])
        return _not(r) if a[3] else r
    if kind == "in":
        r = True if any(x is not None and compare(v, x) == 0 for x in a[1]) else None if None in a[1] else False
        return _not(r) if a[2] else r
    pattern = "".join(".*" if c == "%" else "." if c == "_" else re.escape(c) for c in a[1])
    return (re.fullmatch(pattern, v, re.S) is not None) != a[2]


def columns(p):
    kind, *a = p
    if kind in ("and", "or"):
        return {c for x in a[0] for c in columns(x)}
    return columns(a[0]) if kind == "not" else {a[0]}


def random_filter(rng, leaves, values, depth=2):
    """A filter over `leaves` ({dotted path: type}); `values(type)` draws a literal likely to occur."""
    if depth and rng.random() < 0.6:
        if rng.random() < 0.2:
            return ("not", random_filter(rng, leaves, values, depth - 1))
        return (rng.choice(["and", "or"]), [random_filter(rng, leaves, values, depth - 1) for _ in range(rng.choice([2, 2, 3]))])
    path = rng.choice(sorted(leaves))
    kind = leaves[path]
    draw = lambda: values(kind)
    roll = rng.random()
    if kind == "binary" or roll < 0.12:
        return ("null", path, rng.random() < 0.5)
    if kind == "string" and roll < 0.3:
        v = draw()
        return ("like", path, rng.choice([v[:1] + "%", "%" + v[-1:], "%" + v[1:2] + "%", "_" * len(v), v[:1] + "_%"]), rng.random() < 0.2)
    if kind == "boolean":
        return ("cmp", path, rng.choice(["=", "<>"]), rng.random() < 0.5)
    if roll < 0.45:
        items = [draw() for _ in range(rng.randint(1, 4))] + ([None] if rng.random() < 0.1 else [])
        return ("in", path, items, rng.random() < 0.25)
    if roll < 0.6:
        low, high = draw(), draw()
        if compare(low, high) > 0 and rng.random() < 0.8:
            low, high = high, low
        return ("between", path, low, high, rng.random() < 0.2)
    return ("cmp", path, rng.choice(sorted(_OPS)), draw())
