# SPDX-License-Identifier: Apache-2.0
#
# protobuf-c and its compiler. lc_protobuf_c(TARGET FILES...) generates C messages from files below proto/ into the build
# tree and adds them to TARGET. A file proto/spark/connect/base.proto is included as "spark/connect/base.pb-c.h".

pkg_check_modules(protobufc REQUIRED IMPORTED_TARGET libprotobuf-c>=1.4)
find_program(PROTOC_C protoc-c REQUIRED)

function(lc_protobuf_c target)
    set(out ${PROJECT_BINARY_DIR}/proto)
    set(root ${PROJECT_SOURCE_DIR}/proto)
    file(MAKE_DIRECTORY ${out})
    set(generated)
    foreach(proto IN LISTS ARGN)
        string(REGEX REPLACE "\\.proto$" "" stem ${proto})
        add_custom_command(
            OUTPUT ${out}/${stem}.pb-c.c ${out}/${stem}.pb-c.h
            COMMAND ${PROTOC_C} --c_out=${out} -I ${root} ${root}/${proto}
            DEPENDS ${root}/${proto}
            COMMENT "Generating ${stem}.pb-c.c"
            VERBATIM)
        list(APPEND generated ${out}/${stem}.pb-c.c ${out}/${stem}.pb-c.h)
        # The generator's code is not held to our warnings.
        set_source_files_properties(${out}/${stem}.pb-c.c PROPERTIES COMPILE_OPTIONS -w)
    endforeach()
    target_sources(${target} PRIVATE ${generated})
    target_include_directories(${target} SYSTEM PRIVATE ${out})
    target_link_libraries(${target} PRIVATE PkgConfig::protobufc)
endfunction()
