#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a command on a terminal of its own and prints what it sent there, ESC as ^[.

    on_terminal.py COLUMNS COMMAND [ARGUMENT ...]

With STDOUT=pipe in the environment only standard error is the terminal, and standard output is read slowly. The exit
status is the command's.
"""
import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
import threading
import time


def drain(fd, out):
    while True:
        try:
            piece = os.read(fd, 65536)
        except OSError:  # the other end is closed
            return
        if not piece:
            return
        out.append(piece)


def main():
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, int(sys.argv[1]), 0, 0))
    slow = os.environ.get("STDOUT") == "pipe"
    process = subprocess.Popen(sys.argv[2:], stdin=theirs, stdout=subprocess.PIPE if slow else theirs, stderr=theirs)
    os.close(theirs)
    sent = []
    reader = threading.Thread(target=drain, args=(ours, sent))
    reader.start()
    while slow and process.stdout.read(1 << 20):
        time.sleep(0.05)
    code = process.wait()
    reader.join()
    sys.stdout.write(b"".join(sent).decode(errors="replace").replace("\r\n", "\n").replace("\x1b", "^["))
    return code


if __name__ == "__main__":
    sys.exit(main())
