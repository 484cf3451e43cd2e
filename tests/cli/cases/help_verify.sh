# SPDX-License-Identifier: Apache-2.0
lakecdc help verify
lakecdc verify --help | diff - <(lakecdc help verify) && lakecdc verify -h | diff - <(lakecdc help verify) && echo the same three times
