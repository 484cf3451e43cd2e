#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs the Kafka broker that the tests of the kafka sink need under build/kafka/ (or $LCDC_KAFKA_DIR), and prints
# what it did. The broker is run from its jars, as one KRaft node; no part of lakecdc needs Java.
#
# The folder is made beside its final place and moved there whole, with a stamp that names what is in it: a second run is
# quick, a changed version is a new install, and a run that was cut off leaves nothing that looks finished.
set -euo pipefail
shopt -s inherit_errexit

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
dir=${LCDC_KAFKA_DIR:-$root/build/kafka}
kafka=3.9.1
stamp="org.apache.kafka:kafka_2.13:$kafka"

say() { printf 'kafka_env: %s\n' "$*"; }

# The network is slow and shared: a step that hangs is ended, a step that fails is tried again.
retry() {
    local try
    for try in 1 2 3; do
        timeout 1200 "$@" && return 0
        say "try $try of 3 did not work: $1 ${2-}" >&2
        sleep $((try * 5))
    done
    return 1
}

need_command() { # command, package
    command -v "$1" >/dev/null && return 0
    say "installing $2"
    retry apt-get update -qq
    DEBIAN_FRONTEND=noninteractive retry apt-get install -y -qq --no-install-recommends -o DPkg::Lock::Timeout=600 "$2" \
        >/dev/null
}

mkdir -p "$dir"
exec 9>"$dir/.lock"
flock 9 # two runs at once would undo each other's folders

need_command java openjdk-17-jre-headless
if [ "$(cat "$dir/jars/.stamp" 2>/dev/null)" = "$stamp" ]; then
    say "jars are there ($stamp)"
    exit 0
fi
need_command mvn maven
rm -rf "$dir/jars" "$dir/jars.part"
mkdir -p "$dir/jars.part"
cat >"$dir/jars.part/pom.xml" <<POM
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>lakecdc</groupId><artifactId>kafka-test-jars</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>$kafka</version></dependency>
  </dependencies>
</project>
POM
retry mvn -q -B -f "$dir/jars.part/pom.xml" dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$dir/jars.part"
ls "$dir/jars.part/kafka_2.13-$kafka.jar" >/dev/null
printf '%s\n' "$stamp" >"$dir/jars.part/.stamp"
mv "$dir/jars.part" "$dir/jars"
say "jars made in $SECONDS s ($stamp)"
