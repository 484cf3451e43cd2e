# SPDX-License-Identifier: Apache-2.0
lakecdc changes orders --from 3 --to 5
lakecdc changes orders --from 3 --to 5 --format jsonl | diff - <(lakecdc changes orders --from 3 --to 5)
lakecdc changes --format=jsonl --from=3 --to=5 -- orders | diff - <(lakecdc changes orders --from 3 --to 5)
