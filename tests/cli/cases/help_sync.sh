# SPDX-License-Identifier: Apache-2.0
lakecdc help sync
lakecdc sync --help | diff - <(lakecdc help sync) && echo the same twice
