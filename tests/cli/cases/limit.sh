# SPDX-License-Identifier: Apache-2.0
lakecdc changes orders --limit 2 --format csv --columns order_id
lakecdc changes orders -n 0 --format csv --columns order_id
lakecdc changes orders --limit 1000 | wc -l
lakecdc changes orders --limit 3 --format arrow | python -c '
import sys, pyarrow.ipc
print(pyarrow.ipc.open_stream(sys.stdin.buffer).read_all().column("after").combine_chunks().field("order_id").to_pylist())'
lakecdc changes orders --from 5 --limit 3 --format parquet -o p && python -c '
import pyarrow.parquet
print(pyarrow.parquet.read_table("p").select(["op", "before"]).to_pylist()[2]["before"]["customer"])'
