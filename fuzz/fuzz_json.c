/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the JSON reader accepts it must print, read again, and print the same way.
 */
#include <stdlib.h>
#include <string.h>

#include "io/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    LC_JSON struct json_t *first = NULL;
    LC_JSON struct json_t *second = NULL;
    LC_ERROR lcdc_error *err = NULL;
    LC_BUF struct lc_buf text, again;
    lc_buf_init(&text, LC_BUF_MAX);
    lc_buf_init(&again, LC_BUF_MAX);
    if (lc_json_parse((struct lc_str){(const char *)data, size}, &first, &err) != LCDC_OK)
        return 0;
    lc_json_print(first, &text);
    if (text.failed || lc_json_parse((struct lc_str){text.p, text.n}, &second, NULL) != LCDC_OK)
        abort();
    lc_json_print(second, &again);
    if (text.n != again.n || memcmp(text.p, again.p, text.n) != 0)
        abort();
    return 0;
}
