# SPDX-License-Identifier: Apache-2.0
"""A scripted Spark Connect server that does what a healthy one never does.

    python fake_server.py --scenario NAME --port-file F [--record F] [--tls-ca F] [--max-seconds N]
    python fake_server.py --all FOLDER [--max-seconds N]     every scenario on a port of its own: FOLDER/NAME.port and .record,
                                                             and FOLDER/ready when all of them answer
    python fake_server.py --list

It speaks pyspark's own generated messages, keeps sessions, executions and their buffered responses as strictly as Spark
does (ids must be UUIDs and new, a reattach goes on after last_response_id, a release drops, an interrupt ends), and answers
SQL from fake_rows. What a scenario does otherwise is in fake_scenarios; what the network does in fake_front.

The record has one JSON line per call ({"rpc": ...}), per end of a response stream ({"event": "stream_end", ...}), and after
each of them one {"event": "held", "sessions": [...], "operations": [...], "running": [...], "views": [...]}: what the server
still holds. The last such line of a client that cleans up after itself has four empty lists.
  sessions    not released           operations  reattachable ones neither released nor of a released session
  running     jobs that go on: a cancelled call or a lost connection does not stop one, as in Spark
The server ends on SIGTERM or SIGINT, after --max-seconds (600), or with the process that started it.
"""

import argparse
import concurrent.futures
import contextlib
import ctypes
import json
import os
import signal
import subprocess
import tempfile
import threading
import time
import uuid

import environment

if __name__ == "__main__":
    environment.enter_client_python(__file__)

import grpc
import pyarrow
from google.rpc import error_details_pb2, status_pb2
from grpc_status import rpc_status
from pyspark.sql.connect.proto import base_pb2 as base

import fake_front
import fake_rows
import fake_scenarios
from fake_protocol import (
    Item,
    Refusal,
    canceled,
    check_uuid,
    cursor_error,
    data_type,
    handle_error,
    ipc_stream,
    options_of,
    packed,
    sql_of,
)
from fake_rows import SqlError

SERVICE = "spark.connect.SparkConnectService"
UNARY = ("AnalyzePlan", "Config", "Interrupt", "ReleaseExecute", "ReleaseSession", "FetchErrorDetails")
STREAMING = ("ExecutePlan", "ReattachExecute")
MESSAGE_LIMIT = 2048  # of an error's text in the status; a longer one also loses its class and parameters


class Session:
    def __init__(self, session_id):
        self.id, self.server_side_id = session_id, str(uuid.uuid4())
        self.conf, self.views, self.executions, self.closed = {}, {}, {}, False


class Execution:
    """One operation: its responses, which of them are still kept, and whether its job goes on."""

    def __init__(self, session, operation_id, sql, reattachable):
        self.session, self.id, self.sql, self.reattachable = session, operation_id, sql, reattachable
        self.items, self.first, self.streams, self.is_feed = [], 0, 0, False
        self.running, self.released, self.canceled, self.failure = True, False, threading.Event(), None

    @property
    def is_held(self):
        return self.reattachable and not self.released and not self.session.closed

    def end(self, released):
        self.running = False
        self.released = self.released or released
        if released:
            self.items = []


class Stream:
    """One response stream of an execution, as scenarios see it."""

    def __init__(self, server, execution, context):
        self.server, self.execution, self.context = server, execution, context
        self.number = execution.streams  # 0 is ExecutePlan's, then one for each reattach
        execution.streams += 1
        self.link = server.front.link(context.peer()) if server.front else None
        self.sent_bytes = self.sent = self.batches = 0
        self.gone = threading.Event()
        context.add_callback(self.gone.set)

    def strike(self, fault, extra=0):
        """Let fault strike once the client got everything sent so far and extra bytes of what comes next."""
        self.link.arm(self.sent_bytes + extra, fault)

    def pause(self, seconds):
        """Sleeps, but not on after the client is gone or the operation is canceled."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and not self.gone.is_set() and not self.execution.canceled.is_set():
            time.sleep(0.02)


class Server:
    def __init__(self, scenario, record, tls=None):
        self.scenario, self.record_file = scenario, record
        self.lock = threading.RLock()
        self.sessions, self.errors, self.calls = {}, {}, {}
        self.front = None
        self.began = time.monotonic()
        pool = concurrent.futures.ThreadPoolExecutor(max_workers=64)
        options = [
            ("grpc.max_send_message_length", -1),
            ("grpc.max_receive_message_length", -1),
            ("grpc.so_reuseport", 0),
        ]
        self.grpc = grpc.server(pool, options=options)
        self.grpc.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, self.handlers()),))
        if tls:
            self.port = self.grpc.add_secure_port("127.0.0.1:0", tls)
        else:
            self.port = self.grpc.add_insecure_port("127.0.0.1:0")
        self.grpc.start()
        if not tls:
            self.front = fake_front.Front(self.port, silent=scenario.silent)
            self.port = self.front.port

    def handlers(self):
        out = {}
        for name in UNARY + STREAMING:
            request = getattr(base, name + "Request")
            make = grpc.unary_stream_rpc_method_handler if name in STREAMING else grpc.unary_unary_rpc_method_handler
            wrap = self.streaming if name in STREAMING else self.unary
            out[name] = make(
                wrap(name, getattr(self, name)),
                request.FromString,
                lambda message: message if isinstance(message, bytes) else message.SerializeToString(),
            )
        return out

    # --- around every call

    def unary(self, name, method):
        def call(request, context):
            try:
                self.enter(name, request, context)
                with self.lock:
                    return method(request)
            except (Refusal, SqlError) as error:
                self.refuse(context, error)
            finally:
                self.record_held()

        return call

    def streaming(self, name, method):
        def call(request, context):
            stream = None
            try:
                self.enter(name, request, context)
                with self.lock:
                    execution, start = method(request)
                    self.scenario.metadata(execution, context)
                    stream = Stream(self, execution, context)
                    context.add_callback(lambda: self.stream_over(stream, "call over"))
                yield from self.play(stream, start)
                self.stream_over(stream, "end of stream")
            except (Refusal, SqlError) as error:
                if stream:
                    self.stream_over(stream, f"error: {error}"[:200])
                self.refuse(context, error)
            finally:
                self.record_held()

        return call

    def enter(self, name, request, context):
        """Records the call and checks what every call has: the token, and a session that lives."""
        metadata = {key: value for key, value in context.invocation_metadata()}
        token = metadata.pop("authorization", None)
        wanted = self.scenario.token and f"Bearer {self.scenario.token}"
        link = self.front and self.front.link(context.peer())
        with self.lock:
            call = self.calls[request.session_id, name] = self.calls.get((request.session_id, name), 0) + 1
        deadline = context.time_remaining()
        self.record(
            {
                "rpc": name,
                "call": call,
                "link": link.number if link else None,
                "token": "none" if token is None else "right" if token == wanted else "wrong",
                "bearer": token and token.removeprefix("Bearer "),
                "user_id": request.user_context.user_id,
                "metadata": metadata,
                "deadline": round(deadline, 2) if deadline is not None and deadline < 1e9 else None,
                **self.described(request),
            }
        )
        if wanted and token != wanted:
            raise Refusal(
                grpc.StatusCode.UNAUTHENTICATED,
                "Invalid authentication token" if token else "No authentication token provided",
            )
        check_uuid(request.session_id, "session")
        self.scenario.enter(name, request, call)

    @staticmethod
    def described(request):
        out = {"session": request.session_id}
        for name in ("operation_id", "last_response_id", "error_id", "client_type"):
            if getattr(request, name, ""):
                out[name] = getattr(request, name)
        plan = request.schema.plan if isinstance(request, base.AnalyzePlanRequest) else getattr(request, "plan", None)
        if plan is not None and plan.WhichOneof("op_type"):
            out["sql"], out["plan"] = sql_of(plan) or "", plan.WhichOneof("op_type")
        if isinstance(request, base.AnalyzePlanRequest):
            out["analyze"] = request.WhichOneof("analyze")
        if isinstance(request, base.ReleaseExecuteRequest):
            out["release"] = request.WhichOneof("release")
        if isinstance(request, base.ConfigRequest):
            out["config"] = request.operation.WhichOneof("op_type")
            out["pairs"] = {pair.key: pair.value for pair in request.operation.set.pairs}
        if isinstance(request, base.ExecutePlanRequest):
            reattachable, chunk = options_of(request)
            out["reattachable"], out["chunk_size"] = reattachable, chunk
        return out

    def refuse(self, context, error):
        if isinstance(error, SqlError):
            error = self.as_refusal(error)
        if error.raw_details is not None:
            context.set_trailing_metadata((("grpc-status-details-bin", error.raw_details),))
        if error.details:
            status = status_pb2.Status(
                code=error.code.value[0], message=error.text[:MESSAGE_LIMIT], details=error.details
            )
            context.abort_with_status(rpc_status.to_status(status))
        context.abort(error.code, error.text[:MESSAGE_LIMIT])

    def as_refusal(self, error):
        """As Spark does it: code 13, an ErrorInfo, and the whole story under an error id."""
        text, error_id = str(error), str(uuid.uuid4())
        info = error_details_pb2.ErrorInfo(reason=error.java, domain="org.apache.spark")
        info.metadata["classes"] = json.dumps(
            [error.java, "java.lang.Exception", "java.lang.Throwable", "java.lang.Object"]
        )
        info.metadata["errorId"] = error_id
        if error.state:
            info.metadata["sqlState"] = error.state
        if error.condition and len(text) <= MESSAGE_LIMIT:
            info.metadata["errorClass"] = error.condition
            info.metadata["messageParameters"] = json.dumps(error.parameters)
        self.errors[error_id] = error
        return Refusal(grpc.StatusCode.INTERNAL, text, [packed(info)])

    # --- the record

    def record(self, line):
        with self.lock:
            line = {"t": round(time.monotonic() - self.began, 3), **line}
            self.record_file.write(json.dumps(line) + "\n")
            self.record_file.flush()

    def record_held(self):
        with self.lock:
            executions = [each for session in self.sessions.values() for each in session.executions.values()]
            alive = [session for session in self.sessions.values() if not session.closed]
            self.record(
                {
                    "event": "held",
                    "sessions": [session.id for session in alive],
                    "operations": [each.id for each in executions if each.is_held],
                    "running": [each.id for each in executions if each.running and not each.session.closed],
                    "views": [name for session in alive for name in session.views],
                }
            )

    def stream_over(self, stream, how):
        """Once per stream, whoever notices first."""
        with self.lock:
            if not hasattr(stream, "over"):
                stream.over = how
                self.record(
                    {
                        "event": "stream_end",
                        "operation_id": stream.execution.id,
                        "stream": stream.number,
                        "sent": stream.sent,
                        "batches": stream.batches,
                        "how": how,
                    }
                )
                self.record_held()

    # --- sessions and executions

    def session(self, request):
        session = self.sessions.setdefault(request.session_id, Session(request.session_id))
        if session.closed:
            raise handle_error("SESSION_CLOSED", f"Session {session.id} was closed.")
        observed = request.client_observed_server_side_session_id
        if observed and observed != session.server_side_id:
            raise handle_error("SESSION_CHANGED", "The existing Spark server driver instance has restarted.")
        return session

    def execution(self, request):
        execution = self.session(request).executions.get(request.operation_id)
        if execution is None or execution.released:
            raise handle_error("OPERATION_NOT_FOUND", f"Operation {request.operation_id} not found.")
        return execution

    def items_of(self, execution, table, chunk_size):
        """Schema, progress, batches (chunked if asked), metrics, the end: what a healthy server sends."""
        items = [Item(schema=data_type(table.schema))]
        offset = 0
        for batch in self.scenario.batches(table):
            items.append(Item(execution_progress=base.ExecutePlanResponse.ExecutionProgress(num_inflight_tasks=1)))
            rows, data = batch if isinstance(batch, tuple) else (batch.num_rows, ipc_stream(batch))
            chunks = [data[at : at + chunk_size] for at in range(0, len(data), chunk_size)] if chunk_size else [data]
            for index, chunk in enumerate(chunks):
                numbers = {"chunk_index": index, "num_chunks_in_batch": len(chunks)} if chunk_size else {}
                items.append(Item({"row_count": rows, "data": chunk, "start_offset": offset, **numbers}))
            offset += rows
        items.append(Item(metrics=base.ExecutePlanResponse.Metrics()))
        return self.finished(execution, items)

    def finished(self, execution, items):
        if execution.reattachable:
            items.append(Item(result_complete=base.ExecutePlanResponse.ResultComplete()))
        execution.is_feed = sum(item.is_batch for item in items) >= 3
        return self.scenario.script(items) if execution.is_feed else items

    def command_items(self, execution, session, sql):
        """A SELECT as a command comes back as it is; anything else has run and comes back as its rows."""
        result = base.ExecutePlanResponse.SqlCommandResult()
        if sql.lstrip()[:6].upper() in ("SELECT", "DESCRI"):
            result.relation.sql.query = sql
        else:
            table = fake_rows.answer(sql, session.views).combine_chunks()
            result.relation.local_relation.data = ipc_stream(
                pyarrow.RecordBatch.from_struct_array(table.to_struct_array().combine_chunks())
                if table.num_columns
                else pyarrow.RecordBatch.from_pydict({})
            )
        return self.finished(execution, [Item(sql_command_result=result)])

    def play(self, stream, start):
        """Sends the items from start on, through the scenario, until the end, a fault, or an interrupt."""
        execution = stream.execution
        items = execution.items
        for item in self.scenario.play(stream, iter(items[start:])):
            if execution.canceled.is_set():
                execution.end(released=False)
                raise canceled()
            if item is not None:  # a scenario yields None where it only waited
                message = self.rendered(execution, item)
                stream.sent_bytes += 5 + len(message)  # gRPC's head and the message
                stream.sent += 1
                stream.batches += item.is_batch
                yield message
                if item is items[-1]:
                    execution.running = False
        if execution.canceled.is_set():
            execution.end(released=False)
            raise canceled()

    def rendered(self, execution, item):
        if item.raw is not None:
            return item.raw
        message = base.ExecutePlanResponse(
            session_id=execution.session.id,
            server_side_session_id=execution.session.server_side_id,
            operation_id=execution.id,
            response_id=self.scenario.response_id(execution, item),
        )
        if item.is_batch:
            message.arrow_batch.CopyFrom(base.ExecutePlanResponse.ArrowBatch(**item.batch))
        for name, value in item.fields.items():
            if hasattr(value, "CopyFrom"):
                getattr(message, name).CopyFrom(value)
            else:
                setattr(message, name, value)
        return message.SerializeToString() + item.extra

    # --- the calls

    def ExecutePlan(self, request):
        session = self.session(request)
        operation_id = request.operation_id or str(uuid.uuid4())
        check_uuid(operation_id, "operation")
        if operation_id in session.executions:
            raise handle_error("OPERATION_ALREADY_EXISTS", f"Operation {operation_id} already exists.")
        reattachable, chunk_size = options_of(request)
        sql = sql_of(request.plan)
        execution = Execution(session, operation_id, sql, reattachable)
        session.executions[operation_id] = execution
        try:
            if sql is not None:
                self.scenario.execute(sql)
            if request.plan.WhichOneof("op_type") == "command":
                execution.items = self.command_items(execution, session, sql)
            elif sql is not None:
                table = self.scenario.answer(sql, fake_rows.answer(sql, session.views))
                execution.items = self.items_of(execution, table, chunk_size)
            else:
                data = request.plan.root.local_relation.data
                execution.items = self.items_of(execution, pyarrow.ipc.open_stream(data).read_all(), chunk_size)
        except SqlError:
            execution.end(released=False)
            raise
        return execution, 0

    def ReattachExecute(self, request):
        execution = self.execution(request)
        if not execution.reattachable:
            raise cursor_error("NOT_REATTACHABLE", "The cursor is not reattachable.")
        if not request.last_response_id:
            return execution, execution.first
        for at, item in enumerate(execution.items):
            if item.response_id == request.last_response_id:
                if at + 1 < execution.first:
                    raise cursor_error(
                        "POSITION_NOT_AVAILABLE",
                        f"The cursor position id {request.last_response_id} is no longer available.",
                    )
                return execution, at + 1
        raise cursor_error("POSITION_NOT_FOUND", f"The cursor position id {request.last_response_id} is not found.")

    def ReleaseExecute(self, request):
        session = self.session(request)
        response = base.ReleaseExecuteResponse(session_id=session.id, server_side_session_id=session.server_side_id)
        execution = session.executions.get(request.operation_id)
        if execution is not None and not execution.released:
            response.operation_id = execution.id
            if request.WhichOneof("release") == "release_all":
                execution.canceled.set()
                execution.end(released=True)
            for at, item in enumerate(execution.items):
                if item.response_id == request.release_until.response_id:
                    execution.first = at + 1
        return response

    def ReleaseSession(self, request):
        session = self.sessions.setdefault(request.session_id, Session(request.session_id))
        for execution in session.executions.values():
            execution.canceled.set()
            execution.end(released=True)
        session.closed = True
        return base.ReleaseSessionResponse(session_id=session.id, server_side_session_id=session.server_side_id)

    def Interrupt(self, request):
        session = self.session(request)
        response = base.InterruptResponse(session_id=session.id, server_side_session_id=session.server_side_id)
        everything = request.interrupt_type == base.InterruptRequest.INTERRUPT_TYPE_ALL
        for execution in session.executions.values():
            if execution.running and (everything or execution.id == request.operation_id):
                execution.canceled.set()
                execution.end(released=False)
                response.interrupted_ids.append(execution.id)
        return response

    def AnalyzePlan(self, request):
        session = self.session(request)
        response = base.AnalyzePlanResponse(session_id=session.id, server_side_session_id=session.server_side_id)
        kind = request.WhichOneof("analyze")
        if kind == "spark_version":
            response.spark_version.version = self.scenario.version
        elif kind == "schema":  # which runs a CALL, in Spark too
            self.scenario.execute(sql_of(request.schema.plan))
            response.schema.schema.CopyFrom(
                data_type(fake_rows.answer(sql_of(request.schema.plan), session.views).schema)
            )
        else:
            raise Refusal(grpc.StatusCode.UNIMPLEMENTED, f"the fake server does not analyze {kind}")
        return response

    def Config(self, request):
        session = self.session(request)
        response = base.ConfigResponse(session_id=session.id, server_side_session_id=session.server_side_id)
        kind = request.operation.WhichOneof("op_type")
        operation = getattr(request.operation, kind)
        if kind == "set":
            session.conf.update({pair.key: pair.value for pair in operation.pairs})
            return response
        for key, default in [(pair.key, pair.value) for pair in getattr(operation, "pairs", ())] + [
            (key, None) for key in getattr(operation, "keys", ())
        ]:
            if kind == "get" and key not in session.conf:
                raise SqlError(
                    "SQL_CONF_NOT_FOUND",
                    "42K0I",
                    f'[SQL_CONF_NOT_FOUND] The SQL config "{key}" cannot be found.',
                    "org.apache.spark.SparkNoSuchElementException",
                )
            value = session.conf.pop(key, None) if kind == "unset" else session.conf.get(key, default)
            response.pairs.add(key=key, value=value)
        return response

    def FetchErrorDetails(self, request):
        session = self.session(request)
        response = base.FetchErrorDetailsResponse(session_id=session.id, server_side_session_id=session.server_side_id)
        error = self.errors.pop(request.error_id, None)  # Spark, too, tells it once
        if error is not None:
            self.scenario.fetch(error, response)
        return response

    def close(self):
        self.record_held()
        if self.front:
            self.front.close()
        self.grpc.stop(0)


def make_tls(ca_file):
    """A key and a certificate for 127.0.0.1 and localhost, good for a day; the certificate is its own CA."""
    with tempfile.TemporaryDirectory() as scratch:
        key, certificate = os.path.join(scratch, "key.pem"), os.path.join(scratch, "certificate.pem")
        subprocess.run(
            [
                "openssl",
                "req",
                "-x509",
                "-newkey",
                "rsa:2048",
                "-nodes",
                "-keyout",
                key,
                "-out",
                certificate,
                "-days",
                "1",
                "-subj",
                "/CN=localhost",
                "-addext",
                "subjectAltName=DNS:localhost,IP:127.0.0.1",
            ],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        with open(key, "rb") as file:
            key = file.read()
        with open(certificate, "rb") as file:
            certificate = file.read()
    with open(ca_file, "wb") as file:
        file.write(certificate)
    return grpc.ssl_server_credentials([(key, certificate)])


def write_whole(path, text):
    """Whoever waits for the file must never see half of it."""
    with open(path + ".part", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(path + ".part", path)


@contextlib.contextmanager
def running(name, port_file, record_file=None, tls_ca=None):
    with open(record_file or os.devnull, "w", encoding="utf-8") as record:
        server = Server(fake_scenarios.by_name(name), record, tls=make_tls(tls_ca) if tls_ca else None)
        try:
            write_whole(port_file, f"{server.port}\n")
            yield
        finally:
            server.close()


def serve(arguments):
    over = threading.Event()
    for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(each, lambda *_unused: over.set())
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG: end with the test that started this
    with contextlib.ExitStack() as stack:
        if arguments.all:
            for name in fake_scenarios.names():
                path = os.path.join(arguments.all, name)
                stack.enter_context(running(name, path + ".port", path + ".record"))
            write_whole(os.path.join(arguments.all, "ready"), "")
        else:
            stack.enter_context(running(arguments.scenario, arguments.port_file, arguments.record, arguments.tls_ca))
        over.wait(arguments.max_seconds)


def main():
    parser = argparse.ArgumentParser(description="a scripted Spark Connect server")
    parser.add_argument("--list", action="store_true", help="print the scenarios and what each does")
    parser.add_argument("--all", metavar="FOLDER", help="run all scenarios")
    parser.add_argument("--scenario", choices=sorted(fake_scenarios.names()), metavar="NAME", help="run this one")
    parser.add_argument("--port-file")
    parser.add_argument("--record", help="JSON lines: calls, ends of streams, what is held")
    parser.add_argument("--tls-ca", help="speak TLS and write the CA to trust here; no network faults then")
    parser.add_argument("--max-seconds", type=float, default=600)
    arguments = parser.parse_args()
    if arguments.list:
        print("\n".join(f"{name:26} {text}" for name, text in fake_scenarios.names().items()))
    elif arguments.all or (arguments.scenario and arguments.port_file):
        serve(arguments)
    else:
        parser.error("--all, or --scenario and --port-file, is needed")


if __name__ == "__main__":
    main()
