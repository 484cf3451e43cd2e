# SPDX-License-Identifier: Apache-2.0
"""Speaks with tests/support/sink_driver.c: one sink, call by call."""
import json
import os
import subprocess

PROGRAM = os.path.join(os.environ.get("LAKECDC_BUILD", ""), "bin", "sink_driver")


class Refused(Exception):
    """What a call came to when it failed."""

    def __init__(self, error, ms):
        super().__init__(f"{error['reason']}: {error['message']}")
        self.reason, self.message, self.status, self.retriable, self.ms = error["reason"], error["message"], error["status"], error["retriable"], ms


class Driver:
    def __init__(self, sink, columns, settings, table="orders", identity=("id",), source="lake"):
        self.setup = dict(sink=sink, columns=[c if isinstance(c, dict) else dict(name=c[0], type=c[1]) for c in columns], settings=settings, table=table, identity=list(identity),
                          source=source)
        # what is freed counts as free, so that the peak says what the sink keeps
        options = os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1"
        self.process = subprocess.Popen([PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "ASAN_OPTIONS": options})
        self.peak_kb = self.ms = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.stdin.close()
            assert self.process.wait(60) == 0, f"the driver ended with {self.process.returncode}"

    def send(self, what, **words):
        self.process.stdin.write(json.dumps({"do": what, **words}) + "\n")
        self.process.stdin.flush()

    def answer(self):
        line = self.process.stdout.readline()
        assert line, f"the driver ended with {self.process.wait(10)}"
        answer = json.loads(line)
        self.peak_kb, self.ms = answer["peak_kb"], answer["ms"]
        if not answer["ok"]:
            raise Refused(answer["error"], answer["ms"])
        return answer

    def do(self, what, **words):
        self.send(what, **words)
        return self.answer()

    def open(self, **other):
        self.do("open", **{**self.setup, **other})
        return self

    def cursor(self):
        return self.do("cursor")["cursor"]

    def window(self, rows, cursor, kind="changes", snapshot=1, **words):
        return self.do("window", rows=rows, cursor=cursor, kind=kind, snapshot=snapshot, **words)

    def kill(self):
        self.process.kill()
        self.process.wait(10)


def refused(call, *reasons):
    """The refusal of a call, which must be one, and for one of the reasons."""
    try:
        call()
    except Refused as e:
        assert e.reason in reasons, f"refused with {e}, want {reasons}"
        first = e.message[:1]
        assert "\n" not in e.message and not e.message.endswith("."), e.message
        assert first.lower() == first, e.message
        return e
    raise AssertionError(f"not refused; want {reasons}")


def change(op, before=None, after=None, snapshot=1, ts=None):
    return {"op": op, "before": before, "after": after, "snapshot": snapshot, "ts": ts}


def insert(snapshot=1, ts=None, **row):
    return change("insert", None, row, snapshot, ts)


def delete(snapshot=1, ts=None, **row):
    return change("delete", row, None, snapshot, ts)


def update(before, after, snapshot=1, ts=None):
    return [change("update_before", before, None, snapshot, ts), change("update_after", None, after, snapshot, ts)]
