# SPDX-License-Identifier: Apache-2.0
"""Compares proto/spark_connect.proto with the descriptors of both pyspark releases, field by field.

The one idea: protoc-c itself compiles our file (so it is known to accept it) and writes its descriptor; each pyspark hands
out its own as bytes from a separate process, since two releases cannot be imported into one. Then every message, field,
oneof and enum value that we declare must exist there under the same number, name, type and label. Two differences are
ours and legal: proto2 `optional` for a proto3 scalar, and bytes for a message that we keep opaque.

Also checked: no message of ours contains itself (see the proto file), and the calls have the types that it names.

Run with any Python: it re-runs itself under build/spark/client. Exit 0 and a closing line when all is equal.
"""

import os
import subprocess
import sys
import tempfile

import environment

CALLS = {
    "AnalyzePlan": ("AnalyzePlanRequest", "AnalyzePlanResponse", False),
    "Config": ("ConfigRequest", "ConfigResponse", False),
    "Interrupt": ("InterruptRequest", "InterruptResponse", False),
    "ReleaseExecute": ("ReleaseExecuteRequest", "ReleaseExecuteResponse", False),
    "ReleaseSession": ("ReleaseSessionRequest", "ReleaseSessionResponse", False),
    "FetchErrorDetails": ("FetchErrorDetailsRequest", "FetchErrorDetailsResponse", False),
    "ExecutePlan": ("ExecutePlanRequest", "ExecutePlanResponse", True),
    "ReattachExecute": ("ReattachExecuteRequest", "ExecutePlanResponse", True),
}
OURS = "lc.spark."
# Spark's package, but for the messages that gRPC's error model brings.
ELSEWHERE = {
    "Any": "google.protobuf.Any",
    "Duration": "google.protobuf.Duration",
    "Status": "google.rpc.Status",
    "ErrorInfo": "google.rpc.ErrorInfo",
    "RetryInfo": "google.rpc.RetryInfo",
}

DUMP = """
import sys
from google.protobuf import descriptor_pb2
from google.rpc import error_details_pb2, status_pb2
from pyspark.sql.connect.proto import base_pb2
files, out = {}, descriptor_pb2.FileDescriptorSet()
def add(file):
    if file.name not in files:
        files[file.name] = file
        for needed in file.dependencies:
            add(needed)
        file.CopyToProto(out.file.add())
for module in (base_pb2, error_details_pb2, status_pb2):
    add(module.DESCRIPTOR)
sys.stdout.buffer.write(out.SerializeToString())
"""


def load_set(data):
    from google.protobuf import descriptor_pb2, descriptor_pool

    files = descriptor_pb2.FileDescriptorSet.FromString(data)
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    return pool


def our_pool():
    with tempfile.TemporaryDirectory() as scratch:
        out = os.path.join(scratch, "ours.bin")
        folder = os.path.join(environment.ROOT, "proto")
        subprocess.run(
            ["protoc-c", f"--c_out={scratch}", f"--descriptor_set_out={out}", f"-I{folder}", "spark_connect.proto"],
            check=True,
        )
        with open(out, "rb") as file:
            return load_set(file.read())


def spark_pool(release):
    env = dict(os.environ, PYTHONPATH=environment.pyspark(release))
    return load_set(subprocess.run([sys.executable, "-c", DUMP], env=env, check=True, stdout=subprocess.PIPE).stdout)


def their_name(our_name):
    name = our_name[len(OURS) :]
    top, _, rest = name.partition(".")
    base = ELSEWHERE.get(top, "spark.connect." + top)
    return base + "." + rest if rest else base


def all_messages(pool):
    def below(message):
        yield message
        for nested in message.nested_types:
            yield from below(nested)

    for message in pool.FindFileByName("spark_connect.proto").message_types_by_name.values():
        yield from below(message)


def real_oneof(field):
    """The oneof a field is in, unless it is the one that proto3 makes up for `optional`."""
    oneof = field.containing_oneof
    if oneof is None or (len(oneof.fields) == 1 and oneof.name == "_" + field.name):
        return None
    return oneof.name


def compare_enum(ours, theirs, where, say):
    for value in ours.values:
        other = theirs.values_by_number.get(value.number)
        if other is None or other.name != value.name:
            say(f"{where}: enum value {value.name} = {value.number}, Spark has {other.name if other else 'none'}")


def compare_field(ours, theirs, where, say):
    if theirs is None:
        return say(f"{where}: no field {ours.number} there")
    if ours.name != theirs.name:
        say(f"{where}: field {ours.number} is called {theirs.name} there")
    if ours.is_repeated != theirs.is_repeated:
        say(f"{where}: one of the two is repeated")
    if ours.is_required:
        say(f"{where}: required, which proto3 does not know")
    if real_oneof(ours) != real_oneof(theirs):
        say(f"{where}: in oneof {real_oneof(ours)}, there in {real_oneof(theirs)}")
    if ours.type == ours.TYPE_BYTES and theirs.type == theirs.TYPE_MESSAGE:
        return None
    if ours.type != theirs.type:
        return say(f"{where}: type {ours.type}, there {theirs.type}")
    if ours.message_type and their_name(ours.message_type.full_name) != theirs.message_type.full_name:
        say(f"{where}: a {ours.message_type.full_name}, there a {theirs.message_type.full_name}")
    if ours.enum_type:
        compare_enum(ours.enum_type, theirs.enum_type, where, say)
    return None


def compare_messages(ours, theirs, say):
    count = 0
    for message in all_messages(ours):
        try:
            other = theirs.FindMessageTypeByName(their_name(message.full_name))
        except KeyError:
            say(f"{message.full_name}: no such message there")
            continue
        for field in message.fields:
            count += 1
            compare_field(field, other.fields_by_number.get(field.number), f"{message.full_name}.{field.name}", say)
    return count


def compare_calls(theirs, say):
    service = theirs.FindServiceByName("spark.connect.SparkConnectService")
    for name, (request, response, streaming) in CALLS.items():
        method = service.methods_by_name.get(name)
        if method is None:
            say(f"call {name}: not there")
        elif (method.input_type.name, method.output_type.name, method.server_streaming) != (
            request,
            response,
            streaming,
        ):
            say(f"call {name}: {method.input_type.name} -> {method.output_type.name} there")


def check_no_recursion(ours, say):
    def walk(message, path):
        if message.full_name in path:
            say(f"{message.full_name} contains itself: {' > '.join(path)}")
            return
        for field in message.fields:
            if field.message_type:
                walk(field.message_type, path + [message.full_name])

    for message in all_messages(ours):
        walk(message, [])


def main():
    environment.enter_client_python(__file__)
    complaints = []
    ours = our_pool()
    check_no_recursion(ours, complaints.append)
    for release in environment.RELEASES:
        theirs = spark_pool(release)
        count = compare_messages(ours, theirs, lambda text: complaints.append(f"pyspark {release}: {text}"))
        compare_calls(theirs, lambda text: complaints.append(f"pyspark {release}: {text}"))
        print(f"pyspark {environment.version(release)}: {count} fields and {len(CALLS)} calls compared")
    for text in complaints:
        print("differs:", text)
    if complaints:
        sys.exit(1)
    print("spark_connect.proto agrees with both")


if __name__ == "__main__":
    main()
