# SPDX-License-Identifier: Apache-2.0
lakecdc help plan
lakecdc plan --help | diff - <(lakecdc help plan) && lakecdc plan -h | diff - <(lakecdc help plan) && echo the same three times
