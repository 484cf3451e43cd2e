# SPDX-License-Identifier: Apache-2.0
lakecdc plan orders --json
