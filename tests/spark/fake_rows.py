# SPDX-License-Identifier: Apache-2.0
"""What the fake server's one table holds, and its answers to SQL as Arrow tables.

The one idea: four commits of 250 change rows each, computed, the same in every dialect, so that a test knows the right
answer without asking. SQL is recognised, not parsed: the few shapes that a reader of changes sends, by pattern. What is
not recognised is a loud error, never an empty answer. Run as a script (by build/spark/client/bin/python) it prints how
many rows of each kind a commit has.

  SELECT list FROM t CHANGES FROM VERSION a [INCLUSIVE|EXCLUSIVE] [TO VERSION b [INCLUSIVE|EXCLUSIVE]] [WITH (...)] ...
  SELECT list FROM table_changes('t', a[, b]) ...
  CALL c.system.create_changelog_view(...)      then SELECT list FROM view ...      and DROP VIEW [IF EXISTS] view
  SELECT list FROM `t` [VERSION AS OF v]
  DESCRIBE HISTORY t      DESCRIBE DETAIL t      SELECT list FROM t.snapshots|t.history      SET ...
  REFRESH TABLE t
  ... LIMIT n   and the hash slice   pmod(<anything>, n) = i   (rows with id % n = i) at the end of any SELECT
  [NOT] `_change_type` IN ('word', ...), also anywhere in a SELECT; ORDER BY is not looked at
A list is *, or names, bare or in backticks. A table whose name holds `nowhere` does not exist.
"""

import datetime
import re

import pyarrow

VERSIONS = 4
ROWS_PER_VERSION = 250
SNAPSHOTS = [7000000000000000000 + version for version in range(VERSIONS + 1)]  # Iceberg's names for versions 0 to 4
DATA_COLUMNS = ("id", "name", "region", "note")
UTC = pyarrow.timestamp("us", tz="UTC")


class SqlError(Exception):
    """An error as Spark words it: class, SQLSTATE, text, and the Java class that carries it."""

    def __init__(self, condition, state, text, java="org.apache.spark.sql.AnalysisException", parameters=None):
        super().__init__(text)
        self.condition, self.state, self.java, self.parameters = condition, state, java, parameters or {}


def unknown_sql(sql):
    return SqlError(
        "PARSE_SYNTAX_ERROR",
        "42601",
        f"[PARSE_SYNTAX_ERROR] the fake server does not know this SQL: {sql}",
        "org.apache.spark.sql.catalyst.parser.ParseException",
    )


def commit_time(version):
    return datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc) + datetime.timedelta(days=version)


def row(number, edition, version, word):
    region = None if number % 10 == 0 else ("north", "south")[number % 2]
    return {
        "id": number,
        "name": f"name {number}.{edition}",
        "region": region,
        "note": f"{number:04d}" * 60,
        "version": version,
        "word": word,
    }


def changes_of(version):
    """The rows of one commit: inserts; updates; deletes and inserts; updates."""
    half = ROWS_PER_VERSION // 2
    if version == 1:
        return [row(number, 0, 1, "insert") for number in range(ROWS_PER_VERSION)]
    if version == 3:
        return [row(number, 1, 3, "delete") for number in range(half)] + [
            row(number, 0, 3, "insert") for number in range(ROWS_PER_VERSION, ROWS_PER_VERSION + half)
        ]
    numbers = range(half) if version == 2 else range(half, 2 * half)
    return [
        each
        for number in numbers
        for each in (row(number, 0, version, "update_preimage"), row(number, 1, version, "update_postimage"))
    ]


def changes(first, last):
    return [each for version in range(max(first, 1), last + 1) for each in changes_of(version)]


def data_arrays(rows):
    return [("id", pyarrow.array([each["id"] for each in rows], pyarrow.int64()))] + [
        (name, pyarrow.array([each[name] for each in rows], pyarrow.string())) for name in DATA_COLUMNS[1:]
    ]


def delta_table(rows, with_metadata, with_updates):
    words = {} if with_updates else {"update_preimage": "delete", "update_postimage": "insert"}
    columns = data_arrays(rows)
    if with_metadata:
        kind = pyarrow.struct([("row_id", pyarrow.int64()), ("row_commit_version", pyarrow.int64())])
        columns.append(
            (
                "_metadata",
                pyarrow.array([{"row_id": each["id"], "row_commit_version": each["version"]} for each in rows], kind),
            )
        )
    columns += [
        ("_change_type", pyarrow.array([words.get(each["word"], each["word"]) for each in rows], pyarrow.string())),
        ("_commit_version", pyarrow.array([each["version"] for each in rows], pyarrow.int64())),
        ("_commit_timestamp", pyarrow.array([commit_time(each["version"]) for each in rows], UTC)),
    ]
    return pyarrow.table(dict(columns))


def table_at(version):
    """The table itself at a version or snapshot, from its changes."""
    rows = {}
    for each in changes(1, SNAPSHOTS.index(version) if version in SNAPSHOTS else version):
        if each["word"] in ("delete", "update_preimage"):
            del rows[each["id"]]
        else:
            rows[each["id"]] = each
    return pyarrow.table(dict(data_arrays(list(rows.values()))))


def iceberg_table(rows):
    words = {"update_preimage": "UPDATE_BEFORE", "update_postimage": "UPDATE_AFTER"}
    first = rows[0]["version"] if rows else 0
    return pyarrow.table(
        dict(
            data_arrays(rows)
            + [
                (
                    "_change_type",
                    pyarrow.array([words.get(each["word"], each["word"].upper()) for each in rows], pyarrow.string()),
                ),
                ("_change_ordinal", pyarrow.array([each["version"] - first for each in rows], pyarrow.int32())),
                ("_commit_snapshot_id", pyarrow.array([SNAPSHOTS[each["version"]] for each in rows], pyarrow.int64())),
            ]
        )
    )


def history_table():
    versions = range(VERSIONS, -1, -1)
    metrics = pyarrow.map_(pyarrow.string(), pyarrow.string())
    return pyarrow.table(
        {
            "version": pyarrow.array(versions, pyarrow.int64()),
            "timestamp": pyarrow.array([commit_time(version) for version in versions], UTC),
            "operation": pyarrow.array(["MERGE" if version else "CREATE TABLE" for version in versions]),
            "operationMetrics": pyarrow.array(
                [[("numOutputRows", str(ROWS_PER_VERSION if version else 0))] for version in versions], metrics
            ),
        }
    )


def snapshots_table():
    versions = range(1, VERSIONS + 1)
    return pyarrow.table(
        {
            "committed_at": pyarrow.array([commit_time(version) for version in versions], UTC),
            "made_current_at": pyarrow.array([commit_time(version) for version in versions], UTC),
            "snapshot_id": pyarrow.array([SNAPSHOTS[version] for version in versions], pyarrow.int64()),
            "parent_id": pyarrow.array(
                [SNAPSHOTS[version - 1] if version > 1 else None for version in versions], pyarrow.int64()
            ),
            "operation": pyarrow.array(["overwrite" if version > 1 else "append" for version in versions]),
            "is_current_ancestor": pyarrow.array([True for _version in versions]),
            "summary": pyarrow.array(
                [[("added-records", str(ROWS_PER_VERSION))] for _version in versions],
                pyarrow.map_(pyarrow.string(), pyarrow.string()),
            ),
        }
    )


# --- SQL


def bounds(sql):
    """First and last version of a CHANGES clause; either may be past the head."""
    match = re.search(
        r"CHANGES\s+FROM\s+VERSION\s+'?(\d+)'?(\s+EXCLUSIVE|\s+INCLUSIVE)?"
        r"(?:\s+TO\s+VERSION\s+'?(\d+)'?(\s+EXCLUSIVE|\s+INCLUSIVE)?)?",
        sql,
        re.I,
    )
    if not match:
        raise unknown_sql(sql)
    first = int(match[1]) + (1 if (match[2] or "").strip().upper() == "EXCLUSIVE" else 0)
    last = int(match[3]) - (1 if (match[4] or "").strip().upper() == "EXCLUSIVE" else 0) if match[3] else VERSIONS
    return first, last


def native_changes(sql):
    first, last = bounds(sql)
    limited = re.search(r"LIMIT\s+0\s*$", sql, re.I)
    if last > VERSIONS:
        raise SqlError(
            "",
            "",
            f"Cannot load table version {last} as it does not exist. The latest available version is {VERSIONS}.",
            "io.delta.kernel.exceptions.KernelException",
        )
    if first > last and not limited:
        raise SqlError(
            "DELTA_INVALID_CDC_RANGE",
            "22003",
            f"[DELTA_INVALID_CDC_RANGE] CDC range from start {first} to end {last} was invalid. End cannot be before start.",
            "org.apache.spark.sql.delta.DeltaIllegalArgumentException",
        )
    if re.search(r"netChanges", sql, re.I):
        raise unknown_sql(sql)
    updates = re.search(r"computeUpdates'?\s*=\s*'?true", sql, re.I)
    return delta_table(changes(first, last), with_metadata=True, with_updates=bool(updates))


def table_changes(sql):
    match = re.search(r"table_changes\(\s*(?:'(?:[^'\\]|\\.)*')\s*,\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)", sql, re.I)
    if not match:
        raise unknown_sql(sql)
    first, last = int(match[1]), min(int(match[2] or VERSIONS), VERSIONS)
    if first > VERSIONS:
        raise SqlError(
            "DELTA_CDC_START_VERSION_AFTER_LATEST",
            "22003",
            f"[DELTA_CDC_START_VERSION_AFTER_LATEST] Start version {first} for change data feed exceeds the latest table "
            f"version {VERSIONS}.",
            "org.apache.spark.sql.delta.DeltaIllegalArgumentException",
        )
    return delta_table(changes(first, last), with_metadata=False, with_updates=True)


def create_view(sql, views):
    name = re.search(r"changelog_view\s*=>\s*'([^']+)'", sql)
    name = name[1] if name else "t_changes"

    def snapshot(option, otherwise):
        match = re.search(option + r"'\s*,\s*'(\d+)'", sql)
        if match and int(match[1]) not in SNAPSHOTS:
            raise SqlError(
                "", "", f"Cannot find snapshot {match[1]}", "org.apache.iceberg.exceptions.ValidationException"
            )
        return SNAPSHOTS.index(int(match[1])) if match else otherwise

    views[name] = (snapshot("start-snapshot-id", 0) + 1, snapshot("end-snapshot-id", VERSIONS))
    return pyarrow.table({"changelog_view": [name]})


def drop_view(sql, views):
    name = re.sub(r"^\s*DROP\s+VIEW\s+(IF\s+EXISTS\s+)?", "", sql, flags=re.I).strip().strip("`")
    if views.pop(name, None) is None and not re.search(r"IF\s+EXISTS", sql, re.I):
        raise SqlError("VIEW_NOT_FOUND", "42P01", f"[VIEW_NOT_FOUND] The view {name} cannot be found.")
    return pyarrow.table({})


def split_list(text):
    """At commas outside backticks and brackets."""
    items, depth, quoted, start = [], 0, False, 0
    for at, letter in enumerate(text):
        quoted ^= letter == "`"
        depth += 0 if quoted else (letter == "(") - (letter == ")")
        if letter == "," and not quoted and depth == 0:
            items.append(text[start:at].strip())
            start = at + 1
    return items + [text[start:].strip()]


def select(sql, table):
    """The list, LIMIT and hash slice of a SELECT over a table."""
    slice_of = re.search(r"pmod\(.*,\s*(\d+)L?\)\s*=\s*(\d+)", sql, re.I | re.S)
    if slice_of:
        keep = [
            at for at, number in enumerate(table["id"].to_pylist()) if number % int(slice_of[1]) == int(slice_of[2])
        ]
        table = table.take(pyarrow.array(keep, pyarrow.int64()))
    old = re.search(r"(NOT\s+)?`_change_type`\s+IN\s*\(([^)]*)\)(?!\s+THEN)", sql, re.I)
    if old:
        words = re.findall(r"'(\w+)'", old[2])
        keep = [at for at, word in enumerate(table["_change_type"].to_pylist()) if (word in words) != bool(old[1])]
        table = table.take(pyarrow.array(keep, pyarrow.int64()))
    limit = re.search(r"LIMIT\s+(\d+)\s*$", sql, re.I)
    if limit:
        table = table.slice(0, int(limit[1]))
    match = re.match(r"\s*SELECT\s+(.*?)\s+FROM\s", sql, re.I | re.S)
    if not match:
        raise unknown_sql(sql)
    names = []
    for item in split_list(match[1]):
        name = item[1:-1].replace("``", "`") if item.startswith("`") else item
        if name == "*" or name.endswith(".*"):
            names += table.column_names
        elif name in table.column_names:
            names.append(name)
        else:
            raise SqlError(
                "UNRESOLVED_COLUMN.WITH_SUGGESTION",
                "42703",
                f"[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column, variable, or function parameter with name `{name}` cannot "
                "be resolved.",
            )
    return table.select(names)


def answer(sql, views):
    """The Arrow table that sql gives in a session with these changelog views."""
    if re.search(r"nowhere", sql):
        raise SqlError(
            "TABLE_OR_VIEW_NOT_FOUND", "42P01", "[TABLE_OR_VIEW_NOT_FOUND] The table or view `nowhere` cannot be found."
        )
    if re.match(r"\s*CALL\s.*create_changelog_view", sql, re.I | re.S):
        return create_view(sql, views)
    if re.match(r"\s*DROP\s+VIEW\s", sql, re.I):
        return drop_view(sql, views)
    if re.match(r"\s*REFRESH\s+TABLE\s", sql, re.I):
        return pyarrow.table({})
    if re.match(r"\s*SET\s", sql, re.I):
        return pyarrow.table({"key": ["set"], "value": ["set"]})
    if re.match(r"\s*DESCRIBE\s+HISTORY\s", sql, re.I):
        return history_table()
    if re.match(r"\s*DESCRIBE\s+DETAIL\s", sql, re.I):
        return pyarrow.table({"format": ["delta"], "location": ["file:/fake/nothing/here"]})
    if re.search(r"\sCHANGES\s+FROM\s", sql, re.I):
        return select(sql, native_changes(sql))
    if re.search(r"\stable_changes\(", sql, re.I):
        return select(sql, table_changes(sql))
    if re.search(r"DESCRIBE\s+HISTORY\s", sql, re.I):
        return select(sql, history_table())
    if re.search(r"\.`?(snapshots|history)`?(\s|$)", sql):
        return select(sql, snapshots_table())
    for name, (first, last) in views.items():
        if re.search(rf"\sFROM\s+`?{re.escape(name)}`?(\s|$)", sql, re.I):
            return select(sql, iceberg_table(changes(first, last)))
    state = re.search(r"\sFROM\s+(?:`\w+`\.?)+(?:\s+VERSION\s+AS\s+OF\s+(\d+))?(\s+LIMIT\s+\d+)?\s*$", sql, re.I)
    if state:
        return select(sql, table_at(VERSIONS if state[1] is None else int(state[1])))
    raise unknown_sql(sql)


def main():
    for version in range(1, VERSIONS + 1):
        words = [each["word"] for each in changes_of(version)]
        print(version, SNAPSHOTS[version], {word: words.count(word) for word in dict.fromkeys(words)})


if __name__ == "__main__":
    main()
