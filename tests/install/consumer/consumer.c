/* SPDX-License-Identifier: Apache-2.0 */
/*
 * consumer.c - a program outside the tree, built against an installation.
 *
 * It asks for a table that is not there: that takes the whole way through the library and its Arrow, and has one right
 * answer.
 */
#include <stdio.h>
#include <string.h>

#include <lakecdc/lakecdc.h>

int main(void)
{
    lcdc_request *request = NULL;
    lcdc_source *source = NULL;
    lcdc_error *err = NULL;
    lcdc_status status = lcdc_request_new(&request, &err);
    if (status == LCDC_OK)
        status = lcdc_request_set(request, "table", "/nowhere/no_such_table", &err);
    if (status == LCDC_OK)
        status = lcdc_source_open(request, &source, &err);
    printf("%s %s: %s\n", lcdc_version(), lcdc_status_name(status), lcdc_error_message(err));
    int ok = status == LCDC_NOT_FOUND && source == NULL && strcmp(lcdc_version(), LCDC_VERSION) == 0;
    lcdc_error_free(err);
    lcdc_request_free(request);
    return ok ? 0 : 1;
}
