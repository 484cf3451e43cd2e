# SPDX-License-Identifier: Apache-2.0
"""How a reader is run once and measured: as a process from fork to exit, or as a worker that stays warm.

A worker takes one line on standard input for each read and answers with one line of JSON: {"seconds", "rows",
"groups"} or {"refused"}. Both kinds give an Outcome. This program stays small and imports nothing large, because a
child's peak memory as the kernel counts it begins with that of the process it was forked from.
"""

import json
import os
import re
import select
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass, field

TIMEOUT = 600  # seconds for one answer


@dataclass
class Outcome:
    seconds: float = 0.0
    rows: int | None = None
    groups: dict | None = None  # kind of change -> [rows, sum(amount)]
    peak_mb: float = 0.0
    stats: dict = field(default_factory=dict)  # what the reader itself counted: bytes_read, opens
    refused: str = ""  # the reader's own words
    failed: str = ""  # it did not answer


def last_line(text):
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    return lines[-1] if lines else ""


def last_json(text):
    """The last line that is a JSON object, or {}."""
    for line in reversed(text.splitlines()):
        if line.startswith("{"):
            try:
                return json.loads(line)
            except ValueError:
                continue
    return {}


class Process:
    """A command that does the read once; `feed` is its standard input. With `stats` its standard error ends in counters,
    otherwise its standard output is an answer."""

    def __init__(self, command, feed="", stats=True, check=None, environment=None, timeout=TIMEOUT):
        self.command, self.feed, self.has_stats, self.timeout = command, feed, stats, timeout
        self.check_command, self.environment = check, environment

    def run(self, command, environment=None):
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, tempfile.TemporaryFile() as feed:
            feed.write(self.feed.encode())
            feed.seek(0)
            started = time.monotonic()
            child = subprocess.Popen(command, stdin=feed, stdout=out, stderr=err, env=environment)
            timer = threading.Timer(self.timeout, child.kill)
            timer.start()
            _, status, usage = os.wait4(child.pid, 0)
            seconds = time.monotonic() - started
            timer.cancel()
            child.returncode = os.waitstatus_to_exitcode(status)
            texts = []
            for file in (out, err):
                file.seek(0)
                texts.append(file.read().decode(errors="replace"))
        return child.returncode, seconds, usage.ru_maxrss / 1024, *texts

    def once(self):
        code, seconds, peak, out, err = self.run(self.command, self.environment)
        if code < 0 or code == 70:
            return Outcome(failed=f"ended by signal {-code} after {seconds:.0f} s" if code < 0 else last_line(err))
        if code != 0:
            return Outcome(refused=last_line(err) or f"exit status {code}")
        answer = last_json(err if self.has_stats else out)
        if "refused" in answer:
            return Outcome(refused=answer["refused"])
        stats = answer if self.has_stats else {}
        return Outcome(seconds, answer.get("rows"), answer.get("groups"), peak, stats)

    def check(self):
        """One untimed read whose rows are summed up."""
        if self.check_command is None:
            return self.once()
        code, _, _, out, err = self.run(self.check_command, self.environment)
        answer = last_json(out)
        if code != 0 or "groups" not in answer:
            return Outcome(refused=answer.get("refused") or last_line(err) or f"exit status {code}")
        return Outcome(rows=answer["rows"], groups=answer["groups"])

    def close(self):
        pass


def descendants(pid):
    """The process and every one below it."""
    found = [pid]
    for parent in found:
        try:
            with open(f"/proc/{parent}/task/{parent}/children") as file:
                found += [int(child) for child in file.read().split()]
        except OSError:
            pass
    return found


def peak_mb(pids):
    total = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/status") as file:
                match = re.search(r"VmHWM:\s*(\d+) kB", file.read())
            total += int(match.group(1)) if match else 0
        except OSError:
            pass
    return total / 1024


def forget_peak(pids):
    for pid in pids:
        try:
            with open(f"/proc/{pid}/clear_refs", "w") as file:
                file.write("5")
        except OSError:
            pass


class Worker:
    """A process that stays and answers line by line. Peak memory is that of it and its children since open()."""

    def __init__(self, command, environment=None, timeout=TIMEOUT):
        self.command, self.environment, self.timeout = command, environment, timeout
        self.child = self.errors = None

    def start(self):
        self.errors = tempfile.TemporaryFile()
        self.child = subprocess.Popen(
            self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, env=self.environment
        )
        self.buffer = b""

    def said(self):
        self.errors.seek(0)
        return last_line(self.errors.read().decode(errors="replace"))

    def line(self):
        """The next line of an answer; None when the worker takes too long. OSError when it ended."""
        until = time.monotonic() + self.timeout
        while b"\n" not in self.buffer:
            ready, _, _ = select.select([self.child.stdout], [], [], max(0, until - time.monotonic()))
            if not ready:
                return None
            more = os.read(self.child.stdout.fileno(), 65536)
            if not more:
                raise OSError("the reader ended")
            self.buffer += more
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line

    def once(self, request="{}"):
        if self.child is None:
            self.start()
        try:
            self.child.stdin.write(request.encode() + b"\n")
            self.child.stdin.flush()
            line = self.line()
        except OSError as error:
            said = self.said() or str(error)
            self.close()
            return Outcome(failed=said)
        if line is None:
            self.close()
            return Outcome(failed=f"no answer in {self.timeout} s")
        try:
            answer = json.loads(line)
        except ValueError:
            return Outcome(failed=f"not an answer: {line[:100]!r}")
        if "refused" in answer:
            return Outcome(refused=answer["refused"])
        peak = peak_mb(descendants(self.child.pid))
        return Outcome(answer["seconds"], answer["rows"], answer.get("groups"), peak, answer.get("stats", {}))

    def check(self, request="{}"):
        """The first read: it warms up, and its rows are summed up."""
        outcome = self.once(request)
        if self.child:
            forget_peak(descendants(self.child.pid))
        return outcome

    def close(self):
        if self.child is None:
            return
        pids = descendants(self.child.pid)
        try:
            self.child.stdin.close()
            self.child.wait(timeout=20)
        except (OSError, subprocess.TimeoutExpired):
            for pid in reversed(pids):
                try:
                    os.kill(pid, 9)
                except OSError:
                    pass
            self.child.wait()
        self.child.stdout.close()
        self.errors.close()
        self.child = None


class Shared:
    """One question to a worker that several rows of the table share, such as a Spark session; its owner closes it."""

    def __init__(self, worker, request):
        self.worker, self.request = worker, json.dumps(request)

    def once(self):
        return self.worker.once(self.request)

    def check(self):
        return self.worker.check(self.request)

    def close(self):
        pass
