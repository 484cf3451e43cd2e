# SPDX-License-Identifier: Apache-2.0
lakecdc changes orders --from 5 --to 5 --format table --fold --color always --columns order_id,status,price | sed 's/\x1b/^[/g'
NO_COLOR=1 lakecdc changes orders --from 5 --to 5 --format table --color auto | grep -c $'\x1b' || true
