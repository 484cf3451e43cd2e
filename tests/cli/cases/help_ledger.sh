# SPDX-License-Identifier: Apache-2.0
lakecdc help ledger
lakecdc ledger --help | diff - <(lakecdc help ledger) && echo the same twice
