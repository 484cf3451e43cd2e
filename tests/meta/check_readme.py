#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What README shows is what happens: the demo's output, the first program, and the links."""
import os, re, subprocess, sys, tempfile

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
README = open(f"{ROOT}/README.md", encoding="utf-8").read()


def squeeze(text):
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def demo_output_stands_in_readme():
    out = subprocess.run([f"{ROOT}/scripts/demo.sh"], capture_output=True, text=True, check=True).stdout
    missing = [line for line in squeeze(out) if line not in squeeze(README)]
    assert not missing, f"README lacks {missing[:3]}"


def first_program_is_the_example():
    blocks = re.findall(r"```c\n(.*?)```", README, re.S)
    assert blocks == [open(f"{ROOT}/examples/first.c", encoding="utf-8").read()], "README's program is not examples/first.c"


def first_program_compiles_and_runs():
    build = os.environ["LAKECDC_BUILD"]
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/first"
        subprocess.run(["cc", "-std=c17", "-Wall", "-Wextra", "-Werror", f"-I{ROOT}/include", f"{ROOT}/examples/first.c", f"-L{build}/lib", "-llakecdc",
                        f"-Wl,-rpath,{build}/lib", "-o", program], check=True)
        run = subprocess.run([program, f"{ROOT}/examples/tables/orders"], capture_output=True, text=True)
        assert run.returncode == 0 and run.stdout.startswith("41 change rows; go on with --cursor lakecdc1/delta/7/"), run
        run = subprocess.run([program, folder], capture_output=True, text=True)
        assert run.returncode == 1 and "no table at" in run.stderr, run


def links_lead_somewhere():
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert os.path.exists(f"{ROOT}/{target}"), f"README links to {target}"


failed = 0
tests = [demo_output_stands_in_readme, first_program_is_the_example, first_program_compiles_and_runs, links_lead_somewhere]
for test in tests:
    try:
        test()
    except Exception as e:
        failed += 1
        print(f"FAIL {test.__name__}: {e}")
print(f"{len(tests) - failed} passed, {failed} failed")
sys.exit(failed > 0)
