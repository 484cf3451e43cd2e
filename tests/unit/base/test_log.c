/* SPDX-License-Identifier: Apache-2.0 */
/* test_log.c - the hook gets what is loud enough, as one line, and nothing once it is taken away. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/log.h"

struct heard {
    int n;
    lcdc_log_level level;
    char target[32], message[64];
};

static void hear(void *context, lcdc_log_level level, const char *target, const char *message)
{
    struct heard *heard = context;
    heard->n++;
    heard->level = level;
    strncpy(heard->target, target, sizeof(heard->target) - 1);
    strncpy(heard->message, message, sizeof(heard->message) - 1);
}

static void test_levels(void **state)
{
    struct heard heard = {0};
    (void)state;
    lc_log(LCDC_LOG_WARN, "t", "nobody listens");
    lcdc_log_set(hear, &heard, LCDC_LOG_INFO);
    lc_log(LCDC_LOG_DEBUG, "t", "too low");
    assert_int_equal(heard.n, 0);
    lc_log(LCDC_LOG_INFO, "lakecdc.cdc", "table %d\nis read", 7);
    assert_int_equal(heard.n, 1);
    assert_int_equal(heard.level, LCDC_LOG_INFO);
    assert_string_equal(heard.target, "lakecdc.cdc");
    assert_string_equal(heard.message, "table 7 is read");
    lcdc_log_set(NULL, NULL, LCDC_LOG_DEBUG);
    lc_log(LCDC_LOG_WARN, "t", "gone");
    assert_int_equal(heard.n, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_levels)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
