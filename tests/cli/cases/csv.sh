# SPDX-License-Identifier: Apache-2.0
lakecdc changes orders --from 5 --format csv --fold
