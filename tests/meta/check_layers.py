# SPDX-License-Identifier: Apache-2.0
"""Dependencies between folders point one way, and each third-party library has one home.

The compiler already refuses an include of a folder that is out of sight; this looks at what it cannot see: a way round
through "../", a cycle in what the folders declare, and system-wide headers of other libraries.
"""

import re
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SRC = ROOT / "src"

# Third-party header -> the only places that may include it.
OWNERS = {
    r"jansson\.h": ["io/"],
    r"roaring/.*": ["io/"],
    r"curl/.*": ["io/"],
    r"zlib\.h|zstd\.h|snappy(-c)?\.h|lz4.*\.h|libdeflate\.h": ["io/"],
    r"(arrow|parquet)/.*": ["io/arrow_adapter.cc"],
    r"xxhash\.h": ["base/"],
    r"protobuf-c/.*|.*\.pb-c\.h": ["spark/"],
    r"sqlite3\.h": ["sink/", "sync/"],
    r"libpq-fe\.h|librdkafka/.*": ["sink/"],
    r"yaml\.h|microhttpd\.h": ["sync/"],
}
SYSTEM = re.compile(r"(sys|netinet|arpa)/\w+\.h|[a-z0-9_]+(\.h)?")  # libc and the C++ library
ONLY_CPP = "io/arrow_adapter.cc"


def declared_layers():
    """What each folder may see, from the lc_layer() lines of the build."""
    layers = {}
    for path in [SRC / "CMakeLists.txt", *SRC.glob("*/CMakeLists.txt")]:
        text = re.sub(r"#.*", "", path.read_text())
        for name, arguments in re.findall(r"lc_layer\((\w+)([^)]*)\)", text):
            sees = re.search(r"SEES((?:\s+[a-z]+)*)", arguments)
            layers[name] = set(sees.group(1).split()) if sees else set()
    return layers


def cycles(layers):
    try:
        TopologicalSorter(layers).prepare()
    except CycleError as error:
        yield f"folders see each other in a circle: {error.args[1]}"


def includes(layers):
    for path in sorted(SRC.rglob("*")):
        name = path.relative_to(SRC).as_posix()
        if path.suffix not in (".c", ".h", ".cc", ".def"):
            continue
        folder = name.split("/")[0] if "/" in name else path.stem
        may = layers.get(folder, set()) | {folder}
        if path.suffix == ".cc" and name != ONLY_CPP:
            yield f"src/{name}: C++ lives in src/{ONLY_CPP} alone"
        for number, line in enumerate(path.read_text().split("\n"), 1):
            match = re.match(r'\s*#\s*include\s+(["<])(.*?)[">]', line)
            if not match:
                continue
            quote, header = match.groups()
            at = f"src/{name}:{number}"
            owners = next((places for pattern, places in OWNERS.items() if re.fullmatch(pattern, header)), None)
            if owners is not None:
                if not any(name.startswith(place) for place in owners):
                    yield f"{at}: {header} belongs to {' and '.join('src/' + place for place in owners)}"
            elif header.startswith("lakecdc/"):
                if not (ROOT / "include" / header).exists():
                    yield f"{at}: there is no public header {header}"
            elif quote == '"':
                if not (SRC / header).exists():
                    yield f'{at}: "{header}" is no file below src/ (includes are spelled "folder/file.h")'
                elif header.split("/")[0] not in may:
                    yield f"{at}: {folder} may see {sorted(may)}, not {header}"
            elif not SYSTEM.fullmatch(header):
                yield f"{at}: <{header}> has no owner in OWNERS of tests/meta/check_layers.py"


def main():
    layers = declared_layers()
    found = [*cycles(layers), *includes(layers)]
    if not {"base", "core", "io"} <= layers.keys() or layers["base"]:
        found.append(f"the layers do not look like ours: {layers}")
    if layers.get("cli"):
        found.append("the command sees public headers only")
    print("\n".join(found + [f"{len(layers)} layers, {len(found)} findings"]))
    return len(found) > 0


sys.exit(main())
