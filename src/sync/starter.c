/* SPDX-License-Identifier: Apache-2.0 */
/*
 * starter.c - a config to begin with, made from a table's schema. What is a matter of choice is there as a comment.
 */
#include <inttypes.h>
#include <string.h>

#include "core/request.h"
#include "io/storage.h"
#include "lakecdc/feed.h"
#include "sync/run.h"

/* ---- places ---- */

enum place_kind { PLACE_PATH, PLACE_CATALOG, PLACE_SPARK };

struct place {
    enum place_kind kind;
    struct lc_str root, table;
};

static struct place place_of(const lcdc_request *request)
{
    struct lc_str at = lc_str_of(lcdc_request_get(request, "table"));
    const char *name = lcdc_request_get(request, "name");
    if (lc_str_starts(at, "sc://"))
        return (struct place){PLACE_SPARK, at, lc_str_of(name ? name : "")};
    if (lc_str_starts(at, "http://") || lc_str_starts(at, "https://"))
        return (struct place){PLACE_CATALOG, at, lc_str_of(name ? name : "")};
    while (at.n > 1 && at.p[at.n - 1] == '/')
        at.n--;
    size_t slash = at.n;
    while (slash > 0 && at.p[slash - 1] != '/')
        slash--;
    struct lc_str table = {at.p + slash, at.n - slash}, root = {at.p, slash > 1 ? slash - 1 : slash};
    return (struct place){PLACE_PATH, root, table};
}

/* The folder as the config's reader will find it: relative paths begin where the config lies. */
static lcdc_status print_root(const struct place *place, struct lc_buf *out, lcdc_error **err)
{
    static const char *const keys[] = {"path", "catalog", "spark"};
    LC_BUF struct lc_buf text = {.max = 1 << 16};
    LC_FREE char *normal = NULL;
    lc_buf_append(&text, place->root.n ? place->root.p : ".", place->root.n ? place->root.n : 1);
    if (place->kind == PLACE_SPARK) /* the server's parameters hold secrets */
        text.n = strcspn(text.p, ";");
    if (place->kind == PLACE_PATH && !lc_str_starts((struct lc_str){text.p, text.n}, "archive:")) {
        LC_TRY(lc_location_normalise(text.p, &normal, err));
        lc_buf_clear(&text);
        lc_buf_text(&text, normal);
    }
    LC_TRY_BUF(&text);
    lc_buf_printf(out, "    %s: ", keys[place->kind]);
    lc_buf_json_string(out, (struct lc_str){text.p, text.n});
    if (place->kind == PLACE_SPARK && text.n < place->root.n)
        lc_buf_text(out, " # add the parameters, a token as ${NAME} of the environment");
    lc_buf_char(out, '\n');
    return LCDC_OK;
}

/* A name for the table's key: the last part of its own. */
static struct lc_str short_name(const struct place *place)
{
    struct lc_str name = place->table;
    for (size_t i = name.n; i-- > 0 && place->kind != PLACE_PATH;)
        if (name.p[i] == '.') {
            name = (struct lc_str){name.p + i + 1, name.n - i - 1};
            break;
        }
    return name.n && name.n < 200 ? name : LC_STR("table");
}

/* ---- the text ---- */

static void print_comment(struct lc_buf *out, const char *text)
{
    for (const char *p = text; *p; p++)
        lc_buf_char(out, (unsigned char)*p < 0x20 || *p == 0x7F ? ' ' : *p);
}

static void print_columns(const struct lc_field *images, struct lc_buf *out)
{
    lc_buf_text(out, "    # columns:\n");
    for (size_t i = 0; i < images->n_children; i++) {
        LC_BUF struct lc_buf name = {.max = 1 << 16}, type = {.max = 1 << 16};
        lc_buf_json_string(&name, lc_str_of(images->children[i].name));
        lc_type_print(&type, &images->children[i]);
        lc_buf_text(out, "    #   - ");
        print_comment(out, name.p ? name.p : "");
        lc_buf_text(out, " # ");
        print_comment(out, type.p ? type.p : "");
        lc_buf_char(out, '\n');
    }
    lc_buf_text(out, "    # identity: [");
    for (size_t i = 0; i < images->n_children && i < 1; i++)
        print_comment(out, images->children[i].name);
    lc_buf_text(out, "] # the columns that say which row a row is\n");
}

static lcdc_status print_config(const lcdc_request *request, const struct lc_field *images, const char *reason,
                                struct lc_buf *out, lcdc_error **err)
{
    static const char *const copied[] = {"via", "ca_file"};
    struct place place = place_of(request);
    struct lc_str name = short_name(&place);
    lc_buf_text(out, "# A sync to begin with; every key is in docs/sync-config.md. Check it: lakecdc sync --check "
                     "FILE\n# ");
    print_comment(out, reason);
    lc_buf_text(out, "\nversion: 1\n# ledger: ledger.db\n# interval: 30s\n# metrics: {listen: 127.0.0.1:9187}\n\n"
                     "sources:\n  lake:\n");
    LC_TRY(print_root(&place, out, err));
    for (size_t i = 0; i < 2; i++)
        if (lcdc_request_get(request, copied[i])) {
            lc_buf_printf(out, "    %s: ", copied[i]);
            lc_buf_json_string(out, lc_str_of(lcdc_request_get(request, copied[i])));
            lc_buf_char(out, '\n');
        }
    for (size_t i = 0; i < request->path_map.n; i++) {
        lc_buf_text(out, i ? "      - " : "    path_map:\n      - ");
        lc_buf_json_string(out, lc_str_of(request->path_map.items[i]));
        lc_buf_char(out, '\n');
    }
    lc_buf_text(out, "\nsinks:\n  out:\n    type: jsonl # docs/sinks.md lists the others\n\ntables:\n  ");
    lc_buf_json_string(out, name);
    lc_buf_text(out, ":\n    source: lake\n    table: ");
    lc_buf_json_string(out, place.table);
    lc_buf_text(out, "\n    mode: cdc # or incremental, full\n    # start: latest # or oldest, a version, a time\n");
    if (request->branch) {
        lc_buf_text(out, "    branch: ");
        lc_buf_json_string(out, lc_str_of(request->branch));
        lc_buf_char(out, '\n');
    }
    print_columns(images, out);
    lc_buf_text(out, "    # where: \"...\"\n    # transforms: [{rename: {a: b}}, {drop: [c]}, {constant: {region: "
                     "eu}}]\n    sink: out\n    sink_options: {path: ");
    LC_BUF struct lc_buf file = {.max = 1 << 16};
    lc_buf_append(&file, name.p, name.n);
    lc_buf_text(&file, ".jsonl");
    lc_buf_json_string(out, (struct lc_str){file.p, file.n});
    lc_buf_text(out, "}\n");
    LC_TRY_BUF(out);
    return LCDC_OK;
}

static lcdc_status read_columns(const lcdc_request *request, lcdc_source *source, struct lc_arena *arena,
                                struct lc_field *row, lcdc_error **err)
{
    LC_CLEANUP(lcdc_request_freep) lcdc_request *copy = NULL;
    LC_SCHEMA struct ArrowSchema schema = {0};
    lcdc_feed *feed = NULL;
    LC_TRY(lc_request_dup(request, &copy, err));
    LC_TRY(lcdc_request_set(copy, "from", "latest", err));
    LC_TRY(lcdc_request_set(copy, "from_exclusive", "true", err));
    LC_TRY(lcdc_feed_open(source, copy, &feed, err));
    lcdc_status status = lcdc_feed_schema(feed, &schema, err);
    lcdc_feed_free(feed);
    return status == LCDC_OK ? lc_field_from_schema(&schema, arena, row, err) : status;
}

lcdc_status lcdc_sync_starter(const lcdc_request *request, lcdc_write_fn out, void *context, lcdc_error **err)
{
    LC_ARENA struct lc_arena arena = {0};
    LC_BUF struct lc_buf text = {.max = LC_YAML_MAX_BYTES};
    struct lc_field row;
    lcdc_source *source = NULL;
    if (!request || !out)
        return lc_fail(err, LC_R_OPTION_VALUE, "lcdc_sync_starter: a request and an output are needed");
    LC_TRY(lcdc_source_open(request, &source, err));
    lcdc_status status = read_columns(request, source, &arena, &row, err);
    if (status == LCDC_OK)
        status = print_config(request, &row.children[LCDC_COL_AFTER], lcdc_verdict_reason(lcdc_source_verdict(source)),
                              &text, err);
    lcdc_source_free(source);
    LC_TRY(status);
    if (out(context, text.p, text.n) != 0)
        return lc_fail(err, LC_R_IO_FAILED, "the output cannot be written");
    return LCDC_OK;
}
