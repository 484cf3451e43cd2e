# SPDX-License-Identifier: Apache-2.0
lakecdc probe orders
lakecdc probe orders --color always | sed 's/\x1b/^[/g'
