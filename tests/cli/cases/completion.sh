# SPDX-License-Identifier: Apache-2.0
lakecdc completion bash > ./script && source ./script
complete() { COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=(); _lakecdc; echo "${COMPREPLY[@]}"; }
complete lakecdc ver
complete lakecdc changes --fo
complete lakecdc changes orders --format j
complete lakecdc changes --color ""
complete lakecdc verify --wh
complete lakecdc help pr
complete lakecdc completion ""
touch table_file; complete lakecdc plan table_
for shell in zsh fish; do lakecdc completion $shell | grep -c -e --from -e '-l from'; done
