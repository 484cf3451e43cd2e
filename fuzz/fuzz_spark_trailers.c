/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three lines: grpc-status, grpc-message, grpc-status-details-bin. Whatever they hold becomes one printable error.
 */
#include <stdlib.h>
#include <string.h>

#include "spark/fault.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const secrets[] = {"secret"};
    LC_FREE char *text = lc_strndup((const char *)data, size);
    LC_ARENA struct lc_arena arena = {0};
    LC_ERROR lcdc_error *error = NULL;
    LC_CLEANUP(lc_grpc_end_done) struct lc_grpc_end end = {0};
    struct lc_spark_fault fault;
    char *lines[3] = {text, NULL, NULL};
    for (int i = 1; i < 3 && text && lines[i - 1]; i++) {
        lines[i] = strchr(lines[i - 1], '\n');
        if (lines[i])
            *lines[i]++ = 0;
    }
    if (!text || lc_grpc_end_parse(lines[0], lines[1], lines[2], &end, NULL) != LCDC_OK)
        return 0;
    if (lc_spark_fault_parse(&end, &arena, &fault, NULL) != LCDC_OK || !fault.text)
        abort();
    (void)lc_spark_fault_is_retriable(&fault);
    if (lc_spark_fault_raise(&fault, 1, secrets, &error) == LCDC_OK || strpbrk(lcdc_error_message(error), "\r\n"))
        abort();
    if (strstr(lcdc_error_message(error), "secret"))
        abort();
    for (size_t i = 0; i < lcdc_error_detail_count(error); i++)
        if (strstr(lcdc_error_detail_value(error, i), "secret"))
            abort();
    return 0;
}
