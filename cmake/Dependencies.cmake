# SPDX-License-Identifier: Apache-2.0
#
# The C libraries that an installed system provides. Arrow and protobuf-c have files of their own.

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

pkg_check_modules(jansson REQUIRED IMPORTED_TARGET jansson>=2.13)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash>=0.8)
pkg_check_modules(snappy REQUIRED IMPORTED_TARGET snappy>=1.1.8)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd>=1.4)
pkg_check_modules(libdeflate REQUIRED IMPORTED_TARGET libdeflate>=1.8)
pkg_check_modules(zlib REQUIRED IMPORTED_TARGET zlib>=1.2)
pkg_check_modules(curl REQUIRED IMPORTED_TARGET libcurl>=7.74)
pkg_check_modules(sqlite3 REQUIRED IMPORTED_TARGET sqlite3>=3.35)
pkg_check_modules(yaml REQUIRED IMPORTED_TARGET yaml-0.1>=0.2)
pkg_check_modules(libpq REQUIRED IMPORTED_TARGET libpq>=13)
pkg_check_modules(rdkafka REQUIRED IMPORTED_TARGET rdkafka>=2.0)
pkg_check_modules(microhttpd REQUIRED IMPORTED_TARGET libmicrohttpd>=0.9.72)
find_package(roaring CONFIG REQUIRED) # no .pc file in Debian

# The quicker Snappy that scripts/deps.sh builds is linked by nothing: the dynamic linker takes it in place of the
# system's, which has the same name, where the processor can run it (docs/decisions/0010).
set(LAKECDC_SNAPPY_DIR "${PROJECT_SOURCE_DIR}/build/deps/snappy" CACHE PATH
    "Where scripts/deps.sh put lib/glibc-hwcaps/ of a quicker Snappy, used at run time when it is there")
file(GLOB LC_SNAPPY_BUNDLED LIST_DIRECTORIES true ${LAKECDC_SNAPPY_DIR}/lib/glibc-hwcaps)
if(LC_SNAPPY_BUNDLED)
    list(APPEND CMAKE_BUILD_RPATH ${LAKECDC_SNAPPY_DIR}/lib)
endif()

# What a program that links the static library names on its link line, in order.
set(LC_STATIC_LIBS jansson roaring xxhash snappy zstd z deflate curl protobuf-c sqlite3 yaml pq rdkafka microhttpd stdc++ m pthread)
