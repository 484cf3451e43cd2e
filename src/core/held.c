/* SPDX-License-Identifier: Apache-2.0 */
#include "core/held.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/temp_file.h"

enum { CHUNK_ROWS = 8192, MERGE_AT = 64, MAX_BUFFERS = 3 };

struct chunk {
    uint32_t first; /* number of its first row */
    int64_t n;
    int64_t bytes;
    struct ArrowArray array; /* in memory, or over the mapping below */
    void *map;               /* spilled: the mapped piece of the file */
    size_t map_length;
};

struct lc_held {
    const struct lc_field *columns;
    int64_t memory_limit, memory;
    uint32_t n_rows;
    size_t n_chunks, cap_chunks;
    struct chunk *chunks;
    int file; /* -1 until the first spill */
    int64_t file_length;
};

lcdc_status lc_held_new(const struct lc_field *columns, int64_t memory_limit, struct lc_held **out, lcdc_error **err)
{
    struct lc_held *held = lc_calloc(1, sizeof(*held));
    LC_TRY_ALLOC(held);
    *held = (struct lc_held){.columns = columns, .memory_limit = memory_limit, .file = -1};
    *out = held;
    return LCDC_OK;
}

static void chunk_done(struct chunk *chunk)
{
    lc_array_release(&chunk->array);
    if (chunk->map)
        munmap(chunk->map, chunk->map_length);
    *chunk = (struct chunk){0};
}

void lc_held_clear(struct lc_held *held)
{
    while (held->n_chunks)
        chunk_done(&held->chunks[--held->n_chunks]);
    if (held->file >= 0)
        close(held->file);
    held->file = -1;
    held->file_length = held->memory = 0;
    held->n_rows = 0;
}

void lc_held_free(struct lc_held *held)
{
    if (!held)
        return;
    lc_held_clear(held);
    lc_free(held->chunks);
    lc_free(held);
}

/* ---- spilling ---- */

/* Bytes of each buffer of one node of a compact array (offset 0); variable buffers follow from the last offset. */
static void buffer_sizes(const struct lc_field *field, const struct ArrowArray *array, int64_t sizes[MAX_BUFFERS])
{
    int64_t n = array->length;
    const int32_t *offsets = array->n_buffers > 1 ? array->buffers[1] : NULL;
    memset(sizes, 0, MAX_BUFFERS * sizeof(*sizes));
    if (array->n_buffers > 0 && array->buffers[0])
        sizes[0] = (n + 7) / 8;
    switch (field->type.kind) {
    case LC_TYPE_BOOL:
        sizes[1] = (n + 7) / 8;
        return;
    case LC_TYPE_STRING:
    case LC_TYPE_BINARY:
        sizes[1] = offsets ? (n + 1) * 4 : 0;
        sizes[2] = n && offsets ? offsets[n] : 0;
        return;
    case LC_TYPE_LIST:
    case LC_TYPE_MAP:
        sizes[1] = offsets ? (n + 1) * 4 : 0;
        return;
    case LC_TYPE_FIXED:
        sizes[1] = n * field->type.length;
        return;
    case LC_TYPE_NULL:
    case LC_TYPE_STRUCT:
    case LC_TYPE_COUNT:
        return;
    case LC_TYPE_INT8:
    case LC_TYPE_INT16:
    case LC_TYPE_INT32:
    case LC_TYPE_INT64:
    case LC_TYPE_FLOAT:
    case LC_TYPE_DOUBLE:
    case LC_TYPE_DECIMAL:
    case LC_TYPE_DATE:
    case LC_TYPE_TIME:
    case LC_TYPE_TIMESTAMP_TZ:
    case LC_TYPE_TIMESTAMP:
    case LC_TYPE_TIMESTAMP_NS_TZ:
    case LC_TYPE_TIMESTAMP_NS:
    case LC_TYPE_UUID:
        sizes[1] = n * lc_type_width(field->type.kind);
        return;
    }
}

static int64_t aligned(int64_t n)
{
    return (n + 63) & ~(int64_t)63;
}

/* The fields below a node, so that a map's entries struct (which no lc_field stands for) can be walked alike. */
static const struct lc_field *child_field(const struct lc_field *field, struct lc_field *entries, int64_t c)
{
    if (field->type.kind != LC_TYPE_MAP)
        return &field->children[c];
    *entries = (struct lc_field){
        .name = "entries", .type = {.kind = LC_TYPE_STRUCT}, .n_children = 2, .children = field->children};
    return entries;
}

static lcdc_status write_node(struct lc_held *held, const struct lc_field *field, const struct ArrowArray *array,
                              lcdc_error **err)
{
    int64_t sizes[MAX_BUFFERS];
    buffer_sizes(field, array, sizes);
    for (int64_t b = 0; b < array->n_buffers && b < MAX_BUFFERS; b++) {
        if (sizes[b])
            LC_TRY(lc_temp_file_write(held->file, held->file_length, (size_t)sizes[b], array->buffers[b], err));
        held->file_length += aligned(sizes[b]);
    }
    for (int64_t c = 0; c < array->n_children; c++) {
        struct lc_field entries;
        LC_TRY(write_node(held, child_field(field, &entries, c), array->children[c], err));
    }
    return LCDC_OK;
}

/* Points the buffers of a compact array at their copies in the mapping. */
static void point_node(const struct lc_field *field, struct ArrowArray *array, const char *map, int64_t *at)
{
    int64_t sizes[MAX_BUFFERS];
    buffer_sizes(field, array, sizes);
    for (int64_t b = 0; b < array->n_buffers && b < MAX_BUFFERS; b++) {
        if (sizes[b])
            array->buffers[b] = map + *at;
        *at += aligned(sizes[b]);
    }
    for (int64_t c = 0; c < array->n_children; c++) {
        struct lc_field entries;
        point_node(child_field(field, &entries, c), array->children[c], map, at);
    }
}

/* A tree of array structs that owns only itself: the shape of a spilled chunk. */
struct shell {
    struct ArrowArray *nodes;
    struct ArrowArray **links;
    const void **buffers;
};

static void shell_release(struct ArrowArray *array)
{
    struct shell *shell = array->private_data;
    if (shell) {
        lc_free(shell->nodes);
        lc_free(shell->links);
        lc_free(shell->buffers);
        lc_free(shell);
    }
    array->release = NULL;
}

static int64_t count_nodes(const struct ArrowArray *array)
{
    int64_t n = 1;
    for (int64_t c = 0; c < array->n_children; c++)
        n += count_nodes(array->children[c]);
    return n;
}

static void copy_shape(const struct ArrowArray *from, struct ArrowArray *to, struct shell *shell, int64_t *node,
                       int64_t *link, int64_t *buffer)
{
    *to = (struct ArrowArray){.length = from->length,
                              .null_count = from->null_count,
                              .n_buffers = from->n_buffers,
                              .n_children = from->n_children,
                              .release = shell_release};
    to->buffers = shell->buffers + *buffer;
    for (int64_t b = 0; b < from->n_buffers; b++)
        to->buffers[b] = from->buffers[b];
    *buffer += from->n_buffers;
    to->children = shell->links + *link;
    *link += from->n_children;
    for (int64_t c = 0; c < from->n_children; c++) {
        to->children[c] = &shell->nodes[(*node)++];
        copy_shape(from->children[c], to->children[c], shell, node, link, buffer);
    }
}

static lcdc_status make_shell(const struct ArrowArray *from, struct ArrowArray *out, lcdc_error **err)
{
    int64_t n = count_nodes(from), node = 0, link = 0, buffer = 0;
    struct shell *shell = lc_calloc(1, sizeof(*shell));
    LC_TRY_ALLOC(shell);
    shell->nodes = lc_calloc((size_t)n, sizeof(struct ArrowArray));
    shell->links = lc_calloc((size_t)n, sizeof(struct ArrowArray *));
    shell->buffers = lc_calloc((size_t)n * MAX_BUFFERS, sizeof(void *));
    struct ArrowArray root = {.release = shell_release, .private_data = shell};
    if (!shell->nodes || !shell->links || !shell->buffers) {
        shell_release(&root);
        return lc_fail_oom(err);
    }
    copy_shape(from, &root, shell, &node, &link, &buffer);
    root.private_data = shell;
    *out = root;
    return LCDC_OK;
}

static lcdc_status spill(struct lc_held *held, struct chunk *chunk, lcdc_error **err)
{
    LC_ARRAY struct ArrowArray shell = {0};
    if (held->file < 0)
        LC_TRY(lc_temp_file_open(&held->file, err));
    const int64_t page = sysconf(_SC_PAGESIZE);
    held->file_length = (held->file_length + page - 1) / page * page;
    int64_t start = held->file_length, at = 0;
    LC_TRY(make_shell(&chunk->array, &shell, err));
    LC_TRY(write_node(held, held->columns, &chunk->array, err));
    int64_t length = held->file_length - start;
    if (length == 0)
        return LCDC_OK;
    if (ftruncate(held->file, held->file_length) != 0)
        return lc_fail(err, LC_R_IO_FAILED, "temporary file: %s", strerror(errno));
    void *map = mmap(NULL, (size_t)length, PROT_READ, MAP_SHARED, held->file, start);
    if (map == MAP_FAILED)
        return lc_fail(err, LC_R_IO_FAILED, "temporary file cannot be mapped: %s", strerror(errno));
    /* sizes of variable buffers are read from the old offsets, so the old array must live until here */
    point_node(held->columns, &shell, map, &at);
    lc_array_release(&chunk->array);
    lc_array_move(&shell, &chunk->array);
    chunk->map = map;
    chunk->map_length = (size_t)length;
    held->memory -= chunk->bytes;
    return LCDC_OK;
}

/* ---- adding ---- */

static lcdc_status push_chunk(struct lc_held *held, struct ArrowArray *take_array, uint32_t first, lcdc_error **err)
{
    if (held->n_chunks == held->cap_chunks) {
        size_t cap = held->cap_chunks ? held->cap_chunks * 2 : 16;
        struct chunk *chunks = lc_realloc(held->chunks, cap, sizeof(*chunks));
        if (!chunks) {
            lc_array_release(take_array);
            return lc_fail_oom(err);
        }
        held->chunks = chunks;
        held->cap_chunks = cap;
    }
    struct chunk *chunk = &held->chunks[held->n_chunks++];
    *chunk = (struct chunk){
        .first = first, .n = take_array->length, .bytes = lc_array_bytes(take_array, held->columns)};
    lc_array_move(take_array, &chunk->array);
    held->memory += chunk->bytes;
    return held->memory > held->memory_limit ? spill(held, chunk, err) : LCDC_OK;
}

static size_t small_tail(const struct lc_held *held, int64_t *rows)
{
    size_t n = 0;
    *rows = 0;
    while (n < held->n_chunks && held->chunks[held->n_chunks - 1 - n].n < CHUNK_ROWS / 8 &&
           !held->chunks[held->n_chunks - 1 - n].map)
        *rows += held->chunks[held->n_chunks - 1 - n++].n;
    return n;
}

/* Many chunks of a few rows become one. */
static lcdc_status merge_tail(struct lc_held *held, lcdc_error **err)
{
    int64_t total;
    size_t n = small_tail(held, &total);
    if (n < MERGE_AT)
        return LCDC_OK;
    LC_FREE const struct ArrowArray **from = lc_calloc(n, sizeof(*from));
    LC_FREE uint32_t *sources = lc_calloc((size_t)total, sizeof(*sources));
    LC_FREE int64_t *rows = lc_calloc((size_t)total, sizeof(*rows));
    LC_TRY_ALLOC(from && sources && rows);
    struct chunk *tail = &held->chunks[held->n_chunks - n];
    uint32_t first = tail->first;
    for (size_t i = 0, k = 0; i < n; i++) {
        from[i] = &tail[i].array;
        for (int64_t r = 0; r < tail[i].n; r++, k++) {
            sources[k] = (uint32_t)i;
            rows[k] = r;
        }
    }
    LC_ARRAY struct ArrowArray merged = {0};
    LC_TRY(lc_array_gather(held->columns, n, from, sources, rows, total, &merged, err));
    for (size_t i = 0; i < n; i++) {
        held->memory -= tail[i].bytes;
        chunk_done(&tail[i]);
    }
    held->n_chunks -= n;
    return push_chunk(held, &merged, first, err);
}

lcdc_status lc_held_add(struct lc_held *held, const struct ArrowArray *images, const int64_t *rows, int64_t n,
                        uint32_t *first, lcdc_error **err)
{
    if (n > UINT32_MAX - 1 - (int64_t)held->n_rows)
        return lc_fail(err, LC_R_LIMIT, "more than %u rows of one commit would have to be held back", UINT32_MAX - 1);
    *first = held->n_rows;
    if (n == 0)
        return LCDC_OK;
    LC_ARRAY struct ArrowArray copy = {0};
    LC_TRY(lc_array_gather(held->columns, 1, &images, NULL, rows, n, &copy, err));
    LC_TRY(push_chunk(held, &copy, held->n_rows, err));
    held->n_rows += (uint32_t)n;
    return merge_tail(held, err);
}

/* ---- reading ---- */

static size_t find_chunk(const struct lc_held *held, uint32_t number)
{
    size_t low = 0, high = held->n_chunks;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (held->chunks[middle].first <= number)
            low = middle;
        else
            high = middle;
    }
    return low;
}

lcdc_status lc_held_gather(struct lc_held *held, const uint32_t *numbers, int64_t n, struct ArrowArray *out,
                           lcdc_error **err)
{
    LC_FREE const struct ArrowArray **from = lc_calloc(held->n_chunks + 1, sizeof(*from));
    LC_FREE uint32_t *sources = lc_calloc((size_t)n, sizeof(*sources));
    LC_FREE int64_t *rows = lc_calloc((size_t)n, sizeof(*rows));
    LC_TRY_ALLOC(from && sources && rows);
    for (size_t i = 0; i < held->n_chunks; i++)
        from[i] = &held->chunks[i].array;
    for (int64_t i = 0; i < n; i++) {
        rows[i] = -1;
        if (numbers[i] == UINT32_MAX)
            continue;
        size_t c = find_chunk(held, numbers[i]);
        sources[i] = (uint32_t)c;
        rows[i] = numbers[i] - held->chunks[c].first;
    }
    LC_TRY(lc_array_gather(held->columns, held->n_chunks, from, sources, rows, n, out, err));
    for (size_t i = 0; i < held->n_chunks; i++) /* what was looked at need not stay resident */
        if (held->chunks[i].map)
            (void)madvise(held->chunks[i].map, held->chunks[i].map_length, MADV_DONTNEED);
    return LCDC_OK;
}
