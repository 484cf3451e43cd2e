# SPDX-License-Identifier: Apache-2.0
lakecdc help probe
lakecdc probe --help | diff - <(lakecdc help probe) && lakecdc probe -h | diff - <(lakecdc help probe) && echo the same three times
