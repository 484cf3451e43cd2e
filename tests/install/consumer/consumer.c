/* SPDX-License-Identifier: Apache-2.0 */
/*
 * consumer.c - a program outside the tree, built against an installation: counts the change rows of a table.
 *
 * That takes the whole way through the library and its Arrow, and the answer can be compared.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <lakecdc/lakecdc.h>

static lcdc_status count(struct ArrowArrayStream *stream, int64_t *rows)
{
    for (;;) {
        struct ArrowArray batch = {0};
        if (stream->get_next(stream, &batch) != 0)
            return lcdc_error_status(lcdc_error_from_stream(stream));
        if (batch.release == NULL)
            return LCDC_OK;
        *rows += batch.length;
        batch.release(&batch);
    }
}

int main(int argc, char **argv)
{
    lcdc_request *request = NULL;
    lcdc_source *source = NULL;
    lcdc_feed *feed = NULL;
    lcdc_error *err = NULL;
    struct ArrowArrayStream stream = {0};
    int64_t rows = 0;

    lcdc_status status = lcdc_request_new(&request, &err);
    if (status == LCDC_OK)
        status = lcdc_request_set(request, "table", argc > 1 ? argv[1] : "", &err);
    if (status == LCDC_OK)
        status = lcdc_source_open(request, &source, &err);
    if (status == LCDC_OK)
        status = lcdc_feed_open(source, request, &feed, &err);
    if (status == LCDC_OK)
        status = lcdc_feed_stream(feed, &stream, &err);
    if (status == LCDC_OK)
        status = count(&stream, &rows);
    printf("%s %s %" PRId64 "\n", lcdc_version(), lcdc_status_name(status), rows);
    if (err != NULL)
        printf("%s\n", lcdc_error_message(err));

    if (stream.release != NULL)
        stream.release(&stream);
    lcdc_feed_free(feed);
    lcdc_source_free(source);
    lcdc_request_free(request);
    lcdc_error_free(err);
    return strcmp(lcdc_version(), LCDC_VERSION) == 0 ? (int)status : 1;
}
