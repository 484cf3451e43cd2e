# SPDX-License-Identifier: Apache-2.0
set -o pipefail
lakecdc changes orders | head -1 | wc -l; echo $?
lakecdc changes orders | true; echo $?
lakecdc plan orders | true; echo $?
lakecdc help changes | true; echo $?
