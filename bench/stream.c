/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream.c - a program that reads change rows in process, warm, through the Arrow C stream; a worker of bench/run.py.
 *
 *     bench_stream KEY=VALUE ...        request options, as lcdc_request_set() takes them
 *
 * For each line on standard input it opens the table, reads the whole stream and answers with one line of JSON:
 * seconds, rows, what the feed counted, and with the first answer rows and sum(amount) by kind of change. It sees the
 * public headers only, as any program that links liblakecdc would.
 */
#include <inttypes.h>
#include <lakecdc/lakecdc.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { OPS = LCDC_OP_UPDATE + 1 };

struct groups {
    bool wanted;
    int64_t rows[OPS];
    double sums[OPS];
};

static double now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int64_t child(const struct ArrowSchema *schema, const char *name, const char *format)
{
    for (int64_t i = 0; i < schema->n_children; i++)
        if (strcmp(schema->children[i]->name, name) == 0 && strcmp(schema->children[i]->format, format) == 0)
            return i;
    return -1;
}

/* The image of a row in which `amount` is looked up: the newer one. */
static const struct ArrowArray *image(const struct ArrowArray *batch, lcdc_op op)
{
    bool is_old = op == LCDC_OP_DELETE || op == LCDC_OP_UPDATE_BEFORE;
    return batch->children[is_old ? LCDC_COL_BEFORE : LCDC_COL_AFTER];
}

static bool add_batch(struct groups *groups, const struct ArrowArray *batch, int64_t amount)
{
    const struct ArrowArray *ops = batch->children[LCDC_COL_OP];
    const int32_t *offsets = ops->buffers[1];
    const char *text = ops->buffers[2];
    for (int64_t i = 0; i < batch->length; i++) {
        int64_t at = batch->offset + ops->offset + i;
        lcdc_op op = LCDC_OP_INSERT;
        if (lcdc_op_parse(text + offsets[at], (size_t)(offsets[at + 1] - offsets[at]), &op, NULL) != LCDC_OK)
            return false;
        const struct ArrowArray *rows = image(batch, op);
        groups->rows[op]++;
        if (amount >= 0)
            groups->sums[op] += ((const double *)rows->children[amount]
                                     ->buffers[1])[batch->offset + rows->offset + rows->children[amount]->offset + i];
    }
    return true;
}

static int64_t drain(struct ArrowArrayStream *stream, struct groups *groups)
{
    struct ArrowSchema schema = {0};
    struct ArrowArray batch = {0};
    int64_t rows = 0;
    if (stream->get_schema(stream, &schema) != 0)
        return -1;
    int64_t amount = child(schema.children[LCDC_COL_AFTER], "amount", "g");
    schema.release(&schema);
    while (rows >= 0 && stream->get_next(stream, &batch) == 0 && batch.release) {
        rows += batch.length;
        if (groups->wanted && !add_batch(groups, &batch, amount))
            rows = -1;
        batch.release(&batch);
        batch.release = NULL;
    }
    return lcdc_error_from_stream(stream) ? -1 : rows;
}

static int64_t read_all(const lcdc_request *request, struct groups *groups, char *stats, size_t size, lcdc_error **err)
{
    lcdc_source *source = NULL;
    lcdc_feed *feed = NULL;
    struct ArrowArrayStream stream = {0};
    int64_t rows = -1;
    if (lcdc_source_open(request, &source, err) == LCDC_OK && lcdc_feed_open(source, request, &feed, err) == LCDC_OK &&
        lcdc_feed_stream(feed, &stream, err) == LCDC_OK) {
        rows = drain(&stream, groups);
        if (rows < 0)
            fprintf(stderr, "%s\n", lcdc_error_message(lcdc_error_from_stream(&stream)));
        (void)snprintf(stats, size, "%s", lcdc_feed_stats_json(feed));
        stream.release(&stream);
    }
    lcdc_feed_free(feed);
    lcdc_source_free(source);
    return rows;
}

static void answer(double seconds, int64_t rows, const char *stats, const struct groups *groups)
{
    printf("{\"seconds\": %.6f, \"rows\": %" PRId64 ", \"stats\": %s", seconds, rows, stats);
    const char *before = ", \"groups\": {";
    for (int op = LCDC_OP_INSERT; groups->wanted && op < OPS; op++) {
        if (groups->rows[op])
            printf("%s\"%s\": [%" PRId64 ", %.6f]", before, lcdc_op_name((lcdc_op)op), groups->rows[op],
                   groups->sums[op]);
        before = groups->rows[op] ? ", " : before;
    }
    puts(strcmp(before, ", ") == 0 ? "}}" : "}");
    (void)fflush(stdout);
}

static lcdc_status set_options(lcdc_request *request, int argc, char **argv, lcdc_error **err)
{
    for (int i = 1; i < argc; i++) {
        char *equals = strchr(argv[i], '=');
        if (!equals)
            continue;
        *equals = 0;
        lcdc_status status = lcdc_request_set(request, argv[i], equals + 1, err);
        if (status != LCDC_OK)
            return status;
    }
    return LCDC_OK;
}

int main(int argc, char **argv)
{
    lcdc_error *err = NULL;
    lcdc_request *request = NULL;
    char line[1024], stats[4096] = "{}";
    struct groups groups = {.wanted = true};
    lcdc_status status = lcdc_request_new(&request, &err);
    if (status == LCDC_OK)
        status = set_options(request, argc, argv, &err);
    while (status == LCDC_OK && fgets(line, sizeof(line), stdin)) {
        double started = now();
        int64_t rows = read_all(request, &groups, stats, sizeof(stats), &err);
        if (rows < 0)
            status = LCDC_IO;
        else
            answer(now() - started, rows, stats, &groups);
        groups = (struct groups){0};
    }
    if (err)
        fprintf(stderr, "%s\n", lcdc_error_message(err));
    lcdc_error_free(err);
    lcdc_request_free(request);
    return (int)status;
}
