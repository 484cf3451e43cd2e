# SPDX-License-Identifier: Apache-2.0
#
# What `cmake --install` lays down: the command, both libraries, the headers, a CMake package and a pkg-config file.
# Where Arrow came out of the wheel its libraries go along into <libdir>/lakecdc, which liblakecdc finds relative to
# itself, so the prefix can be moved. So does the quicker Snappy.

set(LC_PRIVATE_DIR ${CMAKE_INSTALL_LIBDIR}/lakecdc)
set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/lakecdc)

if(LC_ARROW_BUNDLED OR LC_SNAPPY_BUNDLED)
    set_target_properties(lakecdc PROPERTIES INSTALL_RPATH "$ORIGIN/lakecdc")
endif()
if(LC_SNAPPY_BUNDLED)
    install(DIRECTORY ${LC_SNAPPY_BUNDLED} DESTINATION ${LC_PRIVATE_DIR})
    install(DIRECTORY ${LAKECDC_SNAPPY_DIR}/licenses/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/snappy)
endif()
if(LC_ARROW_BUNDLED)
    install(FILES ${LC_ARROW_BUNDLED} DESTINATION ${LC_PRIVATE_DIR})
    install(DIRECTORY ${LAKECDC_ARROW_DIR}/licenses/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/arrow)
endif()
install(TARGETS lakecdc lakecdc_static)
install(DIRECTORY include/lakecdc TYPE INCLUDE)
install(FILES LICENSE NOTICE TYPE DOC)
if(TARGET lc_cli)
    file(RELATIVE_PATH bin_to_lib /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
    set_target_properties(lc_cli PROPERTIES INSTALL_RPATH "$ORIGIN/${bin_to_lib}")
    install(TARGETS lc_cli)
endif()

# The link line of the static library, for both package descriptions.
list(TRANSFORM LC_STATIC_LIBS PREPEND -l OUTPUT_VARIABLE static_flags)
set(arrow_requires)
if(LC_ARROW_BUNDLED)
    foreach(library IN LISTS LC_ARROW_BUNDLED)
        cmake_path(GET library FILENAME name)
        if(NOT name MATCHES arrow_s3) # loaded, not linked
            list(APPEND LC_ARROW_NAMES ${name})
        endif()
    endforeach()
    list(TRANSFORM LC_ARROW_NAMES PREPEND -l: OUTPUT_VARIABLE arrow_flags)
    list(PREPEND static_flags -L\${privatedir} -Wl,-rpath,\${privatedir} ${arrow_flags})
else()
    set(arrow_requires "arrow parquet arrow-compute")
endif()
list(JOIN static_flags " " LC_PC_STATIC_LIBS)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig OUTPUT_VARIABLE LC_PC_TO_PREFIX)
set(LC_PC_REQUIRES "${arrow_requires}")
configure_file(cmake/lakecdc.pc.in lakecdc.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/lakecdc.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

include(CMakePackageConfigHelpers)
configure_package_config_file(cmake/lakecdc-config.cmake.in lakecdc-config.cmake INSTALL_DESTINATION ${config_dir}
                              PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR LC_PRIVATE_DIR)
write_basic_package_version_file(lakecdc-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/lakecdc-config.cmake ${PROJECT_BINARY_DIR}/lakecdc-config-version.cmake
        DESTINATION ${config_dir})
