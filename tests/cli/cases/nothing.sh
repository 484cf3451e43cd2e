# SPDX-License-Identifier: Apache-2.0
# Reading nothing is a success: no rows, the header where a format has one.
for format in jsonl csv table; do lakecdc changes orders --from 6 --to 6 --format $format; echo "$format $?"; done
