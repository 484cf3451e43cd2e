# SPDX-License-Identifier: Apache-2.0
lakecdc changes orders --from 2 --to 5 --format table --fold
