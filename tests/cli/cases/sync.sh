# SPDX-License-Identifier: Apache-2.0
# From a table to a config, a run, and what the ledger says; then every way a command line can be wrong.
lakecdc sync --init orders > sync.yaml
sed "s|$PWD|HERE|" sync.yaml
lakecdc sync --check sync.yaml | sed "s|$PWD|HERE|"
lakecdc sync sync.yaml --once --log-format json 2>&1 | sed 's/"ts":"[^"]*"/"ts":"T"/; s/"ms":[0-9]*/"ms":0/; s/"message":"[^"]*"/"message":"M"/'
wc -l < orders.jsonl
lakecdc ledger list --ledger sync.yaml | sed 's/  20[0-9T:-]*Z/  TIME/'
sed -i 's/mode: cdc/mdoe: cdc/' sync.yaml
lakecdc sync sync.yaml
lakecdc sync sync.yaml --check --once
lakecdc sync
lakecdc ledger
lakecdc ledger lst --ledger ledger.db
lakecdc ledger show --ledger ledger.db
lakecdc ledger show nothing --ledger ledger.db
lakecdc ledger set orders --ledger ledger.db --resume --pause
lakecdc ledger set orders --ledger ledger.db --pause && lakecdc ledger list --ledger ledger.db | sed 's/  20[0-9T:-]*Z/  TIME/'
