/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/checksum.h"

/* The texts are those of `xxh128sum`. */
static void it_is_that_of_the_tool(void **state)
{
    (void)state;
    char text[LC_CHECKSUM_TEXT];
    lc_checksum_of("", 0, text);
    assert_string_equal(text, "99aa06d3014798d86001c324468d497f");
    lc_checksum_of("hello\n", 6, text);
    struct lc_checksum *sum = lc_checksum_new();
    char parts[LC_CHECKSUM_TEXT];
    assert_non_null(sum);
    lc_checksum_add(sum, "hel", 3);
    lc_checksum_add(sum, "", 0);
    lc_checksum_add(sum, "lo\n", 3);
    lc_checksum_text(sum, parts);
    assert_string_equal(parts, text);
    lc_checksum_add(sum, "x", 1);
    lc_checksum_text(sum, parts);
    assert_string_not_equal(parts, text);
    lc_checksum_free(sum);
    lc_checksum_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(it_is_that_of_the_tool)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
