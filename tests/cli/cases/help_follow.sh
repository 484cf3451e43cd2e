# SPDX-License-Identifier: Apache-2.0
lakecdc help follow
lakecdc follow --help | diff - <(lakecdc help follow) && echo the same twice
