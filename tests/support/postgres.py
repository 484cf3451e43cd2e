# SPDX-License-Identifier: Apache-2.0
"""A PostgreSQL server of a test's own: made in a folder, started on a free port of 127.0.0.1, stopped by its pid.

The one idea: `with Server() as s:` gives a server that no other has, run by the user `postgres` when the test is root
(the server refuses root), and `s.rows(sql)` asks it through psql.
"""
import csv
import io
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

PASSWORD = "s3cret-of-the-test"
NULL = "\x02null\x02"


def bin_folder():
    found = shutil.which("initdb")
    if found:
        return os.path.dirname(os.path.realpath(found))
    root = "/usr/lib/postgresql"
    versions = sorted((v for v in os.listdir(root) if os.path.exists(f"{root}/{v}/bin/initdb")), key=float) if os.path.isdir(root) else []
    assert versions, "no PostgreSQL server here; scripts/deps.sh test installs one"
    return f"{root}/{versions[-1]}/bin"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    def __init__(self, **settings):
        self.settings = {"fsync": "off", "max_connections": "20", "shared_buffers": "16MB", **settings}

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="lakecdc-pg-")
        os.chmod(self.folder, 0o700)
        self.data, self.port, self.bin = f"{self.folder}/data", free_port(), bin_folder()
        with open(f"{self.folder}/password", "w") as f:
            f.write(PASSWORD)
        self.as_user = []
        if os.geteuid() == 0:
            shutil.chown(self.folder, "postgres")
            shutil.chown(f"{self.folder}/password", "postgres")
            self.as_user = ["runuser", "-u", "postgres", "--"]
        subprocess.run([*self.as_user, f"{self.bin}/initdb", "-D", self.data, "-U", "owner", "-A", "scram-sha-256", "--pwfile", f"{self.folder}/password", "-E", "UTF8",
                        "--locale=C.UTF-8", "--no-sync"], check=True, capture_output=True, cwd=self.folder)
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self):
        words = [w for k, v in self.settings.items() for w in ("-c", f"{k}={v}")]
        self.log = open(f"{self.folder}/log", "ab")
        self.process = subprocess.Popen([*self.as_user, f"{self.bin}/postgres", "-D", self.data, "-p", str(self.port), "-c", "listen_addresses=127.0.0.1",
                                         "-c", "unix_socket_directories=", *words], stdout=self.log, stderr=self.log, cwd=self.folder)
        until = time.monotonic() + 60
        while time.monotonic() < until:
            if subprocess.run([f"{self.bin}/pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]).returncode == 0:
                return
            assert self.process.poll() is None, open(f"{self.folder}/log").read()[-2000:]
            time.sleep(0.1)
        raise AssertionError("the server does not come up")

    def pid(self):
        """The postmaster, which a runuser may stand before."""
        with open(f"{self.data}/postmaster.pid") as f:
            return int(f.readline())

    def stop(self, how=signal.SIGINT):
        if self.process.poll() is None:
            try:
                os.kill(self.pid(), how)
            except (OSError, ValueError):
                self.process.terminate()
            self.process.wait(60)
        self.log.close()

    def dsn(self, user="owner", password=PASSWORD, database="postgres", extra=""):
        return f"host=127.0.0.1 port={self.port} user={user} password={password} dbname={database} {extra}".strip()

    def sql(self, text, user="owner", database="postgres"):
        p = subprocess.run([f"{self.bin}/psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "--csv", "-P", f"null={NULL}", "-h", "127.0.0.1", "-p", str(self.port), "-U", user,
                            "-d", database, "-c", text], env={**os.environ, "PGPASSWORD": PASSWORD}, capture_output=True)
        assert p.returncode == 0, f"{p.stderr.decode().strip()}\n    {text}"
        return p.stdout.decode()

    def rows(self, text, **kw):
        """The rows of a query, as tuples of texts and None."""
        found = list(csv.reader(io.StringIO(self.sql(text, **kw), newline="")))
        return [tuple(None if v == NULL else v for v in row or [""]) for row in found[1:]]

    def backends(self):
        """The pids of the sessions that sinks hold."""
        return [int(r[0]) for r in self.rows("SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'lakecdc%'")]
