# SPDX-License-Identifier: Apache-2.0
#
# lc_arrow: Arrow and Parquet C++, from an installed Arrow where there is one, else from the pinned wheel that
# scripts/deps.sh laid into build/deps/arrow. The wheel has no CMake files and no unversioned names, so its libraries are
# named by file; it was built with the C++11 ABI, which is g++'s and clang++'s default.
#
# LC_ARROW_BUNDLED lists the libraries an installation has to carry along: none when Arrow is the system's.

set(LC_ARROW_MINIMUM 26)
set(LAKECDC_ARROW_DIR "${PROJECT_SOURCE_DIR}/build/deps/arrow" CACHE PATH
    "Where scripts/deps.sh put include/ and lib/ of Arrow, used when find_package(Arrow) finds none")

add_library(lc_arrow INTERFACE)
set(LC_ARROW_BUNDLED)

find_package(Arrow CONFIG QUIET)
find_package(Parquet CONFIG QUIET)
find_package(ArrowCompute CONFIG QUIET)

if(Arrow_FOUND AND Parquet_FOUND AND ArrowCompute_FOUND AND Arrow_VERSION VERSION_GREATER_EQUAL LC_ARROW_MINIMUM)
    target_link_libraries(lc_arrow INTERFACE ArrowCompute::arrow_compute_shared Parquet::parquet_shared
                                             Arrow::arrow_shared)
    message(STATUS "Arrow ${Arrow_VERSION}: installed, ${Arrow_DIR}")
    return()
endif()

file(GLOB arrow_library LIST_DIRECTORIES false ${LAKECDC_ARROW_DIR}/lib/libarrow.so.*)
if(NOT arrow_library)
    message(FATAL_ERROR "no Arrow ${LC_ARROW_MINIMUM} or newer is installed and ${LAKECDC_ARROW_DIR}/lib has none: run "
                        "scripts/deps.sh, which lays the pinned one there")
endif()
string(REGEX REPLACE "^.*libarrow\\.so\\.([0-9]+)$" "\\1" arrow_soversion "${arrow_library}")

foreach(name IN ITEMS arrow parquet arrow_compute)
    add_library(lc_lib${name} SHARED IMPORTED)
    set_target_properties(lc_lib${name} PROPERTIES
        IMPORTED_LOCATION ${LAKECDC_ARROW_DIR}/lib/lib${name}.so.${arrow_soversion}
        IMPORTED_SONAME lib${name}.so.${arrow_soversion}
        INTERFACE_INCLUDE_DIRECTORIES ${LAKECDC_ARROW_DIR}/include)
    list(APPEND LC_ARROW_BUNDLED ${LAKECDC_ARROW_DIR}/lib/lib${name}.so.${arrow_soversion})
endforeach()
# Loaded by libarrow when an s3:// path is opened, never linked.
list(APPEND LC_ARROW_BUNDLED ${LAKECDC_ARROW_DIR}/lib/libarrow_s3.so.${arrow_soversion})
target_link_libraries(lc_arrow INTERFACE lc_libarrow_compute lc_libparquet lc_libarrow)
message(STATUS "Arrow ${arrow_soversion}: ${LAKECDC_ARROW_DIR}")
