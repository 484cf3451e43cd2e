# SPDX-License-Identifier: Apache-2.0
"""Starts real Spark Connect servers for tests and sees to it that they end.

    with servers.Server("42") as spark: ...          spark.url is sc://127.0.0.1:PORT, spark.data the folder of its tables
    python servers.py run 42 --port-file F           keeps one running until SIGTERM, SIGINT or SIGHUP

Release 42 is Spark 4.2 with Delta (catalog spark_catalog, the changelog flag on; a session may switch it off with Config),
41 is Spark 4.1 with Iceberg (catalog ice, a hadoop catalog) and Delta (spark_catalog). Tables live in the data folder, empty at each start.

The one idea: spark-submit execs, so the process started here *is* the server. It asks the kernel for SIGTERM should this
process die in any way, and every other way out goes through stop(), which ends that pid and waits for it. A lock file
per release allows one server of each at a time; whoever comes second waits for it. Standard library only.
"""

import argparse
import contextlib
import ctypes
import fcntl
import os
import shutil
import signal
import socket
import subprocess
import sys
import time

import environment

CHANGELOG_FLAG = "spark.databricks.delta.changelogV2.enabled"
TOKEN = "spark.connect.authenticate.token"
EXTENSIONS = "spark.sql.extensions"

# Tests run small data through cold code: the quick compiler only, a small collector, few partitions, no UI.
COMMON = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}
DELTA = {
    EXTENSIONS: "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    CHANGELOG_FLAG: "true",
    "spark.databricks.delta.snapshotPartitions": "1",
}
ICEBERG = {
    EXTENSIONS: "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions,io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.ice.type": "hadoop",
}


class ServerFailed(Exception):
    pass


def release_conf(release, data):
    if release == "42":
        return {**COMMON, **DELTA, "spark.sql.warehouse.dir": os.path.join(data, "warehouse")}
    return {
        **COMMON,
        **ICEBERG,
        "spark.sql.catalog.ice.warehouse": os.path.join(data, "ice"),
        "spark.sql.warehouse.dir": os.path.join(data, "warehouse"),
    }


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG, kept across exec


class Server:
    """One Spark Connect server of a release ("42" or "41"); a context manager. A stopped one may be started again."""

    def __init__(self, release, conf=None, data=None, ready_seconds=120, lock_seconds=300, with_ui=False):
        self.release = release
        self.conf = dict(conf or {})
        self.ui_port = free_port() if with_ui else None  # where the jobs can be asked for
        if with_ui:
            self.conf.update({"spark.ui.enabled": "true", "spark.ui.port": str(self.ui_port)})
        self.own_data = os.path.join(os.path.abspath(environment.FOLDER), "data" + release)
        self.data = os.path.abspath(data or self.own_data)
        self.log = os.path.join(environment.FOLDER, f"server{release}.log")
        self.ready_seconds = ready_seconds
        self.lock_seconds = lock_seconds
        self.process = self.port = self.lock = self.start_seconds = None

    @property
    def url(self):
        return f"sc://127.0.0.1:{self.port}"

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *unused):
        self.stop()

    def start(self):
        self.take_lock()
        self.empty_data()
        self.port = free_port()
        began = time.monotonic()
        home = os.path.join(environment.pyspark(self.release), "pyspark")
        env = dict(os.environ, SPARK_HOME=home, SPARK_LOCAL_IP="127.0.0.1", SPARK_CONF_DIR=os.path.join(home, "conf"))
        with open(self.log, "wb") as log:
            # own session: a Ctrl-C meant for this process must not reach the server before stop() does
            self.process = subprocess.Popen(
                self.command(home),
                env=env,
                cwd=self.data,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=die_with_parent,
            )
        self.wait_until_ready(began + self.ready_seconds)
        self.start_seconds = time.monotonic() - began

    def empty_data(self):
        """The own folder is emptied; one that the caller named is his, so it has to be empty."""
        if self.data == self.own_data:
            shutil.rmtree(self.data, ignore_errors=True)
        os.makedirs(self.data, exist_ok=True)
        if os.listdir(self.data):
            raise ServerFailed(f"{self.data} is not empty: name a new folder for the tables")

    def command(self, home):
        conf = {**release_conf(self.release, self.data), **self.conf, "spark.connect.grpc.binding.port": str(self.port)}
        settings = [word for key, value in conf.items() for word in ("--conf", f"{key}={value}")]
        return [
            os.path.join(home, "bin", "spark-submit"),
            "--master",
            "local[2]",
            "--driver-memory",
            "2g",
            "--class",
            "org.apache.spark.sql.connect.service.SparkConnectServer",
            "--jars",
            ",".join(environment.jars(self.release)),
            *settings,
            "spark-internal",
        ]

    def wait_until_ready(self, deadline):
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise ServerFailed(f"spark {self.release} ended with {self.process.returncode}\n{self.log_tail()}")
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
                return
            time.sleep(0.1)
        raise ServerFailed(f"spark {self.release} not ready after {self.ready_seconds} s\n{self.log_tail()}")

    def stop(self):
        """Ends the server and waits for its end; safe to call at any time, any number of times."""
        if self.process is not None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process = None
        if self.lock is not None:
            self.lock.close()
            self.lock = None

    def kill(self):
        """Ends the server the hard way, for tests of a server that dies."""
        self.process.kill()
        self.process.wait()

    def take_lock(self):
        self.lock = open(os.path.join(environment.FOLDER, f"server{self.release}.lock"), "a+", encoding="utf-8")
        deadline = time.monotonic() + self.lock_seconds
        while True:
            try:
                fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    self.lock.seek(0)
                    raise ServerFailed(f"a spark {self.release} is running already: {self.lock.read()}") from None
                time.sleep(0.5)
        self.lock.truncate(0)
        self.lock.write(f"started by process {os.getpid()}")
        self.lock.flush()

    def log_tail(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return "".join(log.readlines()[-30:])


def count_in_log(server, words):
    with open(server.log, encoding="utf-8", errors="replace") as log:
        return sum(words in line for line in log)


def write_whole(path, text):
    """Whoever waits for the file must never see half of it."""
    with open(path + ".part", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(path + ".part", path)


def exit_on_signals():
    """Turns the signals that would end Python on the spot into SystemExit, so context managers get their turn."""

    def leave(number, _frame):
        for each in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(each, signal.SIG_IGN)
        sys.exit(128 + number)

    for each in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(each, leave)


def unlink(path):
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def run(arguments):
    exit_on_signals()
    conf = dict(setting.split("=", 1) for setting in arguments.conf)
    if arguments.token:
        conf[TOKEN] = arguments.token
    port_file = arguments.port_file or os.path.join(environment.FOLDER, f"server{arguments.release}.port")
    unlink(port_file)  # one that a killed run left would send clients to nobody
    with Server(arguments.release, conf=conf, data=arguments.data) as server:
        print(
            f"spark {server.release} at {server.url} after {server.start_seconds:.1f} s, pid {server.process.pid}, "
            f"data {server.data}, log {server.log}",
            flush=True,
        )
        try:
            write_whole(port_file, f"{server.port}\n")
            status = server.process.wait()
            print(f"spark {server.release} ended by itself with {status}\n{server.log_tail()}", file=sys.stderr)
            return 1
        finally:
            unlink(port_file)


def main():
    parser = argparse.ArgumentParser(description="Spark Connect servers for the tests")
    verbs = parser.add_subparsers(dest="verb", required=True)
    verb = verbs.add_parser("run", help="keep one server running until a signal")
    verb.add_argument("release", choices=sorted(environment.RELEASES))
    verb.add_argument("--port-file", help="written once the server answers, removed at the end")
    verb.add_argument("--data", help="folder for its tables, empty or new (default: one of its own, emptied first)")
    verb.add_argument("--token", help="ask every client for this token")
    verb.add_argument("--conf", action="append", default=[], metavar="KEY=VALUE")
    return run(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
