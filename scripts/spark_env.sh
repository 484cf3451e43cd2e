#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs what the Spark tests need under build/spark/ (or $LCDC_SPARK_DIR), and prints what it did.
#
#   client/     a Python venv with a Connect client's libraries; it sees pyspark 4.2 unless PYTHONPATH says otherwise
#   pyspark42/  pyspark 4.2.1, which is client, stubs and a whole server in one
#   pyspark41/  pyspark 4.1.4
#   jars42/     Delta for Spark 4.2        jars41/  Iceberg and Delta for Spark 4.1
#
# The one idea: a step is a folder made beside its final place and moved there whole, with a stamp that names what
# is in it. A folder whose stamp is right is left alone, so a second run is quick, a changed version is a new
# install, and a run that was cut off leaves nothing that looks finished.
set -euo pipefail
shopt -s inherit_errexit

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
dir=${LCDC_SPARK_DIR:-$root/build/spark}

pyspark42=4.2.1
pyspark41=4.1.4
delta=io.delta:delta-spark_4.2_2.13:4.4.0
delta41=io.delta:delta-spark_4.1_2.13:4.4.0
iceberg=org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0
client_libraries=(grpcio==1.76.0 grpcio-status==1.76.0 protobuf==6.33.6 googleapis-common-protos==1.72.0
                  zstandard==0.25.0 py4j==0.10.9.9 pandas==2.3.3 pyarrow==26.0.1)

# What is in Spark's own jar folder, in Spark's own versions.
spark_has=org.scala-lang,org.scala-lang.modules,org.slf4j,org.apache.logging.log4j,log4j,org.apache.hadoop
spark_has+=,org.apache.parquet,org.roaringbitmap,org.xerial.snappy,com.github.luben,io.airlift
spark_has+=,com.fasterxml.jackson.core,com.fasterxml.jackson.module,com.fasterxml.jackson.datatype

say() { printf 'spark_env: %s\n' "$*"; }

# The network is slow and shared: a step that hangs is ended, a step that fails is tried again.
retry() {
    local try
    for try in 1 2 3; do
        timeout 1200 "$@" && return 0
        say "try $try of 3 did not work: $1 ${2-} ${3-}" >&2
        sleep $((try * 5))
    done
    return 1
}

apt_install() {
    retry apt-get update -qq
    DEBIAN_FRONTEND=noninteractive retry apt-get install -y -qq --no-install-recommends -o DPkg::Lock::Timeout=600 \
        "$@" >/dev/null
}

need_command() { # command, package
    command -v "$1" >/dev/null && return 0
    say "installing $2"
    apt_install "$2"
}

# step NAME STAMP FUNCTION: run FUNCTION FOLDER unless folder NAME already carries STAMP.
step() {
    local folder=$dir/$1 began=$SECONDS
    if [ "$(cat "$folder/.stamp" 2>/dev/null)" = "$2" ]; then
        say "$1 is there ($2)"
        return 0
    fi
    rm -rf "$folder" "$folder.part"
    mkdir -p "$folder.part"
    "$3" "$folder.part"
    printf '%s\n' "$2" >"$folder.part/.stamp"
    mv "$folder.part" "$folder"
    say "$1 made in $((SECONDS - began)) s ($2)"
}

# A venv knows its own path, so it is made in place and stamped last.
client_step() {
    local stamp="python $(python3 -c 'import sys; print(sys.version.split()[0])') ${client_libraries[*]}" began=$SECONDS
    if [ "$(cat "$dir/client/.stamp" 2>/dev/null)" = "$stamp" ]; then
        say "client is there ($stamp)"
        return 0
    fi
    rm -rf "$dir/client"
    if ! python3 -m venv "$dir/client" >/dev/null 2>&1; then
        say "installing python3-venv"
        apt_install python3-venv
        python3 -m venv --clear "$dir/client"
    fi
    retry "$dir/client/bin/pip" install --quiet --disable-pip-version-check "${client_libraries[@]}"
    local packages
    packages=$("$dir/client/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    echo "$dir/pyspark42" >"$packages/pyspark.pth"
    printf '%s\n' "$stamp" >"$dir/client/.stamp"
    say "client made in $((SECONDS - began)) s ($stamp)"
}

install_pyspark() { # version, folder
    retry "$dir/client/bin/pip" install --quiet --disable-pip-version-check --no-deps --no-compile --target "$2" \
        "pyspark==$1"
}
install_pyspark42() { install_pyspark "$pyspark42" "$1"; }
install_pyspark41() { install_pyspark "$pyspark41" "$1"; }

# The artifact and everything it needs that Spark has not.
install_jars() { # group:artifact:version, folder
    local group artifact version
    IFS=: read -r group artifact version <<<"$1"
    cat >"$2/pom.xml" <<POM
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>lakecdc</groupId><artifactId>spark-test-jars</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    <dependency><groupId>$group</groupId><artifactId>$artifact</artifactId><version>$version</version></dependency>
  </dependencies>
</project>
POM
    retry mvn -q -B -f "$2/pom.xml" dependency:copy-dependencies -DincludeScope=runtime \
        -DoutputDirectory="$2" -DexcludeGroupIds="$spark_has"
    ls "$2"/"$artifact-$version".jar >/dev/null
}
install_jars42() { install_jars "$delta" "$1"; }
install_jars41() {
    install_jars "$iceberg" "$1"
    install_jars "$delta41" "$1"
}

mkdir -p "$dir"
exec 9>"$dir/.lock"
flock 9 # two runs at once would undo each other's folders

need_command java openjdk-17-jre-headless
client_step
step pyspark42 "pyspark $pyspark42" install_pyspark42
step pyspark41 "pyspark $pyspark41" install_pyspark41
if [ "$(cat "$dir"/jars42/.stamp "$dir"/jars41/.stamp 2>/dev/null)" != "$delta"$'\n'"$iceberg $delta41" ]; then
    need_command mvn maven
fi
step jars42 "$delta" install_jars42
step jars41 "$iceberg $delta41" install_jars41
say "ready in $SECONDS s: $dir"
