/* SPDX-License-Identifier: Apache-2.0 */
#include <lakecdc/lakecdc.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    lcdc_error *err = NULL;
    lcdc_request *request = NULL;
    lcdc_source *source = NULL;
    lcdc_feed *feed = NULL;
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    long rows = 0;
    if (lcdc_request_new(&request, &err) || lcdc_request_set(request, "table", argc > 1 ? argv[1] : ".", &err) ||
        lcdc_source_open(request, &source, &err) || lcdc_feed_open(source, request, &feed, &err) ||
        lcdc_feed_stream(feed, &stream, &err))
        return fprintf(stderr, "%s\n", lcdc_error_message(err)), 1;
    for (; stream.get_next(&stream, &batch) == 0 && batch.release; batch.release(&batch))
        rows += batch.length; /* struct<op, before, after, snapshot, ts>: any Arrow library reads it without a copy */
    printf("%ld change rows; go on with --cursor %s\n", rows, lcdc_feed_cursor(feed));
    return stream.release(&stream), lcdc_feed_free(feed), lcdc_source_free(source), lcdc_request_free(request), 0;
}
