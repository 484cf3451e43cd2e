# SPDX-License-Identifier: Apache-2.0
# What cannot be printed is a failure, and a closed stream is never taken for a file of the table.
lakecdc changes orders >&-; echo $?
lakecdc help >&-; echo $?
lakecdc changes orders -o out <&- >&- 2>&-; echo $? $(wc -l < out)
lakecdc changes nowhere 2>&-; echo $?
