/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rows.c - a batch like those of workload A: hard to compress, one text column wide, none of it null.
 */
#include <stdio.h>
#include <string.h>

#include "base/arrow_parts.h"
#include "micro/micro.h"

#define FIELD(name_, kind_)                                                                                            \
    {                                                                                                                  \
        .name = (name_), .physical = (name_), .id = LC_NO_ID, .nullable = true, .type = {.kind = LC_TYPE_##kind_ }     \
    }

const struct lc_field *micro_schema(void)
{
    static struct lc_field columns[] = {FIELD("id", INT64), FIELD("customer", STRING), FIELD("amount", DOUBLE),
                                        FIELD("status", STRING), FIELD("updated_at", TIMESTAMP_TZ)};
    static const struct lc_field schema = {.name = "",
                                           .physical = "",
                                           .id = LC_NO_ID,
                                           .type = {.kind = LC_TYPE_STRUCT},
                                           .n_children = sizeof(columns) / sizeof(columns[0]),
                                           .children = columns};
    return &schema;
}

/* A fixed sequence: the rows are the same in every run. */
static uint64_t next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state ^ (*state >> 29);
}

static struct lc_str customer(uint64_t *state, char out[80])
{
    int n = snprintf(out, 80, "cust-");
    for (int i = 0; i < 4; i++)
        n += snprintf(out + n, 80 - (size_t)n, "%014llx", (unsigned long long)(next(state) >> 8));
    return (struct lc_str){out, (size_t)n};
}

static struct lc_str status(uint64_t *state, char out[80])
{
    static const char *const words[] = {"new", "paid", "shipped", "done"};
    (void)out;
    return lc_str_of(words[next(state) >> 62]);
}

static bool fill_text(struct lc_array_memory *memory, struct ArrowArray *out, uint64_t *state,
                      struct lc_str (*text)(uint64_t *state, char out[80]))
{
    int32_t *offsets = lc_array_memory_take(memory, MICRO_ROWS + 1, sizeof(int32_t), true);
    char *bytes = lc_array_memory_take(memory, MICRO_ROWS, 80, false);
    if (!offsets || !bytes)
        return false;
    for (int i = 0; i < MICRO_ROWS; i++) {
        char scratch[80];
        struct lc_str value = text(state, scratch);
        memcpy(bytes + offsets[i], value.p, value.n);
        offsets[i + 1] = offsets[i] + (int32_t)value.n;
    }
    out->buffers[1] = offsets;
    out->buffers[2] = bytes;
    return true;
}

static bool fill_column(struct lc_array_memory *memory, size_t column, struct ArrowArray *out, uint64_t *state)
{
    if (column == 1 || column == 3)
        return fill_text(memory, out, state, column == 1 ? customer : status);
    int64_t *values = lc_array_memory_take(memory, MICRO_ROWS, sizeof(int64_t), false);
    for (int i = 0; values && i < MICRO_ROWS; i++) {
        double amount = (double)(next(state) >> 40) / 16777.216;
        values[i] = column == 0 ? i : 1700000000000000 + (int64_t)i * 1000000;
        if (column == 2)
            memcpy(&values[i], &amount, sizeof(amount));
    }
    out->buffers[1] = values;
    return values;
}

bool micro_rows(struct ArrowArray *out)
{
    const struct lc_field *schema = micro_schema();
    LC_ARRAY_MEMORY struct lc_array_memory *memory = lc_array_memory_new();
    LC_ARRAY struct ArrowArray rows = {0};
    uint64_t state = 7;
    if (!memory || !lc_array_init(&rows, memory, schema, MICRO_ROWS))
        return false;
    for (size_t i = 0; i < schema->n_children; i++)
        if (!lc_array_init(rows.children[i], memory, &schema->children[i], MICRO_ROWS) ||
            !fill_column(memory, i, rows.children[i], &state))
            return false;
    lc_array_move(&rows, out);
    return true;
}

static void let_go(struct ArrowArray *array)
{
    array->release = NULL;
}

struct ArrowArray micro_borrow(struct ArrowArray *rows)
{
    struct ArrowArray copy = *rows;
    copy.release = let_go;
    return copy;
}
