/* SPDX-License-Identifier: Apache-2.0 */
/* test_version.c - the version that runs is the version of the headers, however it is spelled. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <lakecdc/base.h>

static void run_time_is_compile_time(void **state)
{
    (void)state;
    assert_string_equal(lcdc_version(), LCDC_VERSION);
}

static void text_is_numbers(void **state)
{
    (void)state;
    char text[32];
    int n = snprintf(text, sizeof text, "%d.%d.%d", LCDC_VERSION_MAJOR, LCDC_VERSION_MINOR, LCDC_VERSION_PATCH);
    assert_in_range(n, 5, sizeof text - 1);
    assert_string_equal(lcdc_version(), text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(run_time_is_compile_time),
        cmocka_unit_test(text_is_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
