# SPDX-License-Identifier: Apache-2.0
# Each ends with one line and status 2, and nothing on standard output.
try() { lakecdc "$@"; echo "$?"; }
try
try chnges orders
try frobnicate
try --hepl
try help chang
try help changes plan
try changes
try changes orders other
try changes orders --form 3
try changes orders --out x
try changes orders --xyzzy
try changes orders -z
try changes orders -nx 3
try changes orders --from
try changes orders --from --to 3
try changes orders --from=
try changes orders --from 2023-02-30
try changes orders --fold=maybe
try changes orders --no-pushdown=true
try changes orders --stats=1
try changes orders --limit -1
try changes orders --limit 99999999999999999999
try changes orders --limit ''
try changes orders --format xml
try changes orders --format ''
try changes orders --color sometimes
try changes orders --output ''
try changes orders --path-map nonsense
try changes orders --memory-limit 64MB
try changes orders --print-cursor --limit 3
try changes orders --bootstrap --net
try changes orders --to start
try changes orders --from 5 --to 4
try verify orders --where 'quantity > 1'
try probe orders --from 3
try plan orders --format csv
try completion
try completion tcsh
try completion bash zsh
