# SPDX-License-Identifier: Apache-2.0
# FILE is there whole or not at all.
lakecdc changes orders --output out.jsonl; echo "$? $(wc -l < out.jsonl) $(ls | tr '\n' ' ')"
echo before > kept
lakecdc changes orders --from 60 --output kept; echo "$? $(cat kept) $(ls | tr '\n' ' ')"
lakecdc changes orders --from 7 -o kept; echo "$? $(wc -l < kept)"
ln -s target link; echo x > target
lakecdc changes orders --from 7 -o link; echo "$? $(readlink link) $(wc -l < target)"
lakecdc changes orders -o /dev/null; echo "$? $(test -c /dev/null && echo still a device)"
mkdir folder
lakecdc changes orders -o folder; echo "$?"
lakecdc changes orders -o nowhere/out; echo "$?"
lakecdc changes orders --from 7 -o - | wc -l
(umask 027; lakecdc changes orders -o moded; stat -c %a moded)
