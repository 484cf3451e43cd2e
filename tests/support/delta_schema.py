# SPDX-License-Identifier: Apache-2.0
"""Table schemas and values for the Delta table builder.

The one idea: a column is known by a number that never changes (`Field.key`), and every row is a dict from that number
to a value, at every nesting level. Names, physical names and types belong to a schema, so a row written long ago is
shown under any later schema by `image` alone: renamed columns follow, dropped ones vanish, new ones are null, narrow
values are widened. That is the contract of a change row, and it is the truth the reader is held against.
"""
import copy
import datetime as dt
import decimal
import itertools
import json
import math
import re
import uuid

import pyarrow as pa

UTC = dt.timezone.utc
_PRIMITIVE = {
    "byte": pa.int8(), "short": pa.int16(), "integer": pa.int32(), "long": pa.int64(), "float": pa.float32(),
    "double": pa.float64(), "string": pa.string(), "binary": pa.binary(), "boolean": pa.bool_(), "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"), "timestamp_ntz": pa.timestamp("us"), "void": pa.null(),
}


class Array:
    def __init__(self, element):
        self.element = element


class Map:
    def __init__(self, key, value):
        self.key, self.value = key, value


class Field:
    def __init__(self, name, type, nullable=True):
        self.name, self.type, self.nullable = name, type, nullable
        self.key = None      # the column's number; also delta.columnMapping.id
        self.phys = None     # the name in Parquet, statistics and partitionValues
        self.changes = []    # delta.typeChanges


class Struct:
    """A struct type; the root one is the table's schema."""

    def __init__(self, *fields):
        self.fields = list(fields)

    def find(self, path):
        """(parent struct, field) of a dotted path; list elements and map values are entered without a name."""
        parent, field = self, None
        for name in path.split("."):
            parent = self if field is None else _struct_in(field.type)
            field = next(f for f in parent.fields if f.name == name)
        return parent, field

    def __getitem__(self, path):
        return self.find(path)[1]

    def names(self):
        return [f.name for f in self.fields]

    # Each of these gives a changed copy; columns keep their numbers, so old rows follow.

    def adding(self, field, inside=None):
        new = copy.deepcopy(self)
        (_struct_in(new[inside].type) if inside else new).fields.append(field)
        return new

    def renaming(self, path, name):
        new = copy.deepcopy(self)
        new[path].name = name
        return new

    def dropping(self, path):
        new = copy.deepcopy(self)
        parent, field = new.find(path)
        parent.fields.remove(field)
        return new

    def widening(self, path, type):
        """Widens a primitive column, or with `path` ending in `.element`, `.key`, `.value` that part of a column."""
        new = copy.deepcopy(self)
        path, _, inner = path.rpartition(".") if path.endswith((".element", ".key", ".value")) else (path, "", "")
        f = new[path]
        old = getattr(f.type, inner) if inner else f.type
        f.changes = f.changes + [{"fromType": old, "toType": type, **({"fieldPath": inner} if inner else {})}]
        setattr(f.type, inner, type) if inner else setattr(f, "type", type)
        return new


def _struct_in(type):
    while not isinstance(type, Struct):
        type = type.element if isinstance(type, Array) else type.value
    return type


def _structs(type):
    """The structs directly reachable in a type without passing through another struct."""
    if isinstance(type, Struct):
        return [type]
    if isinstance(type, Array):
        return _structs(type.element)
    if isinstance(type, Map):
        return _structs(type.key) + _structs(type.value)
    return []


class Numbering:
    """Gives new fields their number and physical name."""

    def __init__(self, mapping=None):
        self.mapping, self.counter = mapping, itertools.count(1)
        self.last = 0

    def number(self, struct):
        for f in struct.fields:
            if f.key is None:
                f.key = self.last = next(self.counter)
                f.phys = f"col-{uuid.uuid4()}" if self.mapping else f.name
            for s in _structs(f.type):
                self.number(s)
        return struct


# ---------------------------------------------------------------- types as JSON and as Arrow

def type_json(type, mapping=None):
    if isinstance(type, Struct):
        return {"type": "struct", "fields": [_field_json(f, mapping) for f in type.fields]}
    if isinstance(type, Array):
        return {"type": "array", "elementType": type_json(type.element, mapping), "containsNull": True}
    if isinstance(type, Map):
        return {"type": "map", "keyType": type_json(type.key, mapping), "valueType": type_json(type.value, mapping), "valueContainsNull": True}
    return type


def _field_json(f, mapping):
    meta = {}
    if mapping:
        meta = {"delta.columnMapping.id": f.key, "delta.columnMapping.physicalName": f.phys}
    if f.changes:
        meta["delta.typeChanges"] = f.changes
    return {"name": f.name, "type": type_json(f.type, mapping), "nullable": f.nullable, "metadata": meta}


def decimal_of(type):
    m = re.fullmatch(r"decimal\((\d+),(-?\d+)\)", type) if isinstance(type, str) else None
    return (int(m[1]), int(m[2])) if m else None


def arrow_type(type, physical=False, ids=False):
    """The Arrow type: of change images (logical names), or of data files (physical names, field ids if asked)."""
    if isinstance(type, Struct):
        return pa.struct([arrow_field(f, physical, ids) for f in type.fields])
    if isinstance(type, Array):
        return pa.list_(pa.field("element", arrow_type(type.element, physical, ids)))
    if isinstance(type, Map):
        return pa.map_(arrow_type(type.key, physical, ids), arrow_type(type.value, physical, ids))
    d = decimal_of(type)
    return pa.decimal128(*d) if d else _PRIMITIVE[type]


def arrow_field(f, physical=False, ids=False):
    meta = {"PARQUET:field_id": str(f.key)} if ids else None
    return pa.field(f.phys if physical else f.name, arrow_type(f.type, physical, ids), True, metadata=meta)


# ---------------------------------------------------------------- values

def keyed(value, type):
    """A value written with names, as tests write it, in the form rows keep it."""
    if value is None:
        return None
    if isinstance(type, Struct):
        unknown = set(value) - set(type.names())
        assert not unknown, f"no such column: {unknown}"
        return {f.key: keyed(value.get(f.name), f.type) for f in type.fields}
    if isinstance(type, Array):
        return [keyed(v, type.element) for v in value]
    if isinstance(type, Map):
        items = value.items() if isinstance(value, dict) else value
        return [(keyed(k, type.key), keyed(v, type.value)) for k, v in items]
    return value


def image(value, type, physical=False):
    """A kept value under a schema: what a change row (or, `physical`, a data file) holds."""
    if value is None:
        return None
    if isinstance(type, Struct):
        return {f.phys if physical else f.name: image(value.get(f.key), f.type, physical) for f in type.fields}
    if isinstance(type, Array):
        return [image(v, type.element, physical) for v in value]
    if isinstance(type, Map):
        return [(image(k, type.key, physical), image(v, type.value, physical)) for k, v in value]
    return widened(value, type)


def widened(value, type):
    if type in ("float", "double"):
        return float(value)
    if type == "timestamp_ntz" and not isinstance(value, dt.datetime):
        return dt.datetime(value.year, value.month, value.day)
    d = decimal_of(type)
    if d:
        with decimal.localcontext() as ctx:
            ctx.prec = 60
            return decimal.Decimal(value).quantize(decimal.Decimal(1).scaleb(-d[1]))
    return value


def freeze(v):
    """A hashable stand-in for an image, exact to the bit of a double's sign, with maps free of order."""
    if isinstance(v, dict):
        return tuple((k, freeze(x)) for k, x in v.items())
    if isinstance(v, list):
        if v and isinstance(v[0], tuple):
            return ("map", tuple(sorted(((freeze(k), freeze(x)) for k, x in v), key=repr)))
        return ("list", tuple(freeze(x) for x in v))
    if isinstance(v, float):
        return "NaN" if math.isnan(v) else repr(v)
    if isinstance(v, decimal.Decimal):
        return format(v, "f")
    if isinstance(v, dt.datetime) and v.tzinfo:
        return v.astimezone(UTC)
    return v


def partition_text(value, type, zone="Z"):
    """How a partition value stands in the log; None is null. `zone`: Z, or empty for text without a zone."""
    if value is None:
        return None
    if type == "boolean":
        return "true" if value else "false"
    if type == "binary":
        return value.decode("ascii")
    if type == "timestamp":
        v = value.astimezone(UTC).replace(tzinfo=None)
        return v.isoformat(timespec="microseconds") + "Z" if zone == "Z" else v.isoformat(sep=" ")
    if type == "timestamp_ntz":
        return widened(value, type).isoformat(sep=" ")
    if type == "date":
        return value.isoformat()
    if decimal_of(type):
        return format(widened(value, type), "f")
    if type in ("float", "double"):
        return "NaN" if math.isnan(value) else repr(float(value)).replace("inf", "Infinity")
    return str(value)


# ---------------------------------------------------------------- file statistics

def stats_text(rows, struct, skip, mode="full", tight=True):
    """The `stats` string of an add. `mode`: full, count (numRecords only). Bounds are cut the way Spark cuts them:
    times to the millisecond below, strings to 32 characters; `tight` False marks them as outer bounds."""
    out = {"numRecords": len(rows)}
    if mode == "full":
        lows, highs, nulls = {}, {}, {}
        _bounds(rows, struct, skip, lows, highs, nulls)
        out.update(minValues=lows, maxValues=highs, nullCount=nulls)
    if not tight:
        out["tightBounds"] = False
    return _dump(out)


def _bounds(rows, struct, skip, lows, highs, nulls):
    for f in struct.fields:
        if f.key in skip or f.type == "void":
            continue
        column = [None if r is None else r.get(f.key) for r in rows]
        if isinstance(f.type, Struct):
            inner = {}, {}, {}
            _bounds(column, f.type, skip, *inner)
            lows[f.phys], highs[f.phys], nulls[f.phys] = inner
            continue
        here = [v for v in column if v is not None]
        nulls[f.phys] = len(column) - len(here)
        if not here or isinstance(f.type, (Array, Map)) or f.type in ("binary", "boolean"):
            continue
        here = [widened(v, f.type) for v in here]
        if f.type in ("float", "double") and any(math.isnan(v) for v in here):
            numbers = [v for v in here if not math.isnan(v)]
            if not numbers:
                continue
            lows[f.phys], highs[f.phys] = min(numbers), math.nan
            continue
        low, high = (min(here), max(here)) if f.type != "string" else (min(here, key=str.encode), max(here, key=str.encode))
        lows[f.phys], highs[f.phys] = _bound(low, f.type, False), _bound(high, f.type, True)


def _bound(v, type, is_max):
    if type == "string" and len(v) > 32:
        return v[:32] + ("\U0010ffff" if is_max else "")
    if type == "timestamp":
        return v.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"
    if type == "timestamp_ntz":
        return v.isoformat(timespec="milliseconds")
    if type == "date":
        return v.isoformat()
    return v


def _dump(v):
    if isinstance(v, dict):
        return "{" + ",".join(json.dumps(k) + ":" + _dump(x) for k, x in v.items()) + "}"
    if isinstance(v, decimal.Decimal):
        return format(v, "f")
    if isinstance(v, float) and not math.isfinite(v):
        return json.dumps("NaN" if math.isnan(v) else "Infinity" if v > 0 else "-Infinity")
    return json.dumps(v, ensure_ascii=False)
