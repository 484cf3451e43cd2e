# SPDX-License-Identifier: Apache-2.0
"""Which machine and which versions a run was made with."""

import datetime
import glob
import os
import platform
import re
import subprocess

import tables


def first_match(path, pattern):
    try:
        with open(path) as file:
            found = re.search(pattern, file.read(), re.M)
            return found.group(1).strip() if found else ""
    except OSError:
        return ""


def output(*command):
    try:
        done = subprocess.run(command, cwd=tables.ROOT, capture_output=True, text=True, timeout=60)
        return done.stdout.strip() if done.returncode == 0 else ""
    except (OSError, subprocess.TimeoutExpired):
        return ""


def machine():
    model = first_match("/proc/cpuinfo", r"^model name\s*:\s*(.*)$") or platform.machine()
    memory = int(first_match("/proc/meminfo", r"^MemTotal:\s*(\d+)") or 0) / 1024 / 1024
    system = first_match("/etc/os-release", r'^PRETTY_NAME="(.*)"$')
    return f"{os.cpu_count()} cores of {model}, {memory:.0f} GB, {system}, Linux {platform.release().split('-')[0]}"


def snappy(build):
    """The file that this project unpacks Snappy with: the system's, or a build for this generation of processors."""
    found = re.search(r"libsnappy\S* => (\S+)", output("ldd", f"{build}/bin/lakecdc"))
    if not found:
        return ""
    built_for = re.search(r"glibc-hwcaps/([^/]+)/", found.group(1))
    return f"built for {built_for.group(1)}" if built_for else "the system's"


def versions(build, python):
    found = {"lakecdc": output(f"{build}/bin/lakecdc", "--version").removeprefix("lakecdc ").split("\n")[0]}
    commit = output("git", "describe", "--always", "--dirty", "--exclude", "*")
    if commit:
        found["lakecdc"] += f" ({commit})"
    found["its Snappy"] = snappy(build)
    packages = output(python, "-c", "import importlib.metadata as m\n"
                      "for p in 'deltalake', 'pyiceberg', 'duckdb', 'pyarrow': print(p, m.version(p))")
    found |= dict(line.split() for line in packages.splitlines())
    for folder in ("pyspark42", "pyspark41"):
        version = first_match(f"{tables.SPARK}/{folder}/.stamp", r"(\S+)$")
        found[f"Spark {folder[-2]}.{folder[-1]}"] = version
    for name, pattern in (("Delta", "jars42/delta-spark_*.jar"), ("Iceberg", "jars41/iceberg-spark-runtime-*.jar")):
        found[name] = "".join(file.removesuffix(".jar").split("-")[-1] for file in glob.glob(f"{tables.SPARK}/{pattern}"))
    found["skade"] = first_match(f"{tables.ROOT}/bench/peers/skade/Cargo.toml", r'^skade = "=(.*)"')
    return {name: version for name, version in found.items() if version}


def about(build, python):
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": machine(),
        "load": " ".join(f"{load:.2f}" for load in os.getloadavg()),
        "versions": versions(build, python),
    }
