# SPDX-License-Identifier: Apache-2.0
"""Where scripts/spark_env.sh put things, for the other files of this folder. Standard library only."""

import glob
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = os.environ.get("LCDC_SPARK_DIR") or os.path.join(ROOT, "build", "spark")
RELEASES = ("41", "42")


def part(name):
    path = os.path.join(FOLDER, name)
    if not os.path.exists(os.path.join(path, ".stamp")):
        sys.exit(f"{path} is not installed: run scripts/spark_env.sh first")
    return path


def client_python():
    return os.path.join(part("client"), "bin", "python")


def pyspark(release):
    """The folder to put on PYTHONPATH for a release ("41" or "42")."""
    return part("pyspark" + release)


def version(release):
    with open(os.path.join(pyspark(release), ".stamp"), encoding="utf-8") as file:
        return file.read().split()[1]


def jars(release):
    return sorted(glob.glob(os.path.join(part("jars" + release), "*.jar")))


def enter_client_python(script, release="42"):
    """Start the script again under the client's Python and a release's pyspark, unless it already runs there."""
    if os.path.realpath(sys.prefix) != os.path.realpath(part("client")):
        env = dict(os.environ, PYTHONPATH=pyspark(release))
        os.execve(client_python(), [client_python(), os.path.abspath(script), *sys.argv[1:]], env)
