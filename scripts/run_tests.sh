#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# run_tests.sh PRESET... [-- CTEST-ARGUMENT...]: ctest over several builds, all of them even when one has failures, and one
# closing line that counts them all.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

presets=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    presets+=("$1")
    shift
done
[ $# -eq 0 ] || shift

failed=0
total=0
for preset in "${presets[@]}"; do
    log=build/$preset/ctest.log
    rm -f "$log"
    ctest --preset "$preset" "$@" 2>&1 | tee "$log"
    # "98% tests passed, 1 tests failed out of 50"
    counts=$(sed -n 's/^[0-9]*% tests passed, \([0-9]*\) tests failed out of \([0-9]*\)$/\1 \2/p' "$log" | tail -n 1)
    if [ -z "$counts" ]; then # ctest itself did not come to its end
        counts="1 1"
    fi
    failed=$((failed + ${counts% *}))
    total=$((total + ${counts#* }))
done
printf '%d passed, %d failed\n' $((total - failed)) $failed
[ $failed -eq 0 ]
