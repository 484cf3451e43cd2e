/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two ways to name metadata files are in use: "v12.metadata.json" beside a version hint (the folder is the catalog),
 * and "00012-<uuid>.metadata.json" (a catalog holds the pointer). The number leads in both.
 */
#include "iceberg/locate.h"

#include <inttypes.h>
#include <string.h>

#include "io/gzip.h"

enum { MAX_METADATA = 256 << 20, MAX_HINT = 64 };

void lc_iceberg_place_done(struct lc_iceberg_place *place)
{
    lc_free(place->location);
    lc_buf_done(&place->text);
    *place = (struct lc_iceberg_place){0};
}

/* ---- names ---- */

static bool is_metadata_name(struct lc_str name)
{
    return lc_str_ends(name, ".metadata.json") || lc_str_ends(name, ".metadata.json.gz");
}

/* The number that a metadata file's name begins with, after a 'v' or before a '-'. */
static bool version_of(struct lc_str name, int64_t *out, bool *is_hinted)
{
    size_t at = name.n && name.p[0] == 'v', digits = at;
    while (digits < name.n && name.p[digits] >= '0' && name.p[digits] <= '9')
        digits++;
    *is_hinted = at == 1;
    return is_metadata_name(name) && digits < name.n && name.p[digits] == (*is_hinted ? '.' : '-') &&
           lc_parse_i64((struct lc_str){name.p + at, digits - at}, out);
}

/* ---- the newest file of a folder ---- */

struct newest {
    const char *name;
    const struct lc_file_info *file; /* that has the name */
    const char *rival;               /* has the same number, and nothing says which of them counts */
    int64_t version;
};

static void consider(struct newest *newest, const struct lc_file_info *file)
{
    const char *name = file->name;
    int64_t version;
    bool is_hinted, was_hinted;
    if (!version_of(lc_str_of(name), &version, &is_hinted))
        return;
    if (newest->name && version == newest->version) {
        (void)version_of(lc_str_of(newest->name), &version, &was_hinted);
        /* a table without compression and with it: the same writer's, the plain one first, as Iceberg's own reader does
         */
        if (is_hinted && was_hinted && strlen(name) > strlen(newest->name))
            return;
        if (!is_hinted || !was_hinted)
            newest->rival = newest->name;
        newest->name = name;
        newest->file = file;
    } else if (!newest->name || version > newest->version) {
        *newest = (struct newest){.name = name, .file = file, .version = version};
    }
}

/* What version-hint.text says; -1 when it says nothing that can be read. */
static lcdc_status read_hint(struct lc_storage *storage, const char *folder, int64_t *out, lcdc_error **err)
{
    LC_BUF struct lc_buf text;
    LC_FREE char *path = lc_location_join(folder, "version-hint.text");
    lc_buf_init(&text, MAX_HINT + 1);
    LC_TRY_ALLOC(path);
    LC_TRY(lc_storage_read(storage, path, MAX_HINT, &text, err));
    struct lc_str number = {text.p, text.n};
    while (number.n &&
           (number.p[number.n - 1] == '\n' || number.p[number.n - 1] == '\r' || number.p[number.n - 1] == ' '))
        number.n--;
    if (!lc_parse_i64(number, out))
        *out = -1;
    return LCDC_OK;
}

/* The place that was found before is found again, and its file has not been written since. */
static bool is_known(const struct lc_iceberg_place *known, const struct lc_file_info *file)
{
    const char *name = known ? strrchr(known->location, '/') : NULL;
    return name && strcmp(name + 1, file->name) == 0 && known->size > 0 && known->size == file->size &&
           known->mtime_ms == file->mtime_ms;
}

/*
 * Writers replace the hint after they have written the metadata file, so a later file counts all the same. A hint that
 * points past the newest one may be of a commit since the folder was listed: *hint and no file mean that it is to be
 * listed again. One that was read before the listing says that files are gone.
 */
static lcdc_status choose(struct lc_storage *storage, const char *folder, const struct lc_listing *listing,
                          const struct lc_iceberg_place *known, int64_t *hint, const struct lc_file_info **out,
                          lcdc_error **err)
{
    struct newest newest = {0};
    bool has_hint = false, was_read = *hint >= 0;
    for (size_t i = 0; i < listing->n; i++) {
        consider(&newest, &listing->items[i]);
        has_hint = has_hint || strcmp(listing->items[i].name, "version-hint.text") == 0;
    }
    *out = newest.file;
    if (!newest.name)
        return LCDC_OK;
    if (has_hint && !was_read && !is_known(known, newest.file))
        LC_TRY(read_hint(storage, folder, hint, err));
    if (*hint > newest.version && !was_read) {
        *out = NULL;
        return LCDC_OK;
    }
    if (*hint > newest.version)
        return lc_fail(err, LC_R_ICEBERG_METADATA_BAD,
                       "%s: version-hint.text names version %" PRId64 ", the newest metadata file is %s", folder, *hint,
                       newest.name);
    if (newest.rival)
        return lc_fail(
            err, LC_R_ICEBERG_METADATA_BAD,
            "%s: both %s and %s have the highest number, and only the table's catalog knows which of them counts; "
            "name the metadata file itself",
            folder, newest.name, newest.rival);
    return LCDC_OK;
}

static void listing_done(struct lc_listing *listing)
{
    lc_listing_done(listing);
}

static lcdc_status no_table(const char *root, lcdc_error **err)
{
    return lc_fail(err, LC_R_TABLE_MISSING, "%s has no folder metadata with an Iceberg metadata file in it", root);
}

lcdc_status lc_iceberg_locate(struct lc_storage *storage, const char *root, const struct lc_iceberg_place *known,
                              struct lc_iceberg_place *out, lcdc_error **err)
{
    LC_CLEANUP(listing_done) struct lc_listing listing = {0};
    LC_ERROR lcdc_error *problem = NULL;
    const struct lc_file_info *file;
    int64_t hint = -1;
    if (is_metadata_name(lc_str_of(root))) {
        out->location = lc_strdup(root);
        LC_TRY_ALLOC(out->location);
        return LCDC_OK;
    }
    LC_FREE char *folder = lc_location_join(root, "metadata");
    LC_TRY_ALLOC(folder);
    lcdc_status status = lc_storage_list(storage, folder, &listing, &problem);
    if (status == LCDC_NOT_FOUND)
        return no_table(root, err);
    if (status != LCDC_OK) {
        if (err)
            *err = lc_steal(problem);
        return status;
    }
    LC_TRY(choose(storage, folder, &listing, known, &hint, &file, err));
    if (!file && hint >= 0) {
        lc_listing_done(&listing);
        LC_TRY(lc_storage_list(storage, folder, &listing, err));
        LC_TRY(choose(storage, folder, &listing, known, &hint, &file, err));
    }
    if (!file)
        return no_table(root, err);
    out->location = lc_location_join(folder, file->name);
    LC_TRY_ALLOC(out->location);
    out->size = file->mtime_ms == INT64_MIN ? 0 : file->size;
    out->mtime_ms = file->mtime_ms;
    return LCDC_OK;
}

/* ---- reading ---- */

lcdc_status lc_iceberg_place_read(struct lc_storage *storage, struct lc_iceberg_place *place, lcdc_error **err)
{
    LC_BUF struct lc_buf packed;
    lc_buf_init(&packed, MAX_METADATA + 1);
    lc_buf_done(&place->text);
    lc_buf_init(&place->text, MAX_METADATA + 1);
    LC_TRY(lc_storage_read(storage, place->location, MAX_METADATA, &packed, err));
    struct lc_str bytes = {packed.p, packed.n};
    if (!lc_is_gzip(bytes)) {
        struct lc_buf plain = packed;
        packed = place->text;
        place->text = plain;
        return LCDC_OK;
    }
    lcdc_status status = lc_gunzip(bytes, MAX_METADATA, &place->text, err);
    if (status != LCDC_OK)
        lc_error_prefix(err, "%s", place->location);
    return status;
}
