#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Sets a bare Debian 12 up. `scripts/deps.sh` installs what building needs, `scripts/deps.sh test` also what the tests
# need, `scripts/deps.sh lint` what `make lint` needs:
#
#   system packages          what is missing of the lists below, by apt-get
#   build/deps/arrow/        include/ and lib/ of Arrow C++, out of the pinned wheel; not where Arrow is installed
#   build/deps/snappy/       a quicker build of Snappy, taken at run time by processors that can (docs/decisions/0010)
#   build/venv/              (test) the Python that runs the tests: peers to compare with, and writers of test tables
#
# The one idea: every step first looks whether its result is there, so a second run costs a fraction of a second and a
# broken-off run goes on where it was. A finished folder carries a stamp that says what it was made from.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build_packages=(
    build-essential cmake ninja-build pkg-config binutils ca-certificates python3 python3-venv
    libcurl4-openssl-dev libdeflate-dev libjansson-dev libmicrohttpd-dev libpq-dev libprotobuf-c-dev librdkafka-dev libroaring-dev
    libsnappy-dev libsqlite3-dev libxxhash-dev libyaml-dev libzstd-dev protobuf-c-compiler zlib1g-dev
)
test_packages=(clang-14 clang-format-14 libclang-rt-14-dev libcmocka-dev postgresql-15)

# The wheels of one Python version carry the same libraries as those of any other.
arrow_wheel='pyarrow==26.0.1
    --hash=sha256:39cb0f2418282c24bea6ceda77b03e5a8f0a5766b63a8bf194d4e2a2c423548c
    --hash=sha256:22a96a225de107eb9acd1ad9a818198ca832df2a4c0952412f754a7ed2105a98' # x86_64, aarch64
arrow_libraries=(libarrow libparquet libarrow_compute libarrow_s3)

snappy_source='snappy_1.2.2.orig.tar.gz SHA256:90f74bc1fbf78a6c56b3c4a082a05103b3a56bb17bca1a27e052ea11723292dc'
# Calls within the library must be inlined: a copy of 64 bytes is two moves, or a call that takes as long.
snappy_flags='-march=x86-64-v3 -fno-semantic-interposition'

say() { printf 'deps: %s\n' "$*"; }
die() { printf 'deps: %s\n' "$*" >&2; exit 1; }

# Networks fail: a step is tried again, and one that hangs is ended.
retry() {
    local try
    for try in 1 2 3 4; do
        timeout 900 "$@" && return 0
        say "try $try did not work: $*" >&2
        sleep $((try * 3))
    done
    die "gave up after 4 tries: $*"
}

apt_packages() {
    command -v dpkg-query >/dev/null || { say "no dpkg here: install by hand what $* are called"; return 0; }
    local missing=() package
    for package in "$@"; do
        [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    local apt=(env DEBIAN_FRONTEND=noninteractive apt-get)
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null ||
            die "missing packages, and neither root nor sudo here; ask for: apt-get install ${missing[*]}"
        apt=(sudo "${apt[@]}")
    fi
    say "installing ${missing[*]}"
    retry "${apt[@]}" update -qq
    retry "${apt[@]}" install -y -qq --no-install-recommends -o DPkg::Lock::Timeout=600 "${missing[@]}" >/dev/null
}

# whole FOLDER WHAT: is FOLDER there, made from exactly WHAT?
whole() { [ "$(cat "$1/.stamp" 2>/dev/null)" = "$2" ]; }

arrow() {
    local folder=build/deps/arrow part=build/deps/arrow.part library
    local made_from="${arrow_libraries[*]} $arrow_wheel"
    ! pkg-config --atleast-version=26 arrow parquet arrow-compute 2>/dev/null || return 0
    ! whole $folder "$made_from" || return 0
    say "making $folder"
    rm -rf $folder $part
    mkdir -p $part/lib
    python3 -m venv $part/venv
    printf '%s ' $arrow_wheel >$part/wheel.txt
    retry $part/venv/bin/pip --disable-pip-version-check -q download --no-deps --only-binary=:all: --require-hashes \
        --implementation cp --python-version 3.11 --abi cp311 --platform "manylinux_2_28_$(uname -m)" \
        -r $part/wheel.txt -d $part
    python3 -m zipfile -e $part/pyarrow-*.whl $part/wheel
    mv $part/wheel/pyarrow/include $part/include
    mv $part/wheel/pyarrow-*.dist-info/licenses $part/licenses
    for library in "${arrow_libraries[@]}"; do
        mv $part/wheel/pyarrow/"$library".so.* $part/lib/
    done
    rm -rf $part/venv $part/wheel $part/wheel.txt $part/pyarrow-*.whl
    printf '%s\n' "$made_from" >$part/.stamp
    mv $part $folder
}

# Debian's Snappy is built for the oldest x86-64 there is and unpacks at half the speed that 256-bit moves allow. The same
# library built for x86-64-v3 goes where the dynamic linker looks first on a processor that has them. Nothing is compiled
# or linked against it: without it (another processor, another system, no source to be had) the system's does the work.
snappy() {
    local folder=build/deps/snappy part=build/deps/snappy.part mirror
    local made_from="$snappy_source $snappy_flags"
    [ "$(uname -m)" = x86_64 ] && [ -x /usr/lib/apt/apt-helper ] || return 0
    ! whole $folder "$made_from" || return 0
    say "making $folder"
    rm -rf $folder $part
    mkdir -p $part
    mirror=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME)' 'Created-By: Packages' 'Origin: Debian' |
        sed -n '/-security$/!s/ .*//p') || true
    mirror=${mirror%%$'\n'*}
    if ! make_snappy $part "${mirror%/}/pool/main/s/snappy" >$part/log 2>&1; then
        say "no quicker Snappy: $(tail -n 1 $part/log)"
        return 0
    fi
    printf '%s\n' "$made_from" >$part/.stamp
    mv $part $folder
}

make_snappy() {
    local part=$1 from=$2 source=$1/source
    mkdir -p $part/lib/glibc-hwcaps/x86-64-v3 $part/licenses $source
    timeout 120 /usr/lib/apt/apt-helper download-file "$from/${snappy_source% *}" $part/source.tar.gz "${snappy_source#* }" &&
        tar -xzf $part/source.tar.gz -C $source --strip-components=1 &&
        cmake -S $source -B $source/build -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=ON "-DCMAKE_CXX_FLAGS=$snappy_flags" \
            -DSNAPPY_BUILD_TESTS=OFF -DSNAPPY_BUILD_BENCHMARKS=OFF &&
        cmake --build $source/build &&
        cp $source/COPYING $part/licenses/ &&
        strip -o $part/lib/glibc-hwcaps/x86-64-v3/libsnappy.so.1 $source/build/libsnappy.so.1 &&
        rm -rf $source $part/source.tar.gz
}

# A venv holds its own path, so it is made in place and its stamp comes last.
venv() {
    local folder=build/venv made_from
    made_from=$(python3 -V; cat tests/requirements.txt)
    ! whole $folder "$made_from" || return 0
    say "making $folder"
    rm -rf $folder
    python3 -m venv $folder
    retry $folder/bin/pip --disable-pip-version-check -q install --only-binary=:all: -r tests/requirements.txt
    printf '%s\n' "$made_from" >$folder/.stamp
}

case "${1-build}" in
build) apt_packages "${build_packages[@]}" ;;
test) apt_packages "${build_packages[@]}" "${test_packages[@]}" ;;
lint) apt_packages "${build_packages[@]}" clang-format-14 clang-tidy-14 ;;
*) die "usage: scripts/deps.sh [build|test|lint]" ;;
esac
mkdir -p build/deps
exec 9>build/deps/.lock # two calls at once: the second waits, and finds everything there
flock 9
arrow
snappy
[ "${1-build}" != test ] || venv
