/* SPDX-License-Identifier: Apache-2.0 */
#include "iceberg/backend.h"

#include <inttypes.h>
#include <string.h>

#include "iceberg/commit.h"
#include "iceberg/locate.h"
#include "iceberg/range.h"
#include "iceberg/rest_catalog.h"
#include "scan/source_storage.h"
#include "scan/table_read.h"

/* A process may have a thousand tables open: longer metadata is read anew for each read. */
enum { MOST_HELD = 256 << 10 };

/* ---- source ---- */

/* Parsed metadata, for as many reads as find it to be the newest. */
struct held {
    int n_users;
    size_t bytes;                  /* of its text */
    struct lc_iceberg_place place; /* without its text */
    struct lc_iceberg_metadata metadata;
};

static void held_free(struct held *held)
{
    if (!held || --held->n_users)
        return;
    lc_iceberg_place_done(&held->place);
    lc_iceberg_metadata_done(&held->metadata);
    lc_free(held);
}
LC_DEFINE_CLEANUP(struct held *, held_free)

struct source {
    struct lc_storage *storage;
    struct lc_meter meter;
    struct lc_path_map path_map;
    struct lc_iceberg_catalog *catalog; /* NULL: the table is named by its place */
    char *table;                        /* its name in the catalog, or its place */
    struct held *held;                  /* the newest metadata that was read */
};

static void iceberg_close(void *handle)
{
    struct source *source = handle;
    if (!source)
        return;
    held_free(source->held);
    lc_storage_free(source->storage);
    lc_path_map_done(&source->path_map);
    lc_iceberg_catalog_free(source->catalog);
    lc_free(source->table);
    lc_free(source);
}

static void source_freep(struct source **source)
{
    iceberg_close(*source);
}

static lcdc_status open_place(const lcdc_request *request, struct source *source, lcdc_error **err)
{
    if (!lc_iceberg_is_rest_uri(request->table))
        return lc_location_normalise(request->table, &source->table, err);
    if (!request->name)
        return lc_fail(err, LC_R_OPTION_VALUE,
                       "a catalog's location needs the table's name too: --table namespace.table");
    struct lc_iceberg_rest_options options = {.uri = request->table,
                                              .ca_file = request->ca_file,
                                              .timeout_ms = request->timeout * 1000,
                                              .shared = request->shared};
    source->table = lc_strdup(request->name);
    LC_TRY_ALLOC(source->table);
    return lc_iceberg_rest_catalog(&options, &source->catalog, err);
}

static lcdc_status open_source(const lcdc_request *request, struct source **out, lcdc_error **err)
{
    LC_CLEANUP(source_freep) struct source *source = lc_calloc(1, sizeof(*source));
    LC_TRY_ALLOC(source);
    LC_TRY(open_place(request, source, err));
    for (size_t i = 0; i < request->path_map.n; i++)
        LC_TRY(lc_path_map_add(&source->path_map, request->path_map.items[i], err));
    LC_TRY(lc_source_storage(request, &source->meter, &source->storage, err));
    *out = lc_steal(source);
    return LCDC_OK;
}

/* What the probe has opened and read is taken over. */
static lcdc_status iceberg_open(const lcdc_request *request, void **out, lcdc_error **err)
{
    struct source *source = NULL;
    if (request->shared && request->shared->object && request->shared->release == iceberg_close)
        source = lc_steal(request->shared->object);
    else
        LC_TRY(open_source(request, &source, err));
    *out = source;
    return LCDC_OK;
}

/* A catalog's answer may bring the metadata along; its location is one of the table's paths, which may have moved. */
static lcdc_status find_place(struct source *source, struct lc_iceberg_place *out, lcdc_error **err)
{
    if (!source->catalog)
        return lc_iceberg_locate(source->storage, source->table, source->held ? &source->held->place : NULL, out, err);
    LC_TRY(source->catalog->ops->locate(source->catalog, source->table, out, err));
    if (out->text.n)
        return LCDC_OK;
    char *moved = NULL;
    LC_TRY(lc_path_map_apply(&source->path_map, out->location, &moved, err));
    lc_free(out->location);
    out->location = moved;
    return LCDC_OK;
}

/* A metadata file is written once; that it is the same is told by what a listing says of it. A catalog names each
   version of it differently. */
static bool is_held(const struct source *source, const struct lc_iceberg_place *place)
{
    const struct lc_iceberg_place *held = source->held ? &source->held->place : NULL;
    return held && strcmp(held->location, place->location) == 0 &&
           (source->catalog || (place->size > 0 && place->size == held->size && place->mtime_ms == held->mtime_ms));
}

static lcdc_status read_metadata(struct source *source, struct held **out, lcdc_error **err)
{
    LC_CLEANUP(lc_iceberg_place_done) struct lc_iceberg_place place = {0};
    LC_TRY(find_place(source, &place, err));
    if (!is_held(source, &place)) {
        LC_CLEANUP(held_freep) struct held *made = lc_calloc(1, sizeof(*made));
        LC_TRY_ALLOC(made);
        made->n_users = 1;
        if (!place.text.n)
            LC_TRY(lc_iceberg_place_read(source->storage, &place, err));
        LC_TRY(lc_iceberg_metadata_parse((struct lc_str){place.text.p, place.text.n}, place.location, &made->metadata,
                                         err));
        made->bytes = place.text.n;
        lc_buf_done(&place.text);
        made->place = place;
        place = (struct lc_iceberg_place){0};
        held_free(source->held);
        source->held = lc_steal(made);
    }
    source->held->n_users++;
    *out = source->held;
    return LCDC_OK;
}

static lcdc_status iceberg_probe(const lcdc_request *request, struct lc_arena *arena, struct lc_candidate *out,
                                 lcdc_error **err)
{
    LC_CLEANUP(source_freep) struct source *source = NULL;
    LC_CLEANUP(held_freep) struct held *held = NULL;
    LC_ERROR lcdc_error *problem = NULL;
    *out = (struct lc_candidate){.format = "iceberg"};
    if (strncmp(request->table, "sc://", 5) == 0) {
        *out = (struct lc_candidate){.format = "iceberg", .absent = true, .reason = "the location is a Spark server"};
        return LCDC_OK;
    }
    lcdc_status status = open_source(request, &source, &problem);
    if (status == LCDC_OK)
        status = read_metadata(source, &held, &problem);
    if (status == LCDC_OUT_OF_MEMORY)
        return lc_fail_oom(err);
    if (status == LCDC_CANCELLED)
        return lc_fail_with(lc_steal(problem), err);
    out->usable = status == LCDC_OK;
    out->absent = status == LCDC_NOT_FOUND;
    out->reason = out->usable ? "Iceberg metadata read straight from storage"
                              : lc_arena_strdup(arena, lcdc_error_message(problem));
    LC_TRY_ALLOC(out->reason);
    if (out->usable && request->shared && !request->shared->object) {
        request->shared->object = lc_steal(source);
        request->shared->release = iceberg_close;
    }
    return LCDC_OK;
}

/* ---- read ---- */

struct iceberg_read {
    struct lc_table_read table;
    struct lc_arena arena;
    struct source *source;
    struct held *held;
    struct lc_iceberg_table files;
    struct lc_iceberg_range range;
    struct lc_iceberg_planner planner;
};

static lcdc_status read_commit(struct lc_table_read *table, int64_t index, struct lc_commit *out, lcdc_error **err)
{
    struct iceberg_read *self = (struct iceberg_read *)table;
    const struct lc_iceberg_range *range = &self->range;
    return lc_iceberg_plan_commit(&self->planner, range->commits[index],
                                  index ? range->commits[index - 1] : range->before, out, err);
}

static void read_ahead(struct lc_table_read *table, int64_t first, int64_t n)
{
    const struct iceberg_read *self = (const struct iceberg_read *)table;
    lc_iceberg_plan_ahead(&self->planner, (size_t)n, self->range.commits + first);
}

static lcdc_status read_state(struct lc_table_read *table, bool at_end, struct lc_commit *out, lcdc_error **err)
{
    struct iceberg_read *self = (struct iceberg_read *)table;
    if (!at_end && self->range.before_is_gone)
        return lc_fail(err, LC_R_ICEBERG_SNAPSHOT_GONE, "the state before snapshot %" PRId64 " has been expired",
                       self->range.n ? self->range.commits[0]->id : -1);
    return lc_iceberg_plan_state(&self->planner, at_end ? self->range.end : self->range.before, out, err);
}

static void read_release(struct lc_table_read *table)
{
    struct iceberg_read *self = (struct iceberg_read *)table;
    lc_iceberg_planner_done(&self->planner);
    if (self->source->held && self->source->held->bytes > MOST_HELD)
        held_free(lc_steal(self->source->held));
    held_free(self->held);
    lc_arena_done(&self->arena);
    lc_free(self);
}

static lcdc_status fill_read(struct iceberg_read *self, struct source *source, const lcdc_request *request,
                             lcdc_error **err)
{
    struct lc_read *read = &self->table.read;
    LC_TRY(read_metadata(source, &self->held, err));
    struct lc_iceberg_metadata *metadata = &self->held->metadata;
    self->files = (struct lc_iceberg_table){
        .storage = source->storage, .path_map = &source->path_map, .metadata = metadata};
    LC_TRY(lc_iceberg_range_resolve(metadata, request, &self->arena, &self->range, err));
    LC_TRY(lc_iceberg_schema_get(metadata, lc_iceberg_schema_of(metadata, self->range.end), &read->schema, err));
    LC_TRY(lc_iceberg_planner_init(&self->planner, &self->files, read->schema, &self->table.context,
                                   request->memory_limit, err));
    read->format = "iceberg";
    read->table_id = metadata->uuid;
    read->n_commits = (int64_t)self->range.n;
    read->empty = self->range.n == 0;
    read->last_commit = self->range.end ? self->range.end->id : -1;
    return LCDC_OK;
}

static lcdc_status iceberg_read_open(void *handle, const lcdc_request *request, struct lc_read **out, lcdc_error **err)
{
    static const struct lc_table_read_ops ops = {
        .commit = read_commit, .state = read_state, .release = read_release, .ahead = read_ahead};
    struct source *source = handle;
    struct iceberg_read *self = lc_calloc(1, sizeof(*self));
    LC_TRY_ALLOC(self);
    self->source = source;
    self->table.ops = &ops;
    self->table.unit = "snapshot";
    self->table.meter = &source->meter;
    self->table.context.storage = source->storage;
    self->table.context.match = LC_MATCH_ID_OR_ALIAS;
    lc_table_read_init(&self->table);
    lcdc_status status = fill_read(self, source, request, err);
    if (status != LCDC_OK)
        read_release(&self->table);
    else
        *out = &self->table.read;
    return status;
}

/* Every commit writes a metadata file of another name; in a folder that was made anew the old names may come again. */
static lcdc_status iceberg_tip(void *handle, const char *before, struct lc_buf *out, lcdc_error **err)
{
    struct source *source = handle;
    LC_CLEANUP(lc_iceberg_place_done) struct lc_iceberg_place place = {0};
    struct lc_file_info info = {.size = -1, .mtime_ms = INT64_MIN};
    (void)before;
    if (source->catalog) {
        LC_TRY(source->catalog->ops->locate(source->catalog, source->table, &place, err));
    } else {
        const struct lc_iceberg_place *known = source->held ? &source->held->place : NULL;
        LC_TRY(lc_iceberg_locate(source->storage, source->table, known, &place, err));
        info = (struct lc_file_info){.size = place.size, .mtime_ms = place.mtime_ms};
        if (place.size == 0)
            LC_TRY(lc_storage_stat(source->storage, place.location, &info, err));
    }
    lc_buf_printf(out, "%s/%" PRId64 "/%" PRId64, place.location, info.size, info.mtime_ms);
    LC_TRY_BUF(out);
    return LCDC_OK;
}

const struct lc_backend lc_iceberg_backend = {.abi = LC_BACKEND_ABI,
                                              .size = sizeof(struct lc_backend),
                                              .name = "direct",
                                              .probe = iceberg_probe,
                                              .open = iceberg_open,
                                              .read_open = iceberg_read_open,
                                              .close = iceberg_close,
                                              .tip = iceberg_tip};
