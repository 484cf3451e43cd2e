# SPDX-License-Identifier: Apache-2.0
# Colours, headings and cuts by themselves; NO_COLOR and dumb terminals are heard.
python $CLI_TESTS/on_terminal.py 100 lakecdc changes orders --from 5 --fold
python $CLI_TESTS/on_terminal.py 60 lakecdc changes orders --from 5 --fold --color never
NO_COLOR=1 python $CLI_TESTS/on_terminal.py 60 lakecdc changes orders --from 7 --fold
TERM=dumb python $CLI_TESTS/on_terminal.py 60 lakecdc changes orders --from 7 --fold
python $CLI_TESTS/on_terminal.py 60 lakecdc changes orders --from 7 --format jsonl --columns order_id
python $CLI_TESTS/on_terminal.py 60 lakecdc changes orders --from 6 --to 6 --columns order_id
python $CLI_TESTS/on_terminal.py 60 lakecdc changes orders --from 6 --to 6 --columns order_id --quiet
python $CLI_TESTS/on_terminal.py 60 lakecdc changes orders --format parquet; echo $?
