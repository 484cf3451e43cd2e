# SPDX-License-Identifier: Apache-2.0
"""Results as JSON (everything, each round) and as Markdown (what one wants to see)."""

import json
import os
import statistics


def ratio(reader, readers):
    """How many times the time of the reader it is compared with; None where one of them has no time."""
    other = readers[reader["against"]] if reader["against"] is not None else None
    if other is None or not reader["seconds"] or not other["seconds"]:
        return None
    return statistics.median(reader["seconds"]) / statistics.median(other["seconds"])


def finish(tasks):
    for task in tasks:
        for reader in task["readers"]:
            seconds = reader["seconds"]
            reader["median_s"] = round(statistics.median(seconds), 4) if seconds else None
            reader["min_s"] = round(min(seconds), 4) if seconds else None
        for reader in task["readers"]:
            value = ratio(reader, task["readers"])
            reader["ratio"] = round(value, 2) if value is not None else None
    return tasks


def number(value, form):
    return "–" if value is None else format(value, form)


def times(reader):
    return "–" if reader["ratio"] is None else f"{reader['ratio']:.2f} ×"


def answer(reader):
    text = reader["state"] if reader["state"] == "right" else f"**{reader['state']}**"
    return f"{text}: {reader['said']}" if reader["said"] else text


def escaped(text):
    return text.replace("|", "\\|").replace("\n", " ")


def measurements(tasks):
    yield "| table | reader | how | answer | median s | min s | its time / ours | peak RSS MB | read MB | files opened |"
    yield "|---|---|---|---|---:|---:|---:|---:|---:|---:|"
    for task in tasks:
        for i, reader in enumerate(task["readers"]):
            read = reader["bytes_read"] / 1e6 if reader["bytes_read"] is not None else None
            cells = [task["question"] if i == 0 else "", reader["name"], reader["how"], escaped(answer(reader)),
                     number(reader["median_s"], ".3f"), number(reader["min_s"], ".3f"), times(reader),
                     number(reader["peak_mb"], ".0f"), number(read, ".0f"), number(reader["files_opened"], "d")]
            yield "| " + " | ".join(cells) + " |"


def figures(tasks):
    yield "| table | against | to reach | this run | |"
    yield "|---|---|---:|---:|---|"
    for task in tasks:
        for reader in task["readers"]:
            if not reader["figure"]:
                continue
            got = reader["ratio"]
            word = "not measured" if got is None else "reached" if got >= reader["figure"] else "not reached"
            yield (f"| {task['question']} | {reader['name']} ({reader['how']}) | {reader['figure']:g} × | {times(reader)} "
                   f"| {word} |")
    ours = [(reader["peak_mb"], task["name"]) for task in tasks for reader in task["readers"]
            if not reader["peer"] and reader["peak_mb"]]
    if ours:
        peak, name = max(ours)
        word = "reached" if peak <= 256 else "not reached"
        yield f"| every row | peak RSS, the highest ({name}) | ≤ 256 MB | {peak:.0f} MB | {word} |"


def markdown(run):
    about = run["about"]
    yield "# Speed, side by side"
    yield ""
    yield f"One run of `make bench` on {about['date']}: {about['machine']}. {run['rounds']} rounds, readers in turn on the"
    yield f"same files, page cache warm. Load before it began: {about['load']}."
    yield "What is measured, and how, is in [method.md](../method.md). A wrong or refused answer has no time."
    yield ""
    for line in figures(run["tasks"]):
        yield line
    yield ""
    for line in measurements(run["tasks"]):
        yield line
    yield ""
    yield "Versions: " + ", ".join(f"{name} {version}" for name, version in about["versions"].items()) + "."
    for name, why in run["left_out"].items():
        yield f"Left out: {name}: {why}."


def write(folder, run):
    """Both files, each replaced whole."""
    finish(run["tasks"])
    os.makedirs(folder, exist_ok=True)
    for name, text in (("results.json", json.dumps(run, indent=1, ensure_ascii=False)),
                       ("results.md", "\n".join(markdown(run)))):
        with open(f"{folder}/{name}.part", "w") as file:
            file.write(text + "\n")
        os.replace(f"{folder}/{name}.part", f"{folder}/{name}")
