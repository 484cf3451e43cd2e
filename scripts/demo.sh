#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The main job on the sample table: what changed, how it was found, and that it adds up.
set -euo pipefail
cd "$(dirname "$0")/.."
lakecdc=${LAKECDC:-build/release/bin/lakecdc}
say() { printf '\n$ lakecdc %s\n' "$*"; "$lakecdc" "$@"; }

say changes examples/tables/orders --from 5 --to 7 --fold --format table
say plan examples/tables/orders --from 5
say verify examples/tables/orders
