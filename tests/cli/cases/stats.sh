# SPDX-License-Identifier: Apache-2.0
lakecdc changes orders --from 5 --stats 2>&1 > rows | python -c '
import json, sys
stats = json.loads(sys.stdin.read())
print(stats["rows"], stats["commits"])'
wc -l < rows
