# SPDX-License-Identifier: Apache-2.0
"""Pieces of Spark Connect that the fake server and its scenarios share: responses, errors, what a request asks for."""

import uuid

import pyarrow
from google.protobuf import any_pb2
from pyspark.sql.connect.types import pyspark_types_to_proto_types
from pyspark.sql.pandas.types import from_arrow_schema

from fake_rows import SqlError

JAVA = "org.apache.spark.SparkSQLException"


class Refusal(Exception):
    """An answer other than OK: a gRPC code, a text, and perhaps the details of google.rpc.Status, or bytes in their place."""

    def __init__(self, code, text, details=(), raw_details=None):
        super().__init__(text)
        self.code, self.text, self.details, self.raw_details = code, text, list(details), raw_details


def handle_error(name, text):
    return SqlError(f"INVALID_HANDLE.{name}", "HY000", f"[INVALID_HANDLE.{name}] The handle is invalid. {text}", JAVA)


def cursor_error(name, text):
    return SqlError(f"INVALID_CURSOR.{name}", "HY109", f"[INVALID_CURSOR.{name}] The cursor is invalid. {text}", JAVA)


def canceled():
    return SqlError("OPERATION_CANCELED", "HY008", "[OPERATION_CANCELED] Operation has been canceled.", JAVA)


def packed(message):
    out = any_pb2.Any()
    out.Pack(message)
    return out


def ipc_stream(batch):
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue().to_pybytes()


def data_type(schema):
    return pyspark_types_to_proto_types(from_arrow_schema(schema))


class Item:
    """One response as it is kept: the fields of an Arrow batch, or other fields; ids are added when it is sent. Extra bytes
    follow it, raw bytes take its place. A batch is a plain dict, so that many can share their bytes."""

    def __init__(self, batch=None, raw=None, extra=b"", **fields):
        self.batch, self.raw, self.extra, self.fields = batch, raw, extra, fields
        self.response_id = str(uuid.uuid4())

    @property
    def is_batch(self):
        return self.batch is not None


def fill_error(error, response):
    """The whole text, its class, and one cause."""
    response.root_error_idx = 0
    first = response.errors.add(
        message=str(error), error_type_hierarchy=[error.java, "java.lang.Exception"], cause_idx=1
    )
    if error.condition:
        first.spark_throwable.error_class = error.condition
    if error.state:
        first.spark_throwable.sql_state = error.state
    for key, value in error.parameters.items():
        first.spark_throwable.message_parameters[key] = value
    response.errors.add(message="the cause of it", error_type_hierarchy=["java.lang.RuntimeException"])


def options_of(request):
    reattachable, chunk_size = False, 0
    for option in request.request_options:
        kind = option.WhichOneof("request_option")
        if kind == "reattach_options":
            reattachable = option.reattach_options.reattachable
        elif kind == "result_chunking_options" and option.result_chunking_options.allow_arrow_batch_chunking:
            chunk_size = option.result_chunking_options.preferred_arrow_chunk_size or 120795955
    return reattachable, chunk_size


def sql_of(plan):
    """The SQL of a plan, None if it is a relation made by an earlier command."""
    if plan.WhichOneof("op_type") == "command":
        command = plan.command.sql_command
        return command.input.sql.query or command.sql
    return plan.root.sql.query if plan.root.WhichOneof("rel_type") == "sql" else None


def check_uuid(text, what):
    try:
        uuid.UUID(text)
    except ValueError:
        raise handle_error("FORMAT", f"Handle {what} '{text}' must be an UUID string.") from None
