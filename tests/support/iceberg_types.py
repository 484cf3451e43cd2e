# SPDX-License-Identifier: Apache-2.0
"""Iceberg types, values and partition transforms, for the table builder.

The one idea: a value is plain and exact, and a struct value is a dict by field id, so what a reader with another schema
sees of it is `project` and nothing else. Date = days, time = microseconds, timestamps = microseconds (nanoseconds for
the _ns types), decimal = decimal.Decimal, uuid/fixed/binary = bytes, list = list, map = list of (key, value).
"""
import dataclasses, datetime, decimal, hashlib, math, re, struct
from dataclasses import dataclass

import mmh3, pyarrow as pa

# ---------------------------------------------------------------------------------------------- types and values

MISSING = type("Missing", (), {"__repr__": lambda self: "MISSING"})()
ROW_ID, LAST_UPDATED = 2147483540, 2147483539
DELETE_PATH, DELETE_POS, DELETE_ROW = 2147483546, 2147483545, 2147483544
WIDE = decimal.Context(prec=60)       # Python's default would round a decimal(38)


@dataclass(frozen=True)
class Field:
    id: int
    name: str
    type: object                      # a primitive's name, Struct, List or Map
    required: bool = False
    initial: object = MISSING         # initial-default


@dataclass(frozen=True)
class Struct:
    fields: tuple

    def __iter__(self):
        return iter(self.fields)

    def get(self, id):
        return next((f for f in self.fields if f.id == id), None)

    def named(self, name):
        return next(f for f in self.fields if f.name == name)


@dataclass(frozen=True)
class List:
    element: Field


@dataclass(frozen=True)
class Map:
    key: Field
    value: Field


def struct_of(*columns):
    """A struct type from (name, type) pairs; ids are given when the column joins a table."""
    return Struct(tuple(Field(0, n, t) for n, t in columns))


def list_of(type):
    return List(Field(0, "element", type))


def map_of(key, value):
    return Map(Field(0, "key", key, required=True), Field(0, "value", value))


def decimal_of(type):
    """(precision, scale) of a decimal type, else None."""
    m = re.fullmatch(r"decimal\((\d+), ?(\d+)\)", type) if isinstance(type, str) else None
    return (int(m[1]), int(m[2])) if m else None


def fixed_of(type):
    m = re.fullmatch(r"fixed\[(\d+)\]", type) if isinstance(type, str) else None
    return int(m[1]) if m else None


def type_json(t):
    if isinstance(t, Struct):
        return {"type": "struct", "fields": [field_json(f) for f in t]}
    if isinstance(t, List):
        return {"type": "list", "element-id": t.element.id, "element": type_json(t.element.type), "element-required": t.element.required}
    if isinstance(t, Map):
        return {"type": "map", "key-id": t.key.id, "key": type_json(t.key.type), "value-id": t.value.id, "value": type_json(t.value.type), "value-required": t.value.required}
    return t


def field_json(f):
    j = {"id": f.id, "name": f.name, "required": f.required, "type": type_json(f.type)}
    if f.initial is not MISSING:
        j["initial-default"] = j["write-default"] = json_value(f.type, f.initial)
    return j


EPOCH = datetime.datetime(1970, 1, 1)


def json_value(t, v):
    """The single-value JSON form that defaults use."""
    if v is None or t in ("boolean", "int", "long", "float", "double", "string"):
        return v
    if t == "date":
        return (EPOCH + datetime.timedelta(days=v)).date().isoformat()
    if t == "time":
        return (EPOCH + datetime.timedelta(microseconds=v)).time().isoformat(timespec="microseconds")
    if t in ("timestamp", "timestamptz"):
        return (EPOCH + datetime.timedelta(microseconds=v)).isoformat(timespec="microseconds") + ("+00:00" if t == "timestamptz" else "")
    if t in ("timestamp_ns", "timestamptz_ns"):
        whole = (EPOCH + datetime.timedelta(seconds=v // 10**9)).isoformat(timespec="seconds")
        return f"{whole}.{v % 10**9:09d}" + ("+00:00" if t == "timestamptz_ns" else "")
    if decimal_of(t):
        return f"{v:f}"
    if t == "uuid":
        h = v.hex()
        return "-".join((h[:8], h[8:12], h[12:16], h[16:20], h[20:]))
    if t == "binary" or fixed_of(t):
        return v.hex()
    raise ValueError(f"no JSON form for {t}")


def twos_complement(n):
    """Big-endian two's complement in the fewest bytes."""
    return n.to_bytes((n + (n < 0)).bit_length() // 8 + 1, "big", signed=True)


def unscaled(t, v):
    return int(v.scaleb(decimal_of(t)[1], WIDE))


def bytes_value(t, v):
    """The single-value binary form that bounds use."""
    if t == "boolean":
        return bytes([v])
    if t in ("int", "date"):
        return struct.pack("<i", v)
    if t in ("long", "time") or t.startswith("timestamp"):
        return struct.pack("<q", v)
    if t == "float":
        return struct.pack("<f", v)
    if t == "double":
        return struct.pack("<d", v)
    if t == "string":
        return v.encode()
    if decimal_of(t):
        return twos_complement(unscaled(t, v))
    return bytes(v)


def arrow_type(t, ids=True):
    """The Arrow type a writer uses for a column; with ids the field ids travel into the Parquet schema."""
    if isinstance(t, Struct):
        return pa.struct([arrow_field(f, ids) for f in t])
    if isinstance(t, List):
        return pa.list_(arrow_field(t.element, ids, "element"))
    if isinstance(t, Map):
        return pa.map_(arrow_field(t.key, ids, "key", required=True), arrow_field(t.value, ids, "value"))
    if decimal_of(t):
        return pa.decimal128(*decimal_of(t))
    if fixed_of(t):
        return pa.binary(fixed_of(t))
    return {"boolean": pa.bool_(), "int": pa.int32(), "long": pa.int64(), "float": pa.float32(), "double": pa.float64(), "date": pa.date32(),
            "time": pa.time64("us"), "timestamp": pa.timestamp("us"), "timestamptz": pa.timestamp("us", "UTC"), "timestamp_ns": pa.timestamp("ns"),
            "timestamptz_ns": pa.timestamp("ns", "UTC"), "string": pa.string(), "uuid": pa.uuid(), "binary": pa.binary(), "unknown": pa.null()}[t]


def arrow_field(f, ids=True, name=None, required=None, nested=True):
    required = f.required if required is None else required
    t = "fixed[16]" if f.type == "uuid" and nested else f.type      # pyarrow makes uuid arrays at the top only
    return pa.field(name or f.name, arrow_type(t, ids), not required, metadata={"PARQUET:field_id": str(f.id)} if ids else None)


def arrow_value(v, t):
    """A model value as pyarrow wants it: structs by name."""
    if v is None:
        return None
    if isinstance(t, Struct):
        return {f.name: arrow_value(v.get(f.id), f.type) for f in t}
    if isinstance(t, List):
        return [arrow_value(x, t.element.type) for x in v]
    if isinstance(t, Map):
        return [(arrow_value(k, t.key.type), arrow_value(x, t.value.type)) for k, x in v]
    return v


def promoted(v, old, new):
    """The value of a primitive after its column's type grew."""
    if v is None or old == new:
        return v
    if old == "date" and new in ("timestamp", "timestamp_ns"):
        return v * 86_400_000_000 * (1000 if new.endswith("_ns") else 1)
    if decimal_of(new):
        return v
    if (old, new) in (("int", "long"), ("float", "double")) or old == "unknown":
        return v
    raise ValueError(f"no promotion from {old} to {new}")


def project(v, old, new):
    """A value written with type `old`, as a reader with type `new` sees it: fields follow their ids."""
    if v is None:
        return None
    if isinstance(new, Struct):
        return {f.id: read_field(v, old, f) for f in new}
    if isinstance(new, List):
        return [project(x, old.element.type, new.element.type) for x in v]
    if isinstance(new, Map):
        return [(project(k, old.key.type, new.key.type), project(x, old.value.type, new.value.type)) for k, x in v]
    return promoted(v, old, new)


def read_field(values, written, f, constant=MISSING):
    """One field of a struct value: as written, else the identity partition value, else the initial default, else null."""
    w = written.get(f.id)
    if w is not None:
        return project(values.get(f.id), w.type, f.type)
    if constant is not MISSING:
        return constant
    return None if f.initial is MISSING else f.initial


def canon(v):
    """A hashable form in which equal content is equal: NaN is NaN, a map has no order."""
    if isinstance(v, float):
        return ("nan",) if math.isnan(v) else v
    if isinstance(v, dict):
        return tuple(sorted(((str(k), canon(x)) for k, x in v.items())))
    if isinstance(v, tuple):
        return tuple(canon(x) for x in v)
    if isinstance(v, list):
        if v and all(isinstance(x, tuple) and len(x) == 2 for x in v):
            return ("map",) + tuple(sorted((canon(x) for x in v), key=repr))
        return ("list",) + tuple(canon(x) for x in v)
    return v


def with_ids(f, take):
    """The field with fresh ids wherever it has none; a struct's own fields are numbered before what they hold."""
    def fresh(g):
        return dataclasses.replace(g, id=g.id or take())
    f = fresh(f)
    t = f.type
    if isinstance(t, Struct):
        level = [fresh(g) for g in t]
        t = Struct(tuple(with_ids(g, take) for g in level))
    elif isinstance(t, List):
        t = List(with_ids(t.element, take))
    elif isinstance(t, Map):
        key, value = fresh(t.key), fresh(t.value)
        t = Map(with_ids(key, take), with_ids(value, take))
    return dataclasses.replace(f, type=t)


def stored(t):
    """The type as files hold it: columns of type unknown are not written, at any level."""
    def inner(f):
        return dataclasses.replace(f, type=stored(f.type))
    if isinstance(t, Struct):
        return Struct(tuple(inner(f) for f in t if f.type != "unknown"))
    if isinstance(t, List):
        return List(inner(t.element))
    return Map(inner(t.key), inner(t.value)) if isinstance(t, Map) else t


def all_fields(t):
    """Every field below a type, each level."""
    for f in t if isinstance(t, Struct) else [t.element] if isinstance(t, List) else [t.key, t.value] if isinstance(t, Map) else []:
        yield f
        yield from all_fields(f.type)


def path_to(t, id):
    """The fields from the root to the one with this id, through structs only; None when there is none."""
    for f in t if isinstance(t, Struct) else ():
        if f.id == id:
            return [f]
        below = path_to(f.type, id)
        if below:
            return [f] + below
    return None


def by_ids(v, t):
    """A value given with structs by name, as the model holds it."""
    if v is None:
        return None
    if isinstance(t, Struct):
        return {f.id: by_ids(v.get(f.name), f.type) for f in t}
    if isinstance(t, List):
        return [by_ids(x, t.element.type) for x in v]
    if isinstance(t, Map):
        return [(by_ids(k, t.key.type), by_ids(x, t.value.type)) for k, x in v]
    return v


def by_names(v, t):
    """The way back: structs by name."""
    if v is None:
        return None
    if isinstance(t, Struct):
        return {f.name: by_names(v.get(f.id), f.type) for f in t}
    if isinstance(t, List):
        return [by_names(x, t.element.type) for x in v]
    if isinstance(t, Map):
        return [(by_names(k, t.key.type), by_names(x, t.value.type)) for k, x in v]
    return v


# ---------------------------------------------------------------------------------------------------- transforms


@dataclass(frozen=True)
class PartitionField:
    source: int
    id: int
    name: str
    transform: str


@dataclass(frozen=True)
class Spec:
    id: int
    fields: tuple

    @property
    def partitioned(self):
        return any(f.transform != "void" for f in self.fields)


def width_of(transform):
    m = re.fullmatch(r"(bucket|truncate)\[(\d+)\]", transform)
    return (m[1], int(m[2])) if m else (transform, None)


def transform_type(transform, source):
    kind, _ = width_of(transform)
    if kind in ("identity", "truncate", "void"):
        return source
    if kind == "day":
        return "date"
    return "int" if kind in ("bucket", "year", "month", "hour") else "string"


def transform_value(transform, source, v):
    """What the transform makes of a value; a transform nobody knows makes a short text."""
    kind, width = width_of(transform)
    if v is None or kind == "void":
        return None
    if kind == "identity":
        return v
    if kind == "bucket":
        if source in ("timestamp_ns", "timestamptz_ns"):
            v //= 1000
        raw = v.encode() if isinstance(v, str) else v if isinstance(v, bytes) else twos_complement(unscaled(source, v)) if decimal_of(source) else struct.pack("<q", v)
        return (mmh3.hash(raw) & 0x7FFFFFFF) % width
    if kind == "truncate":
        if decimal_of(source):
            n = unscaled(source, v)
            return decimal.Decimal(n - n % width).scaleb(-decimal_of(source)[1], WIDE)
        return v[:width] if isinstance(v, (str, bytes)) else v - v % width
    if kind in ("year", "month", "day", "hour"):
        micros = v * 86_400_000_000 if source == "date" else v // 1000 if source.endswith("_ns") else v
        if kind in ("hour", "day"):
            return micros // (3_600_000_000 if kind == "hour" else 86_400_000_000)
        d = EPOCH + datetime.timedelta(microseconds=micros)
        return d.year - 1970 if kind == "year" else (d.year - 1970) * 12 + d.month - 1
    return f"{kind}-{hashlib.md5(repr(v).encode()).hexdigest()[:2]}"
