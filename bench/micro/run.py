# SPDX-License-Identifier: Apache-2.0
"""Runs bench_micro with a Snappy Parquet file to scan, which it makes: 200,000 rows of workload A's shape.

bench/micro/run.py BUILD_FOLDER [NAME ...]
"""

import hashlib
import subprocess
import sys
import tempfile

import pyarrow
import pyarrow.parquet

ROWS = 200_000


def main():
    build, names = sys.argv[1], sys.argv[2:]
    customers = [f"cust-{hashlib.sha224(str(i).encode()).hexdigest()}" for i in range(ROWS)]
    table = pyarrow.table({"id": pyarrow.array(range(ROWS), "int64"), "customer": customers})
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/snappy.parquet"
        pyarrow.parquet.write_table(table, file, compression="snappy", use_dictionary=False)
        return subprocess.run([f"{build}/bench/bench_micro", "--file", file, *names]).returncode


sys.exit(main())
