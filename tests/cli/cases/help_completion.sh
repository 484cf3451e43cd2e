# SPDX-License-Identifier: Apache-2.0
lakecdc help completion
lakecdc completion --help | diff - <(lakecdc help completion) && lakecdc completion -h | diff - <(lakecdc help completion) && echo the same three times
