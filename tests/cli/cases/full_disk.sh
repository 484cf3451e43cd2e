# SPDX-License-Identifier: Apache-2.0
lakecdc changes orders > /dev/full; echo $?
lakecdc changes orders --format table > /dev/full; echo $?
lakecdc changes orders -o /dev/full; echo $?
lakecdc plan orders > /dev/full; echo $?
lakecdc help > /dev/full; echo $?
