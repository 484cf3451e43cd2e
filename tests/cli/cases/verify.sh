# SPDX-License-Identifier: Apache-2.0
lakecdc verify orders
lakecdc verify orders --from 5 --to 6
lakecdc verify orders --json
