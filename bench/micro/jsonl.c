/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jsonl.c - change rows as lines of JSON.
 */
#include "base/arrow.h"
#include "lakecdc/change.h"
#include "lakecdc/writer.h"
#include "micro/micro.h"

struct work {
    struct ArrowArray batch;
    struct ArrowSchema schema;
    const char *format;
};

static int swallow(void *context, const void *bytes, size_t n)
{
    (void)context;
    __asm__ volatile("" : : "r"(bytes), "r"(n) : "memory");
    return 0;
}

static bool write_batch(void *context)
{
    struct work *work = context;
    const lcdc_writer_options shape = {0};
    lcdc_writer *writer = NULL;
    bool is_ok = lcdc_writer_new(work->format, &work->schema, &shape, swallow, NULL, &writer, NULL) == LCDC_OK &&
                 lcdc_writer_batch(writer, &work->batch, NULL) == LCDC_OK &&
                 lcdc_writer_finish(writer, NULL) == LCDC_OK;
    lcdc_writer_free(writer);
    return is_ok;
}

static bool make_inserts(struct work *work)
{
    LC_FREE uint8_t *ops = lc_calloc(MICRO_ROWS, 1);
    LC_ARRAY struct ArrowArray after = {0};
    struct ArrowArray before = {0};
    if (!ops || !micro_rows(&after))
        return false;
    for (int i = 0; i < MICRO_ROWS; i++)
        ops[i] = LCDC_OP_INSERT;
    return lc_change_schema(micro_schema(), &work->schema, NULL) == LCDC_OK &&
           lc_change_array(micro_schema(), ops, MICRO_ROWS, &before, &after, NULL, NULL, NULL, &work->batch, NULL) ==
               LCDC_OK;
}

bool micro_jsonl(const char *file)
{
    (void)file;
    struct work work = {0};
    bool is_ok = make_inserts(&work);
    static const char *const formats[][2] = {{"jsonl", "change rows as JSON lines"},
                                             {"arrow", "change rows as an Arrow IPC stream"}};
    for (size_t i = 0; is_ok && i < sizeof(formats) / sizeof(formats[0]); i++) {
        work.format = formats[i][0];
        is_ok = micro_time(formats[i][1], MICRO_ROWS, write_batch, &work);
    }
    lc_array_release(&work.batch);
    lc_schema_release(&work.schema);
    return is_ok;
}
