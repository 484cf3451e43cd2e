# SPDX-License-Identifier: Apache-2.0
lakecdc help help
lakecdc help --help | diff - <(lakecdc help help) && lakecdc help -h | diff - <(lakecdc help help) && echo the same three times
