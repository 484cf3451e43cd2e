# SPDX-License-Identifier: Apache-2.0
"""The program of sink_driver.c from Python: one object a call, one answer back."""
import json
import os
import subprocess

PROGRAM = os.path.join(os.environ.get("LAKECDC_BUILD", "."), "bin", "sink_driver")


class Driver:
    def __init__(self, asan=""):
        """`asan`: options for the sanitizer, beside those there are."""
        env = dict(os.environ, ASAN_OPTIONS=f"{os.environ.get('ASAN_OPTIONS', '')}:{asan}")
        self.p = subprocess.Popen([PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)

    def ask(self, **what):
        self.p.stdin.write(json.dumps(what) + "\n")
        self.p.stdin.flush()
        line = self.p.stdout.readline()
        if not line:
            self.p.wait(60)
            raise AssertionError(f"the driver ended with {self.p.returncode}: {self.p.stderr.read()[:3000]}")
        return json.loads(line)

    def __call__(self, do, **what):
        """A call that must succeed."""
        got = self.ask(do=do, **what)
        assert got["ok"], got
        return got

    def refused(self, reason, do, **what):
        """A call that must fail with this reason; the error."""
        got = self.ask(do=do, **what)
        assert not got["ok"] and got["error"]["reason"] == reason, got
        return got["error"]

    def kill(self):
        self.p.kill()
        self.p.wait(60)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.p.stdin.close()
            code = self.p.wait(60)
        finally:
            if self.p.poll() is None:
                self.kill()
        assert code in (0, -9), f"the driver ended with {code}: {self.p.stderr.read()[:3000]}"
