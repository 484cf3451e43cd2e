# SPDX-License-Identifier: Apache-2.0
#
# Dependencies between the folders of src/ point one way, and a wrong include does not compile: each folder is compiled
# with one include root of its own, a folder of links to exactly the folders it may use.
#
#   lc_layer(scan SEES base core io SOURCES a.c b.c LIBS PkgConfig::zstd)
#
# makes the object library lc_scan, whose files can include "scan/…", "base/…", "core/…", "io/…" and <lakecdc/…>; it
# becomes part of liblakecdc. With COMMAND the folder is a program of that name instead, which has liblakecdc alone.

function(lc_layer name)
    cmake_parse_arguments(PARSE_ARGV 1 layer "" "COMMAND" "SEES;SOURCES;LIBS")
    if(NOT layer_SOURCES)
        return()
    endif()
    set(view ${PROJECT_BINARY_DIR}/layers/${name})
    file(REMOVE_RECURSE ${view})
    file(MAKE_DIRECTORY ${view})
    foreach(folder IN ITEMS ${name} ${layer_SEES})
        file(CREATE_LINK ${PROJECT_SOURCE_DIR}/src/${folder} ${view}/${folder} SYMBOLIC)
    endforeach()

    if(layer_COMMAND)
        add_executable(lc_${name} ${layer_SOURCES})
        set_target_properties(lc_${name} PROPERTIES OUTPUT_NAME ${layer_COMMAND})
        target_link_libraries(lc_${name} PRIVATE lakecdc)
    else()
        add_library(lc_${name} OBJECT ${layer_SOURCES})
        set_property(GLOBAL APPEND PROPERTY LC_LAYERS lc_${name})
        set_property(GLOBAL APPEND PROPERTY LC_LAYER_LIBS ${layer_LIBS})
    endif()
    target_include_directories(lc_${name} PRIVATE ${view} ${PROJECT_SOURCE_DIR}/include)
    target_link_libraries(lc_${name} PRIVATE lc_flags ${layer_LIBS})
endfunction()
