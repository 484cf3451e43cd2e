# SPDX-License-Identifier: Apache-2.0
"""A process that is ended with SIGKILL at a chosen moment: before its n-th call that leaves something behind.

The one idea: a library that is preloaded counts those calls (kill_at.c), so that a test can walk through every crash
there is instead of waiting for the right one to happen by chance.
"""
import os
import shutil
import subprocess
import tempfile


class Killer:
    """`with Killer() as k:` builds the library; `k.env(n)` is what a process is started with."""

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="lakecdc-kill-")
        self.library = os.path.join(self.folder, "kill_at.so")
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kill_at.c")
        subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-o", self.library, source, "-ldl"], check=True)
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)

    def env(self, n):
        return {"LD_PRELOAD": self.library, "KILL_AT": str(n)}
