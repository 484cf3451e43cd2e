# SPDX-License-Identifier: Apache-2.0
lakecdc probe orders --json | python -c '
import json, sys
verdict = json.loads(sys.stdin.read())
print(verdict["chosen"], verdict["fell_back"], [c["name"] for c in verdict["candidates"] if c["usable"]])'
