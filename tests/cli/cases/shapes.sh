# SPDX-License-Identifier: Apache-2.0
lakecdc changes orders --net --from 2 --format table --columns order_id,status
lakecdc changes orders --from 5 --where "price > 20" --format table --columns order_id
lakecdc changes orders --from 7 --format table --columns status,order_id --from-exclusive=false
lakecdc changes orders --from 6 --from-exclusive | wc -l
lakecdc changes orders --from 5 --no-pushdown --where "price > 20" | diff - <(lakecdc changes orders --from 5 --where "price > 20")
