# SPDX-License-Identifier: Apache-2.0
lakecdc changes orders --from 5 --to 5 --format table --columns order_id,status
