# SPDX-License-Identifier: Apache-2.0
lakecdc help changes
lakecdc changes --help | diff - <(lakecdc help changes) && lakecdc changes -h | diff - <(lakecdc help changes) && echo the same three times
