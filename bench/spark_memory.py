# SPDX-License-Identifier: Apache-2.0
"""Peak memory and time to the first row of a 2 GB result with a slow consumer: lakecdc beside PySpark's own ways.

    make bench-spark        (LAKECDC=path/of/lakecdc python bench/spark_memory.py [--seconds N])

The one idea: every reader gets the same feed of the scripted server (scenario `big`, 2000 batches of a megabyte: a real one
refuses a result over 1 GiB), takes a pause of 5 ms after each, and is its own process, so that its peak resident set is its
own. The first row counts from the start of that process. Each has --seconds at most.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SPARK_TESTS = os.path.join(ROOT, "tests", "spark")
sys.path.insert(0, SPARK_TESTS)

import environment

PAUSE = 0.005
QUERY = "SELECT * FROM shop.t CHANGES FROM VERSION 1 TO VERSION 1 WITH (computeUpdates = 'true')"
PYSPARK = """
import sys, time
from pyspark.sql import SparkSession
spark = SparkSession.builder.remote(sys.argv[1]).create()
frame = spark.sql(sys.argv[2])
if sys.argv[3] == "toArrow":
    batches = frame.toArrow().to_batches(max_chunksize=100)
    print("first", time.monotonic(), flush=True)
    for batch in batches:
        time.sleep(float(sys.argv[4]))
else:
    for number, row in enumerate(frame.toLocalIterator()):
        if number == 0:
            print("first", time.monotonic(), flush=True)
        if number % 100 == 99:
            time.sleep(float(sys.argv[4]))
print("whole", flush=True)
"""


def start_server(folder):
    port_file = os.path.join(folder, "port")
    script = os.path.join(SPARK_TESTS, "fake_server.py")
    command = [environment.client_python(), script, "--scenario", "big", "--port-file", port_file]
    server = subprocess.Popen(command, env=dict(os.environ, PYTHONPATH=environment.pyspark("42")))
    while not os.path.exists(port_file):
        if server.poll() is not None:
            sys.exit("the scripted server does not come up")
        time.sleep(0.1)
    with open(port_file, encoding="utf-8") as file:
        return server, f"sc://127.0.0.1:{file.read().strip()}"


def peak_mib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next((int(line.split()[1]) >> 10 for line in file if line.startswith("VmHWM")), 0)


def watch(process, seconds, step):
    """Lets step() consume until it says that all is read, or the time is over; the peak so far, and whether it was whole."""
    end, peak, whole = time.monotonic() + seconds, 0, False
    while not whole and time.monotonic() < end:
        peak = max(peak, peak_mib(process.pid))  # 0 of one that has ended
        whole = step()
    if not whole:
        process.kill()
    return peak, process.wait() == 0


def lakecdc(url, seconds):
    words = [os.environ["LAKECDC"], "changes", url, "--table", "shop.t", "--from", "1", "--to", "1", "--via", "spark_native"]
    began, first = time.monotonic(), None
    with subprocess.Popen([*words, "--format", "arrow"], stdout=subprocess.PIPE) as process:

        def step():
            nonlocal first
            piece = process.stdout.read(1 << 20)
            first = first or time.monotonic() - began
            time.sleep(PAUSE)
            return not piece

        return (*watch(process, seconds, step), first)


def pyspark(way, url, seconds):
    words = [environment.client_python(), "-c", PYSPARK, url, QUERY, way, str(PAUSE)]
    env = dict(os.environ, PYTHONPATH=environment.pyspark("42"))
    began = time.monotonic()
    with tempfile.TemporaryFile("w+") as output, subprocess.Popen(words, stdout=output, env=env) as process:

        def step():
            time.sleep(0.1)
            return process.poll() is not None

        peak, _whole = watch(process, seconds, step)
        output.seek(0)
        lines = dict(line.partition(" ")[::2] for line in output.read().splitlines())
    return peak, "whole" in lines, float(lines["first"]) - began if "first" in lines else None


def markdown(rows, seconds):
    head = [
        "# A 2 GB Spark result and a slow consumer",
        "",
        f"`make bench-spark`: 2000 batches of a megabyte, a pause of 5 ms after each, at most {seconds:.0f} s a reader. The server is",
        "scripted, as a real one refuses a result over 1 GiB. The first row counts from the start of the process.",
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.0f} during the run; PySpark {environment.version('42')}.",
        "",
        "| reader | peak RSS, MiB | first row, s | result |",
        "|---|---|---|---|",
    ]
    return "\n".join(head + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=120, help="at most, for each reader")
    parser.add_argument("--out", help="a Markdown file for the table")
    arguments = parser.parse_args()
    seconds = arguments.seconds
    readers = [
        ("lakecdc", lakecdc),
        ("PySpark toLocalIterator", lambda url, most: pyspark("toLocalIterator", url, most)),
        ("PySpark toArrow", lambda url, most: pyspark("toArrow", url, most)),
    ]
    rows = []
    print(f"{'reader':25} {'peak MiB':>9} {'first row s':>12}  result")
    with tempfile.TemporaryDirectory() as folder:
        server, url = start_server(folder)
        try:
            for name, read in readers:
                peak, whole, first = read(url, seconds)
                end = "whole" if whole else f"ended after {seconds:.0f} s or less"
                shown = "-" if first is None else f"{first:.2f}"
                print(f"{name:25} {peak:9} {shown:>12}  {end}", flush=True)
                rows.append((name, str(peak), shown, end))
        finally:
            server.terminate()
            server.wait(30)
    if arguments.out:
        os.makedirs(os.path.dirname(arguments.out) or ".", exist_ok=True)
        with open(arguments.out, "w", encoding="utf-8") as file:
            file.write(markdown(rows, seconds))


if __name__ == "__main__":
    main()
