# SPDX-License-Identifier: Apache-2.0
# What is not there, and what the filter or the columns cannot name.
try() { lakecdc "$@"; echo "$?"; }
for command in changes plan probe verify; do try $command nowhere; done
mkdir empty; try changes empty
try changes orders --from 60
try changes orders --columns order_id,itm
try changes orders --identity nobody
try changes orders --where 'quantty > 3'
try changes orders --where 'quantity > )'
try changes orders --where "quantity = 'many'"
try changes orders --cursor '{}'
try changes orders --branch main2
