# SPDX-License-Identifier: Apache-2.0
#
# lc_flags: the language, warning, hardening and sanitizer flags of every target of ours, and of nothing else.

add_library(lc_flags INTERFACE)
set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON) # the cleanup attribute
set(CMAKE_CXX_STANDARD 20) # Arrow's headers need it
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

set(warnings -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wpointer-arith -Wcast-align -Wwrite-strings -Wvla -Wundef
             -Wformat=2 -Wimplicit-fallthrough -Wunused-result -Walloca)
set(c_warnings -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition -Wnested-externs)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    # Rows are counted in int64 and checked where they come in; gcc's size ranges believe in negative ones everywhere.
    list(APPEND c_warnings -Wlogical-op -Wduplicated-cond -Wduplicated-branches -Wno-stringop-overflow)
endif()
if(LAKECDC_WERROR)
    list(APPEND warnings -Werror)
endif()
target_compile_options(lc_flags INTERFACE ${warnings} "$<$<COMPILE_LANGUAGE:C>:${c_warnings}>")

# -Wconversion without its sign half: sizes come from the outside as int64 and are range-checked, not cast twice.
target_compile_options(lc_flags INTERFACE -Wno-sign-conversion -fno-omit-frame-pointer -fstack-protector-strong)
target_compile_definitions(lc_flags INTERFACE _GNU_SOURCE $<$<CONFIG:Release>:_FORTIFY_SOURCE=2>)
target_link_options(lc_flags INTERFACE -Wl,--as-needed -Wl,-z,relro,-z,now)

if(LAKECDC_SANITIZE)
    # vptr and clang's function want the type information of Arrow's classes, which a foreign build of Arrow may keep to
    # itself, and a run-time that a C program does not link.
    set(sanitizers -fsanitize=${LAKECDC_SANITIZE} -fno-sanitize-recover=all)
    target_compile_options(lc_flags INTERFACE ${sanitizers} $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=vptr>
                           $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-fno-sanitize=function>)
    target_link_options(lc_flags INTERFACE ${sanitizers})
endif()
if(LAKECDC_FUZZ)
    target_compile_options(lc_flags INTERFACE -fsanitize=fuzzer-no-link)
    target_link_options(lc_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(LAKECDC_COVERAGE)
    target_compile_options(lc_flags INTERFACE --coverage)
    target_link_options(lc_flags INTERFACE --coverage)
endif()

# What the tests set for the sanitizers' run-time. Exit code 99 tells a finding from the command's own refusals;
# container overflow needs an instrumented Arrow to be judged.
set(LC_TEST_ENVIRONMENT
    "ASAN_OPTIONS=detect_container_overflow=0:detect_stack_use_after_return=1:strict_string_checks=1:exitcode=99"
    "LSAN_OPTIONS=exitcode=99:suppressions=${PROJECT_SOURCE_DIR}/tests/suppressions/lsan.supp:print_suppressions=0"
    "UBSAN_OPTIONS=print_stacktrace=1:exitcode=99"
    "TSAN_OPTIONS=exitcode=99:suppressions=${PROJECT_SOURCE_DIR}/tests/suppressions/tsan.supp")
