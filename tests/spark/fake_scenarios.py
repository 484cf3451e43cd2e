# SPDX-License-Identifier: Apache-2.0
"""The scenarios of the fake server: each a class whose docstring says what goes wrong and what a client owes.

A scenario is a healthy server (the base class) that does one thing otherwise. Its name is the class name in snake case.
Rows are those of fake_rows, so a scenario that a client can get through gives exactly the rows of `healthy`. What is done to
responses is done to feeds only, that is to answers of three batches (201 rows) or more: probes and histories stay healthy.
Streams of one operation are numbered: 0 is the first answer to ExecutePlan, then one for each ReattachExecute.
"""

import re
import struct
import uuid

import grpc
import pyarrow
from google.protobuf import duration_pb2
from google.rpc import error_details_pb2

import fake_front
from fake_protocol import Item, Refusal, cursor_error, fill_error, handle_error, ipc_stream, packed
from fake_rows import SqlError

BATCH_ROWS = 100
INTERNAL = grpc.StatusCode.INTERNAL
UNAVAILABLE = grpc.StatusCode.UNAVAILABLE


def scenarios(root=None):
    root = root or Healthy
    return [root] + [each for child in root.__subclasses__() for each in scenarios(child)]


def names():
    return {snake(each.__name__): " ".join(each.__doc__.split()) for each in scenarios()}


def by_name(name):
    return next(each for each in scenarios() if snake(each.__name__) == name)()


def snake(name):
    return re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()


def batches_of(items):
    return [item for item in items if item.is_batch]


def middle_of(item):
    return len(item.batch["data"]) // 2


def replace_batch(items, number, **changes):
    """Changes fields of the number-th batch message."""
    batches_of(items)[number].batch.update(changes)
    return items


def as_appends(history):
    """DESCRIBE HISTORY of a table that was only appended to."""
    kind = pyarrow.map_(pyarrow.string(), pyarrow.string())
    count = history.num_rows
    history = history.set_column(history.column_names.index("operation"), "operation", pyarrow.array(["WRITE"] * count))
    return history.append_column("operationParameters", pyarrow.array([[("mode", "Append")]] * count, kind))


class Healthy:
    """Everything goes well."""

    version = "4.2.1"
    token = None
    silent = False

    def enter(self, rpc, request, call):
        """Before the call-th call of an RPC in a session; may raise."""

    def execute(self, sql):
        """Before SQL runs; may raise."""

    def answer(self, sql, table):
        """What a statement gives, perhaps changed."""
        return table

    def metadata(self, execution, context):
        """Headers and trailers of its own."""

    def response_id(self, execution, item):
        return item.response_id

    def batches(self, table):
        """The table as record batches, or as pairs of row count and IPC bytes; an empty table is one empty batch."""
        empty = pyarrow.RecordBatch.from_pylist([], schema=table.schema)
        return table.combine_chunks().to_batches(max_chunksize=BATCH_ROWS) or [empty]

    def script(self, items):
        """The responses of a feed, complete."""
        return items

    def play(self, stream, items):
        """What of it one stream sends, and when; None means only time has passed."""
        yield from items

    def fetch(self, error, response):
        """What FetchErrorDetails knows of an error."""
        fill_error(error, response)


# --- what an engine can do


class Spark41(Healthy):
    """Spark 4.1 says it is 4.1.4 and knows no CHANGES clause."""

    version = "4.1.4"

    def execute(self, sql):
        if re.search(r"\sCHANGES\s+FROM\s", sql, re.I):
            raise SqlError(
                "PARSE_SYNTAX_ERROR",
                "42601",
                "[PARSE_SYNTAX_ERROR] Syntax error at or near 'FROM'. SQLSTATE: 42601",
                "org.apache.spark.sql.catalyst.parser.ParseException",
            )


class OddVersion(Healthy):
    """The version is no version."""

    version = "banana;4.2"


class FlagOff(Healthy):
    """The catalog does not do CHANGES; table_changes works."""

    def execute(self, sql):
        if re.search(r"\sCHANGES\s+FROM\s", sql, re.I):
            raise SqlError(
                "UNSUPPORTED_FEATURE.CHANGE_DATA_CAPTURE",
                "0A000",
                "[UNSUPPORTED_FEATURE.CHANGE_DATA_CAPTURE] The feature is not "
                "supported: Catalog spark_catalog does not support Change Data Capture (CDC). SQLSTATE: 0A000",
            )


class GreenProbe(Healthy):
    """CHANGES works with LIMIT 0 and fails when it is read, as on a Delta table without row tracking; table_changes works."""

    def execute(self, sql):
        if re.search(r"\sCHANGES\s+FROM\s", sql, re.I) and not re.search(r"LIMIT\s+0\s*$", sql, re.I):
            raise SqlError(
                "DELTA_CHANGELOG_REQUIRES_ROW_TRACKING",
                "0AKDE",
                "[DELTA_CHANGELOG_REQUIRES_ROW_TRACKING] Change data capture via CHANGES on `t` requires row tracking.",
                "org.apache.spark.sql.delta.DeltaAnalysisException",
            )


class NoEnginePath(FlagOff):
    """Neither CHANGES nor table_changes nor a changelog view works."""

    def execute(self, sql):
        super().execute(sql)
        if "table_changes" in sql:
            raise SqlError(
                "DELTA_MISSING_CHANGE_DATA",
                "KD002",
                "[DELTA_MISSING_CHANGE_DATA] Error getting change data for range [1 , 4] as "
                "change data was not\nrecorded for version [1].",
                "org.apache.spark.sql.delta.DeltaAnalysisException",
            )
        if "create_changelog_view" in sql:
            raise SqlError(
                "FAILED_TO_LOAD_ROUTINE",
                "38000",
                "[FAILED_TO_LOAD_ROUTINE] Failed to load routine `create_changelog_view`.",
            )


class Appends(Healthy):
    """The history says of every version that it only added rows, and so it is."""

    def answer(self, sql, table):
        """What a statement gives, changed at will."""
        if re.match(r"\s*DESCRIBE\s+HISTORY\s", sql, re.I):
            return as_appends(table)
        if "_change_type" in table.column_names:
            inserts = [word == "insert" for word in table["_change_type"].to_pylist()]
            return table.filter(pyarrow.array(inserts, pyarrow.bool_()))
        return table


class LyingHistory(Appends):
    """The history says of every version that it only added rows, and they did more: all rows, old ones first."""

    def answer(self, sql, table):
        if re.match(r"\s*DESCRIBE\s+HISTORY\s", sql, re.I):
            return as_appends(table)
        if "_change_type" not in table.column_names:
            return table
        words, versions = table["_change_type"].to_pylist(), table["_commit_version"].to_pylist()
        if "ORDER BY" in sql:
            order = sorted(range(len(words)), key=lambda at: (versions[at], words[at] in ("insert", "update_postimage")))
        else:
            order = list(reversed(range(len(words))))
        return table.take(pyarrow.array(order, pyarrow.int64()))


class LateLie(LyingHistory):
    """As lying_history, but the first batch holds inserts only: an error, for its rows have left."""

    def answer(self, sql, table):
        table = super().answer(sql, table)
        if "_change_type" not in table.column_names or "ORDER BY" in sql:
            return table
        words = table["_change_type"].to_pylist()
        order = sorted(range(len(words)), key=lambda at: words[at] != "insert")
        inserts = [at for at in order if words[at] == "insert"]
        more = inserts * (BATCH_ROWS // max(len(inserts), 1) + 1)
        return table.take(pyarrow.array(more[:BATCH_ROWS] + order, pyarrow.int64()))


class MergeOnRead(Spark41):
    """Spark 4.1 whose changelog view can be made but not read, as over Iceberg delete files; the error has no class."""

    def execute(self, sql):
        super().execute(sql)
        if re.match(r"\s*SELECT\s", sql, re.I) and not re.search(r"\.`?(snapshots|history)", sql):
            raise SqlError(
                "",
                "",
                "Delete files are currently not supported in changelog scans",
                "java.lang.UnsupportedOperationException",
            )


# --- streams that break and can be taken up again


class StreamLimit(Healthy):
    """Every stream ends OK after five responses, without result_complete: reattach, no gap."""

    def play(self, stream, items):
        for _count, item in zip(range(5), items):
            yield item


class CutMidBatch(Healthy):
    """The connection is reset in the middle of the third batch: reattach, no gap, no repeat."""

    def play(self, stream, items):
        for item in items:
            if stream.number == 0 and item.is_batch and stream.batches == 2:
                stream.strike(fake_front.cut, middle_of(item))
            yield item


class CutEveryStream(Healthy):
    """Every stream is reset in the middle of its second batch: reattach again and again, it gets on."""

    def play(self, stream, items):
        for item in items:
            if item.is_batch and stream.batches == 1:
                stream.strike(fake_front.cut, middle_of(item))
            yield item


class CutForever(Healthy):
    """Every stream after the first batch is reset before anything new arrives: give up, within the deadline."""

    def play(self, stream, items):
        for item in items:
            if stream.execution.is_feed and (stream.number > 0 or stream.batches == 1):
                stream.strike(fake_front.cut, 20)
            yield item


class AbruptClose(Healthy):
    """The connection is reset between two batches: reattach."""

    def play(self, stream, items):
        for item in items:
            if stream.number == 0 and stream.batches == 3:
                stream.strike(fake_front.cut)
            yield item


class RstStream(Healthy):
    """The stream is reset, the connection lives: an error or a reattach, never a part as if it were all."""

    def play(self, stream, items):
        for item in items:
            if stream.number == 0 and stream.batches == 3:
                stream.strike(fake_front.reset_stream, 100)
            yield item


class GoawayGraceful(Healthy):
    """GOAWAY in mid-stream: this stream may end, new calls need a new connection (field link of the record)."""

    def play(self, stream, items):
        for item in items:
            if stream.number == 0 and item.is_batch and stream.batches == 3:
                stream.strike(fake_front.go_away, middle_of(item))
            yield item


class GoawayAbrupt(Healthy):
    """GOAWAY too_many_pings and a closed connection: reattach on a new one."""

    def play(self, stream, items):
        for item in items:
            if stream.number == 0 and item.is_batch and stream.batches == 3:
                stream.strike(fake_front.go_away_abruptly, middle_of(item))
            yield item


class DiesMidRead(Healthy):
    """The server is gone in the middle of the third batch, and refuses connections from then on: an error, soon."""

    def play(self, stream, items):
        for item in items:
            if item.is_batch and stream.batches == 2:
                stream.strike(fake_front.die, middle_of(item))
            yield item


class ReattachRepeats(CutMidBatch):
    """Cut in mid-batch; the reattached stream starts from the first response again: an error, never rows twice."""

    def play(self, stream, items):
        if stream.number > 0:
            items = iter(stream.execution.items)
        yield from super().play(stream, items)


class ReattachSkips(CutMidBatch):
    """Cut in mid-batch; the reattached stream leaves one batch out: an error, never a gap."""

    def play(self, stream, items):
        skipped = stream.number == 0
        for item in super().play(stream, items):
            if item.is_batch and not skipped:
                skipped = True
                continue
            yield item


class ReattachLost(CutMidBatch):
    """Cut in mid-batch; the server does not know the operation any more: an error, for rows were delivered."""

    def enter(self, rpc, request, call):
        if rpc == "ReattachExecute":
            raise handle_error("OPERATION_NOT_FOUND", f"Operation {request.operation_id} not found.")


class ReattachTooLate(CutMidBatch):
    """Cut in mid-batch; the position is no longer kept: an error."""

    def enter(self, rpc, request, call):
        if rpc == "ReattachExecute":
            raise cursor_error(
                "POSITION_NOT_AVAILABLE", f"The cursor position id {request.last_response_id} is no longer available."
            )


class ReattachDisconnected(CutMidBatch):
    """Cut in mid-batch; the first two reattaches are told INVALID_CURSOR.DISCONNECTED, which is worth another try."""

    def enter(self, rpc, request, call):
        if rpc == "ReattachExecute" and call <= 2:
            raise cursor_error("DISCONNECTED", "The cursor has been disconnected by the server.")


class ReattachStuck(Healthy):
    """After two batches every stream ends OK with nothing new and no result_complete: give up, within the deadline."""

    def play(self, stream, items):
        if stream.number == 0:
            for item in items:
                if stream.batches == 2:
                    return
                yield item


# --- offsets, chunks and the end


class OffsetGap(Healthy):
    """One batch is missing from the stream: start_offset jumps; an error."""

    def script(self, items):
        missing = batches_of(items)[1:2]
        return [item for item in items if item not in missing]


class OffsetRepeat(Healthy):
    """One batch comes twice, under two response ids: start_offset goes back; an error."""

    def script(self, items):
        out = []
        for item in items:
            out.append(item)
            if item in batches_of(items)[1:2]:
                out.append(Item(item.batch))
        return out


class OffsetAbsent(Healthy):
    """No batch has a start_offset, as from an older server: all rows."""

    def script(self, items):
        for item in batches_of(items):
            del item.batch["start_offset"]
        return items


class EndMissing(Healthy):
    """The metrics come, result_complete never does, and a reattach gives nothing: not a good end."""

    def script(self, items):
        return [item for item in items if "result_complete" not in item.fields]


class AfterTheEnd(Healthy):
    """One more batch follows result_complete: an error, or nothing of it."""

    def script(self, items):
        return items + [Item(item.batch) for item in batches_of(items)[-1:]]


class Chunked(Healthy):
    """Batches come in chunks of 7000 bytes, asked for or not: all rows."""

    def script(self, items):
        out = []
        for item in items:
            out += self.chunks(item) if item.is_batch else [item]
        return out

    @staticmethod
    def chunks(item):
        data = item.batch["data"]
        parts = [data[at : at + 7000] for at in range(0, len(data), 7000)]
        return [
            Item({**item.batch, "data": part, "chunk_index": index, "num_chunks_in_batch": len(parts)})
            for index, part in enumerate(parts)
        ]


class ChunkCut(Chunked):
    """Chunked, and the connection is reset in the middle of a batch's second chunk: reattach, all rows."""

    def play(self, stream, items):
        for item in items:
            if stream.number == 0 and stream.batches == 6 and item.is_batch:
                stream.strike(fake_front.cut, middle_of(item))
            yield item


class ChunkLost(Chunked):
    """Chunked, and one chunk is missing: an error."""

    def script(self, items):
        items = super().script(items)
        return [item for item in items if item is not batches_of(items)[6]]


class ChunkRepeated(Chunked):
    """Chunked, and one chunk comes twice: an error."""

    def script(self, items):
        items = super().script(items)
        at = items.index(batches_of(items)[6])
        return items[: at + 1] + [Item(items[at].batch)] + items[at + 1 :]


class ChunkCountChanges(Chunked):
    """Chunked, and a later chunk names another number of chunks: an error."""

    def script(self, items):
        return replace_batch(super().script(items), 2, num_chunks_in_batch=3)


class ChunkUnfinished(Chunked):
    """Chunked, and the stream ends in the middle of the last batch, with result_complete: an error."""

    def script(self, items):
        items = super().script(items)
        return [item for item in items if item is not batches_of(items)[-1]]


class ChunkEndless(Chunked):
    """The first chunk says it is one of 2^60: an error, and no allocation of that size."""

    def script(self, items):
        return replace_batch(super().script(items), 0, num_chunks_in_batch=1 << 60)


class ChunkUncounted(Chunked):
    """A chunk that is not the first says that there is one: an error."""

    def script(self, items):
        return replace_batch(Healthy.script(self, items), 1, chunk_index=1, num_chunks_in_batch=1)


class ChunkNegative(Healthy):
    """A batch is one of -4 chunks: an error."""

    def script(self, items):
        return replace_batch(items, 1, chunk_index=0, num_chunks_in_batch=-4)


class RowsNegative(Healthy):
    """A batch has -1 rows: an error."""

    def script(self, items):
        return replace_batch(items, 1, row_count=-1)


class RowsHuge(Healthy):
    """A batch has 2^63-1 rows by its own account: an error."""

    def script(self, items):
        return replace_batch(items, 0, row_count=(1 << 63) - 1)


class OffsetHuge(Healthy):
    """A batch begins at row 2^63-1: an error."""

    def script(self, items):
        return replace_batch(items, 1, start_offset=(1 << 63) - 1)


class OffsetNegative(Healthy):
    """A batch begins before the first row: an error."""

    def script(self, items):
        return replace_batch(items, 1, start_offset=-(1 << 63))


class IdsMissing(CutMidBatch):
    """No response has an id, so a reattach starts from the first again: an error, never rows twice."""

    def response_id(self, execution, item):
        return "" if execution.is_feed else item.response_id


class IdsRepeated(CutMidBatch):
    """All responses have the id of the first, where a reattach goes on: an error, never rows twice."""

    def response_id(self, execution, item):
        return (execution.items[0] if execution.is_feed else item).response_id


class PlacesMissing(IdsMissing):
    """As ids_missing, and no batch says where it begins: an error, as nothing tells whether rows come twice."""

    def script(self, items):
        return [Item({k: v for k, v in item.batch.items() if k != "start_offset"}) if item.is_batch else item for item in items]


# --- what no gRPC library lets a server send


class FrameCompressed(Healthy):
    """The third batch's frame says that it is compressed: an error."""

    swap = b"\x01\x00\x00\x00\x04abcd"

    def play(self, stream, items):
        for item in items:
            if stream.batches == 2 and item.is_batch and stream.execution.is_feed:
                stream.pause(0.5)  # all that was sent has gone
                stream.link.swap = self.swap
            yield item


class FrameHuge(FrameCompressed):
    """The third batch's frame announces 4 GiB: an error, and no allocation of that size."""

    swap = b"\x00\xff\xff\xff\xff" + b"x" * 100


class HeaderFlood(Healthy):
    """Three megabytes of headers come before a feed's first response: an error."""

    def metadata(self, execution, context):
        if execution.is_feed:
            context.send_initial_metadata([(f"x-flood-{number}", "x" * 30_000) for number in range(100)])


class TrailerFlood(Healthy):
    """A stream ends with three megabytes of trailers after three batches: taken up again, all rows."""

    def metadata(self, execution, context):
        if execution.is_feed:
            context.set_trailing_metadata([(f"x-flood-{number}", "x" * 30_000) for number in range(100)])

    def play(self, stream, items):
        for item in items:
            if stream.batches == 3 and stream.execution.is_feed:
                raise Refusal(INTERNAL, "after the flood")
            yield item


# --- what is in the messages


def changed_column(table, name, change):
    if name not in table.column_names:
        return table
    at = table.column_names.index(name)
    column = change(table[name])
    return table.set_column(at, name, column) if column is not None else table.remove_column(at)


class UnknownOp(Healthy):
    """One row's _change_type is `upsert`: an error."""

    word = "upsert"

    def batches(self, table):
        words = lambda column: pyarrow.array(
            [self.word if at == 150 else word for at, word in enumerate(column.to_pylist())], pyarrow.string()
        )
        return super().batches(changed_column(table, "_change_type", words))


class NullOp(UnknownOp):
    """One row's _change_type is null: an error."""

    word = None


class OpMissing(Healthy):
    """There is no column _change_type: an error."""

    def batches(self, table):
        return super().batches(changed_column(table, "_change_type", lambda column: None))


class StringVersions(Healthy):
    """_commit_version is text that holds numbers: all rows, with their commits."""

    def batches(self, table):
        return super().batches(changed_column(table, "_commit_version", lambda column: column.cast(pyarrow.string())))


class WordyVersions(Healthy):
    """_commit_version is text that holds no numbers: an error, or rows without a number; no crash."""

    def batches(self, table):
        words = lambda column: pyarrow.array([f"commit {number}" for number in column.to_pylist()])
        return super().batches(changed_column(table, "_commit_version", words))


class SchemaChange(Healthy):
    """The third batch has another type for `name` than those before: an error."""

    def batches(self, table):
        for number, batch in enumerate(super().batches(table)):
            if number == 2:
                numbers = lambda column: pyarrow.array(range(batch.num_rows), pyarrow.int32())
                batch = changed_column(pyarrow.Table.from_batches([batch]), "name", numbers).to_batches()[0]
            yield batch


class ColumnVanishes(Healthy):
    """The third batch lacks the column `name`: an error."""

    def batches(self, table):
        for number, batch in enumerate(super().batches(table)):
            if number == 2:
                batch = changed_column(pyarrow.Table.from_batches([batch]), "name", lambda column: None).to_batches()[0]
            yield batch


class GarbageArrow(Healthy):
    """The third batch is no Arrow at all: an error."""

    def batches(self, table):
        for number, batch in enumerate(super().batches(table)):
            yield (batch.num_rows, bytes(range(256)) * 40) if number == 2 else batch


class GarbageInside(Healthy):
    """The third batch is an Arrow stream whose metadata and offsets were overwritten here and there: an error, no crash."""

    def batches(self, table):
        for number, batch in enumerate(super().batches(table)):
            if number == 2:
                data = bytearray(ipc_stream(batch))
                for at in range(600, len(data), 61):
                    data[at] ^= 0xFF
                yield batch.num_rows, bytes(data)
            else:
                yield batch


class TruncatedArrow(Healthy):
    """The third batch's Arrow stream ends in the middle: an error."""

    def batches(self, table):
        for number, batch in enumerate(super().batches(table)):
            data = ipc_stream(batch)
            yield (batch.num_rows, data[: len(data) // 2]) if number == 2 else batch


def column_wise(batch, change):
    """The batch with each of its text columns changed."""
    columns = [change(column) if pyarrow.types.is_string(column.type) else column for column in batch.columns]
    return pyarrow.RecordBatch.from_arrays(columns, names=batch.schema.names)


class LargeTypes(Healthy):
    """Texts have 64-bit offsets, as spark.sql.execution.arrow.useLargeVarTypes has it: all rows."""

    def batches(self, table):
        return [column_wise(batch, lambda column: column.cast(pyarrow.large_string())) for batch in super().batches(table)]


class DictionaryArrow(Healthy):
    """Texts are encoded with dictionaries: all rows."""

    def batches(self, table):
        return [column_wise(batch, lambda column: column.dictionary_encode()) for batch in super().batches(table)]


class CompressedArrow(Healthy):
    """Buffers are compressed, as spark.sql.execution.arrow.compression.codec has it: all rows."""

    def batches(self, table):
        for number, batch in enumerate(super().batches(table)):
            sink = pyarrow.BufferOutputStream()
            options = pyarrow.ipc.IpcWriteOptions(compression=("zstd", "lz4")[number % 2])
            with pyarrow.ipc.new_stream(sink, batch.schema, options=options) as writer:
                writer.write_batch(batch)
            yield batch.num_rows, sink.getvalue().to_pybytes()


class LyingArrow(Healthy):
    """The third batch's Arrow message says that its body has 2^60 bytes: an error, and no allocation of that size."""

    huge = 1 << 60

    def batches(self, table):
        for number, batch in enumerate(super().batches(table)):
            data = ipc_stream(batch)
            body = pyarrow.ipc.read_message(pyarrow.BufferReader(batch.serialize())).body.size
            told = struct.pack("<q", body)
            assert told in data, "the length of the body is not to be found"
            yield (batch.num_rows, data.replace(told, struct.pack("<q", self.huge))) if number == 2 else batch


class LyingArrowNegative(LyingArrow):
    """The third batch's Arrow message says that its body has -8 bytes: an error."""

    huge = -8


class BombArrow(Healthy):
    """The third batch's longest buffer is three gigabytes once decompressed, it says: an error, and no such memory."""

    def batches(self, table):
        for number, batch in enumerate(super().batches(table)):
            sink = pyarrow.BufferOutputStream()
            with pyarrow.ipc.new_stream(sink, batch.schema, options=pyarrow.ipc.IpcWriteOptions(compression="zstd")) as writer:
                writer.write_batch(batch)
            data = sink.getvalue().to_pybytes()
            if number == 2 and "note" in batch.schema.names:
                told = struct.pack("<q", sum(len(text) for text in batch["note"].to_pylist()))
                assert told in data, "the length of the buffer is not to be found"
                data = data.replace(told, struct.pack("<q", 3 << 30))
            yield batch.num_rows, data


class Durations(Healthy):
    """A column is a duration, which no table format has: refused."""

    def answer(self, sql, table):
        return changed_column(table, "region", lambda column: pyarrow.array([1] * len(column), pyarrow.duration("us")))


class EmptyArrow(Healthy):
    """The third batch has no bytes but says it has rows: an error."""

    def batches(self, table):
        for number, batch in enumerate(super().batches(table)):
            yield (batch.num_rows, b"") if number == 2 else batch


class RowCountLie(Healthy):
    """The third batch holds other than row_count rows: an error."""

    def batches(self, table):
        for number, batch in enumerate(super().batches(table)):
            yield (batch.num_rows, ipc_stream(batch.slice(1))) if number == 2 else batch


class GarbageMessage(Healthy):
    """One response is not a protobuf message: an error."""

    def script(self, items):
        return items[:6] + [Item(raw=b"\xff\xfe\xfd" * 20)] + items[6:]


class UnknownMessages(Healthy):
    """Responses of a kind and with a field nobody knows come between the others: all rows."""

    def script(self, items):
        unknown_field = b"\xc8\x3e\x01"  # number 1001, varint 1
        return [each for item in items for each in ((item, Item(extra=unknown_field)) if item.is_batch else (item,))]


class ForeignSession(Healthy):
    """One response carries the session_id of somebody else: an error."""

    def script(self, items):
        batches_of(items)[1].fields["session_id"] = str(uuid.uuid4())
        return items


class ServerRestarted(Healthy):
    """One response carries another server_side_session_id, as after a restart: an error."""

    def script(self, items):
        batches_of(items)[1].fields["server_side_session_id"] = str(uuid.uuid4())
        return items


# --- errors


class ErrorAfterData(Healthy):
    """Three batches, then a Spark error: the error, with its class; what came before is not a whole result."""

    def play(self, stream, items):
        for item in items:
            if stream.batches == 3:
                raise SqlError(
                    "USER_RAISED_EXCEPTION",
                    "P0001",
                    "[USER_RAISED_EXCEPTION] after three batches",
                    "org.apache.spark.SparkRuntimeException",
                    {"errorMessage": "after three batches"},
                )
            yield item


class ErrorWithoutDetails(Healthy):
    """ExecutePlan fails with code 13 and a text, nothing else."""

    def execute(self, sql):
        raise Refusal(INTERNAL, "java heap space, perhaps: 100 % ünsure\nsecond line")


class ErrorWithoutText(Healthy):
    """ExecutePlan fails with code 13 and nothing else."""

    def execute(self, sql):
        raise Refusal(INTERNAL, "")


class ErrorGarbageDetails(Healthy):
    """ExecutePlan fails, and its grpc-status-details-bin is garbage: the text at least."""

    def execute(self, sql):
        raise Refusal(INTERNAL, "details are garbage", raw_details=b"\xff\xff\xff\xff\x07garbage")


class ErrorLong(Healthy):
    """ExecutePlan fails with 20,000 characters of text: the status has 2048 and no class, FetchErrorDetails has it all."""

    def execute(self, sql):
        raise SqlError("LONG_ONE", "42K09", "[LONG_ONE] " + "long " * 4000 + "end", parameters={"what": "long"})


class ErrorDetailsLost(ErrorLong):
    """As error_long, but FetchErrorDetails knows nothing: what the status has."""

    def fetch(self, error, response):
        pass


class ErrorDetailsFail(ErrorLong):
    """As error_long, but FetchErrorDetails fails: what the status has, and the first error is the one reported."""

    def enter(self, rpc, request, call):
        if rpc == "FetchErrorDetails":
            raise Refusal(UNAVAILABLE, "not now")


class ErrorDetailsLoop(ErrorLong):
    """As error_long, with causes that go in a circle and an index out of range: the text, no hang."""

    def fetch(self, error, response):
        fill_error(error, response)
        response.errors[1].cause_idx = 0
        response.errors.add(message="nobody's cause", cause_idx=99)


class UnavailableTwice(Healthy):
    """The first two ExecutePlan calls get UNAVAILABLE: try again, all rows."""

    def enter(self, rpc, request, call):
        if rpc == "ExecutePlan" and call <= 2:
            raise Refusal(UNAVAILABLE, "come back later")


class UnavailableForever(Healthy):
    """Every ExecutePlan call gets UNAVAILABLE: give up, within the deadline."""

    def enter(self, rpc, request, call):
        if rpc == "ExecutePlan":
            raise Refusal(UNAVAILABLE, "come back never")


class RetryInfo(Healthy):
    """The first ExecutePlan call fails with a RetryInfo of 0.3 s: wait that long, try again, all rows."""

    def enter(self, rpc, request, call):
        if rpc == "ExecutePlan" and call == 1:
            delay = duration_pb2.Duration(nanos=300_000_000)
            raise Refusal(INTERNAL, "busy", [packed(error_details_pb2.RetryInfo(retry_delay=delay))])


class ResultTooBig(Healthy):
    """A feed that is not a hash slice of at least four fails after two batches with spark.driver.maxResultSize: slices."""

    def play(self, stream, items):
        slice_of = re.search(r"pmod\(.*,\s*(\d+)L?\)\s*=\s*\d+", stream.execution.sql or "", re.I | re.S)
        for item in items:
            if stream.execution.is_feed and stream.batches == 2 and (slice_of is None or int(slice_of[1]) < 4):
                raise SqlError(
                    "",
                    "",
                    "Job aborted due to stage failure: Total size of serialized results of 3 tasks (1025.0 MiB) is bigger than "
                    "spark.driver.maxResultSize (1024.0 MiB)",
                    "org.apache.spark.SparkException",
                )
            yield item


class AppendsTooBig(ResultTooBig, Appends):
    """As result_too_big, and the history says of every version that it only added rows: slices need no sides."""


class Auth(Healthy):
    """Every call needs the token `secret`: code 16 without."""

    token = "secret"


# --- time


class SlowDrip(Healthy):
    """Bytes arrive 500 at a time, 5 ms apart, for about 3 s: all rows."""

    def play(self, stream, items):
        stream.link.drip = (500, 0.005)
        yield from items


class SlowMessages(Healthy):
    """A quarter of a second passes before every response, which looks idle and is not: all rows."""

    def play(self, stream, items):
        for item in items:
            stream.pause(0.25)
            yield item


class Stall(Healthy):
    """Nothing more arrives from the middle of the third batch on, and no end: the deadline."""

    def play(self, stream, items):
        for item in items:
            if item.is_batch and stream.batches == 2:
                stream.strike(fake_front.stall, middle_of(item))
            yield item


class NoAnswer(Healthy):
    """ExecutePlan is taken and never answered: the deadline, and an interrupt."""

    def play(self, stream, items):
        while not stream.gone.is_set():
            stream.pause(0.1)
            yield None


class HalfOpen(Healthy):
    """Connections are taken, nothing is ever answered: the deadline."""

    silent = True


class NoWayOut(Healthy):
    """Interrupt, ReleaseExecute and ReleaseSession get UNAVAILABLE: the result is good, and leaving takes bounded time."""

    def enter(self, rpc, request, call):
        if rpc in ("Interrupt", "ReleaseExecute", "ReleaseSession"):
            raise Refusal(UNAVAILABLE, "no way out")


# --- size


class WideRows(Healthy):
    """Each batch is about 6 MB, over the usual limit of a message, unless chunks are asked for."""

    def batches(self, table):
        wide = lambda column: pyarrow.array(["x" * 60_000] * len(column))
        return super().batches(changed_column(table, "note", wide))


class Big(Healthy):
    """A feed is 2000 batches of a megabyte, 2 GB in all: memory stays small whatever the consumer does."""

    def batches(self, table):
        if "_change_type" not in table.column_names or table.num_rows < BATCH_ROWS:
            return super().batches(table)
        wide = changed_column(
            table.slice(0, BATCH_ROWS), "note", lambda column: pyarrow.array(["x" * 10_000] * len(column))
        )
        batch = wide.combine_chunks().to_batches()[0]
        data = ipc_stream(batch)
        return [(batch.num_rows, data)] * 2000


class LargeBatches(Healthy):
    """A feed is 3 batches of 96 megabytes: memory is one of them and little more."""

    def batches(self, table):
        if "_change_type" not in table.column_names or table.num_rows < BATCH_ROWS:
            return super().batches(table)
        rows = pyarrow.concat_tables([table.slice(0, BATCH_ROWS)] * 60)
        wide = changed_column(rows, "note", lambda column: pyarrow.array(["x" * 16_000] * len(column)))
        batch = wide.combine_chunks().to_batches()[0]
        data = ipc_stream(batch)
        return [(batch.num_rows, data)] * 3
