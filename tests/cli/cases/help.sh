# SPDX-License-Identifier: Apache-2.0
lakecdc help
lakecdc --help | diff - <(lakecdc help) && lakecdc -h | diff - <(lakecdc help) && echo the same three times
