# SPDX-License-Identifier: Apache-2.0
lakecdc plan orders
lakecdc plan orders --from 5 --to 5 --color always | sed 's/\x1b/^[/g'
