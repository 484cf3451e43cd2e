# SPDX-License-Identifier: Apache-2.0
# What two reads give with the cursor between them is what one read gives.
lakecdc changes orders --to 3 --print-cursor > first 2> cursor
wc -l < cursor
lakecdc changes orders --cursor "$(cat cursor)" --print-cursor > second 2> cursor
lakecdc changes orders --cursor "$(cat cursor)" > third
cat first second | diff - <(lakecdc changes orders) && wc -l < third
