/* SPDX-License-Identifier: Apache-2.0 */
#include "delta/log.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/checksum.h"
#include "delta/action.h"

enum { VERSION_DIGITS = 20, PART_DIGITS = 10, CACHE_BYTES = 32 * 1024 * 1024, COMMITS_AHEAD = 32, MOST_NEW = 16 };

static bool take_digits(struct lc_str *name, size_t n, int64_t *out)
{
    if (name->n < n || !lc_parse_i64((struct lc_str){name->p, n}, out) || name->p[0] == '-')
        return false;
    *name = (struct lc_str){name->p + n, name->n - n};
    return true;
}

static bool take_text(struct lc_str *name, const char *text)
{
    if (!lc_str_starts(*name, text))
        return false;
    size_t n = strlen(text);
    *name = (struct lc_str){name->p + n, name->n - n};
    return true;
}

/* ---- commits ---- */

/* Spark's reader makes file times rise before it uses them, so that a copied log still has an order (its
   DeltaHistoryManager; the protocol is silent). */
static void make_monotonic(struct lc_delta_log *log)
{
    int64_t last = INT64_MIN;
    for (size_t i = 0; i < log->n_commits; i++) {
        int64_t *ts = &log->commits[i].ts_ms;
        if (*ts == INT64_MIN)
            continue;
        if (last != INT64_MIN && *ts <= last)
            *ts = last + 1;
        last = *ts;
    }
}

static int compare_commits(const void *a, const void *b)
{
    const struct lc_delta_commit_file *x = a, *y = b;
    return (x->version > y->version) - (x->version < y->version);
}

static lcdc_status collect_commits(struct lc_delta_log *log, const struct lc_listing *files, lcdc_error **err)
{
    log->commits = lc_calloc(files->n, sizeof(*log->commits));
    LC_TRY_ALLOC(log->commits);
    log->cap_commits = files->n;
    for (size_t i = 0; i < files->n; i++) {
        struct lc_str name = lc_str_of(files->items[i].name);
        int64_t version;
        if (lc_str_is(name, "_staged_commits"))
            log->has_staged = true;
        if (take_digits(&name, VERSION_DIGITS, &version) && lc_str_is(name, ".json"))
            log->commits[log->n_commits++] = (struct lc_delta_commit_file){
                .version = version,
                .ts_ms = files->items[i].mtime_ms,
                .mtime_ms = files->items[i].mtime_ms,
                .size = files->items[i].size,
            };
    }
    if (log->n_commits)
        qsort(log->commits, log->n_commits, sizeof(*log->commits), compare_commits);
    make_monotonic(log);
    return LCDC_OK;
}

/* ---- checkpoints ---- */

struct part {
    int64_t version, part, parts; /* part 0: not a multi-part name */
    enum lc_delta_checkpoint_kind kind;
    const char *path;
    int64_t size;
};

/* n.checkpoint.parquet, n.checkpoint.<part>.<parts>.parquet, n.checkpoint.<uuid>.parquet|json */
static bool parse_checkpoint(struct lc_str name, struct part *out)
{
    *out = (struct part){.kind = LC_DELTA_CHECKPOINT_PARQUET};
    if (!take_digits(&name, VERSION_DIGITS, &out->version) || !take_text(&name, ".checkpoint."))
        return false;
    if (lc_str_is(name, "parquet"))
        return true;
    struct lc_str numbers = name;
    if (take_digits(&numbers, PART_DIGITS, &out->part) && take_text(&numbers, ".") &&
        take_digits(&numbers, PART_DIGITS, &out->parts) && lc_str_is(numbers, ".parquet"))
        return out->part >= 1 && out->part <= out->parts;
    out->part = out->parts = 0;
    const size_t uuid = 36;
    if (name.n <= uuid || name.p[uuid] != '.')
        return false;
    struct lc_str ending = {name.p + uuid + 1, name.n - uuid - 1};
    out->kind = lc_str_is(ending, "json") ? LC_DELTA_CHECKPOINT_JSON : LC_DELTA_CHECKPOINT_PARQUET;
    return lc_str_is(ending, "json") || lc_str_is(ending, "parquet");
}

static int compare_parts(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    if (x->version != y->version)
        return x->version < y->version ? -1 : 1;
    if (x->parts != y->parts)
        return x->parts < y->parts ? -1 : 1;
    return (x->part > y->part) - (x->part < y->part);
}

static lcdc_status add_checkpoint(struct lc_delta_log *log, const struct part *parts, size_t n, lcdc_error **err)
{
    struct lc_delta_checkpoint *made = &log->checkpoints[log->n_checkpoints++];
    *made = (struct lc_delta_checkpoint){.version = parts[0].version, .kind = parts[0].kind, .n_parts = n};
    made->parts = lc_arena_array(&log->arena, n, sizeof(char *));
    made->sizes = lc_arena_array(&log->arena, n, sizeof(int64_t));
    LC_TRY_ALLOC(made->parts && made->sizes);
    for (size_t i = 0; i < n; i++) {
        made->parts[i] = parts[i].path;
        made->sizes[i] = parts[i].size;
    }
    return LCDC_OK;
}

/* A multi-part checkpoint counts only when every part is there, once. */
static lcdc_status group_parts(struct lc_delta_log *log, const struct part *parts, size_t n, lcdc_error **err)
{
    for (size_t i = 0; i < n;) {
        size_t end = i + 1;
        bool whole = parts[i].part == 0 || parts[i].part == 1;
        while (parts[i].part && end < n && parts[end].version == parts[i].version &&
               parts[end].parts == parts[i].parts) {
            whole = whole && parts[end].part == parts[end - 1].part + 1;
            end++;
        }
        if (whole && (parts[i].part == 0 || (int64_t)(end - i) == parts[i].parts))
            LC_TRY(add_checkpoint(log, &parts[i], end - i, err));
        i = end;
    }
    return LCDC_OK;
}

static lcdc_status collect_checkpoints(struct lc_delta_log *log, const struct lc_listing *files, lcdc_error **err)
{
    size_t n = 0;
    LC_FREE struct part *parts = lc_calloc(files->n, sizeof(*parts));
    log->checkpoints = lc_arena_array(&log->arena, files->n, sizeof(*log->checkpoints));
    LC_TRY_ALLOC(parts && log->checkpoints);
    for (size_t i = 0; i < files->n; i++) {
        if (!parse_checkpoint(lc_str_of(files->items[i].name), &parts[n]))
            continue;
        LC_FREE char *path = lc_location_join(log->folder, files->items[i].name);
        LC_TRY_ALLOC(path);
        parts[n].path = lc_arena_strdup(&log->arena, path);
        LC_TRY_ALLOC(parts[n].path);
        parts[n].size = files->items[i].size;
        n++;
    }
    if (n)
        qsort(parts, n, sizeof(*parts), compare_parts);
    return group_parts(log, parts, n, err);
}

/* ---- version checksums ---- */

/* Names with as many digits sort as their numbers do. */
static lcdc_status collect_checksums(struct lc_delta_log *log, const struct lc_listing *files, lcdc_error **err)
{
    size_t n = 0;
    for (size_t i = 0; i < files->n; i++)
        n += lc_str_ends(lc_str_of(files->items[i].name), ".crc");
    log->checksums = lc_arena_array(&log->arena, n, sizeof(*log->checksums));
    LC_TRY_ALLOC(log->checksums);
    for (size_t i = 0; i < files->n; i++) {
        struct lc_str name = lc_str_of(files->items[i].name);
        struct lc_delta_checksum_file *file = &log->checksums[log->n_checksums];
        if (!lc_str_ends(name, ".crc") || !take_digits(&name, VERSION_DIGITS, &file->version))
            continue;
        file->size = files->items[i].size;
        log->n_checksums += lc_str_is(name, ".crc");
    }
    return LCDC_OK;
}

const struct lc_delta_checksum_file *lc_delta_log_checksum(const struct lc_delta_log *log, int64_t version)
{
    size_t low = 0, high = log->n_checksums; /* those below `low` are at or below the version */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (log->checksums[middle].version <= version)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? &log->checksums[low - 1] : NULL;
}

/* ---- the log ---- */

static lcdc_status read_listing(struct lc_delta_log *log, lcdc_error **err)
{
    LC_CLEANUP(lc_listing_done) struct lc_listing files = {0};
    LC_ERROR lcdc_error *problem = NULL;
    lcdc_status status = lc_storage_list(log->storage, log->folder, &files, &problem);
    if (status == LCDC_NOT_FOUND)
        return lc_fail(err, LC_R_TABLE_MISSING, "there is no folder %s", log->folder);
    if (status != LCDC_OK) {
        if (err) {
            lcdc_error_free(*err);
            *err = lc_steal(problem);
        }
        return status;
    }
    LC_TRY(collect_commits(log, &files, err));
    LC_TRY(collect_checkpoints(log, &files, err));
    LC_TRY(collect_checksums(log, &files, err));
    if (log->n_commits == 0 && log->n_checkpoints == 0)
        return lc_fail(err, LC_R_TABLE_MISSING, "%s holds neither a commit nor a checkpoint", log->folder);
    log->latest = log->n_commits ? log->commits[log->n_commits - 1].version : -1;
    if (log->n_checkpoints && log->checkpoints[log->n_checkpoints - 1].version > log->latest)
        log->latest = log->checkpoints[log->n_checkpoints - 1].version;
    return LCDC_OK;
}

lcdc_status lc_delta_log_open(struct lc_storage *storage, const char *root, struct lc_delta_log **out, lcdc_error **err)
{
    LC_CLEANUP(lc_delta_log_freep) struct lc_delta_log *log = lc_calloc(1, sizeof(*log));
    LC_TRY_ALLOC(log);
    log->n_users = 1;
    log->storage = storage;
    log->expected_to = log->wanted_to = -1;
    lc_buf_init(&log->scratch, LC_DELTA_MAX_LINE);
    log->root = lc_arena_strdup(&log->arena, root);
    log->folder = lc_location_join(root, "_delta_log");
    LC_TRY_ALLOC(log->root && log->folder);
    LC_TRY(read_listing(log, err));
    *out = lc_steal(log);
    return LCDC_OK;
}

struct lc_delta_log *lc_delta_log_ref(struct lc_delta_log *log)
{
    log->n_users++;
    return log;
}

static void drop_texts(struct lc_delta_log *log)
{
    for (size_t i = 0; i < log->n_cached; i++)
        lc_free(log->cached[i].text);
    log->n_cached = log->cached_bytes = 0;
}

void lc_delta_log_free(struct lc_delta_log *log)
{
    if (!log || --log->n_users)
        return;
    drop_texts(log);
    lc_free(log->cached);
    lc_free(log->commits);
    lc_free(log->folder);
    lc_buf_done(&log->scratch);
    lc_arena_done(&log->arena);
    lc_free(log);
}

static struct lc_delta_commit_file *find(const struct lc_delta_log *log, int64_t version)
{
    struct lc_delta_commit_file key = {.version = version};
    return log->n_commits ? bsearch(&key, log->commits, log->n_commits, sizeof(key), compare_commits) : NULL;
}

const struct lc_delta_commit_file *lc_delta_log_find(const struct lc_delta_log *log, int64_t version)
{
    return find(log, version);
}

bool lc_delta_log_is_whole(const struct lc_delta_log *log, int64_t first, int64_t last)
{
    const struct lc_delta_commit_file *a = find(log, first), *b = find(log, last);
    return a && b && b - a == last - first;
}

int64_t lc_delta_log_first_whole(const struct lc_delta_log *log)
{
    size_t i = log->n_commits;
    while (i > 1 && log->commits[i - 2].version == log->commits[i - 1].version - 1)
        i--;
    return i ? log->commits[i - 1].version : log->latest + 1;
}

const struct lc_delta_checkpoint *lc_delta_log_checkpoint(const struct lc_delta_log *log, int64_t version)
{
    const struct lc_delta_checkpoint *found = NULL;
    for (size_t i = 0; i < log->n_checkpoints; i++)
        if (log->checkpoints[i].version <= version)
            found = &log->checkpoints[i];
    return found;
}

/* After a gap the table's state is known again from a checkpoint on; before it everything up to the gap can be served.
 */
static lcdc_status version_gap(const struct lc_delta_log *log, int64_t version, lcdc_error **err)
{
    int64_t whole = lc_delta_log_first_whole(log), from = 0, to = version - 1;
    for (size_t i = log->n_checkpoints; i-- > 0 && log->checkpoints[i].version >= whole - 1;) {
        from = log->checkpoints[i].version > whole ? log->checkpoints[i].version : whole;
        to = log->latest;
    }
    lcdc_status status = lc_fail(err, LC_R_DELTA_VERSION_GAP,
                                 "commit file %020" PRId64 ".json is missing, the log has earlier and later ones",
                                 version);
    if (log->commits[0].version == 0 || to == log->latest) {
        lc_error_detail(err, "servable_from", "%" PRId64, from);
        lc_error_detail(err, "servable_to", "%" PRId64, to);
    }
    return status;
}

static lcdc_status missing_commit(const struct lc_delta_log *log, int64_t version, lcdc_error **err)
{
    int64_t first = log->n_commits ? log->commits[0].version : log->latest + 1;
    lcdc_status status;
    if (version > log->latest)
        return lc_fail(err, LC_R_DELTA_VERSION_MISSING, "version %" PRId64 " does not exist, the latest is %" PRId64,
                       version, log->latest);
    if (version < first)
        status = lc_fail(err, LC_R_DELTA_VERSION_GONE,
                         "version %" PRId64 " has been cleaned out of the log, the first that is left is %" PRId64,
                         version, first);
    else
        status = version_gap(log, version, err);
    lc_error_detail(err, "version", "%" PRId64, version);
    return status;
}

static int compare_cached(const void *a, const void *b)
{
    const struct lc_delta_cached *x = a, *y = b;
    return (x->version > y->version) - (x->version < y->version);
}

static bool cache_put(struct lc_delta_log *log, int64_t version)
{
    if (log->cached_bytes + log->scratch.n > CACHE_BYTES)
        return false;
    if (log->n_cached && log->cached[log->n_cached - 1].version >= version)
        return false; /* kept in order, for the search; reads go upwards */
    if (log->n_cached == log->cap_cached) {
        size_t cap = log->cap_cached ? log->cap_cached * 2 : 16;
        struct lc_delta_cached *cached = lc_realloc(log->cached, cap, sizeof(*cached));
        if (!cached)
            return false;
        log->cached = cached;
        log->cap_cached = cap;
    }
    size_t n = log->scratch.n;
    char *text = lc_buf_take(&log->scratch);
    if (!text)
        return false;
    log->cached[log->n_cached++] = (struct lc_delta_cached){.version = version, .text = text, .n = n};
    log->cached_bytes += n;
    return true;
}

static char *commit_path(const struct lc_delta_log *log, int64_t version)
{
    struct lc_buf name;
    lc_buf_init(&name, 64);
    lc_buf_printf(&name, "%020" PRId64 ".json", version);
    LC_FREE char *file = lc_buf_take(&name);
    return file ? lc_location_join(log->folder, file) : NULL;
}

void lc_delta_log_expect(struct lc_delta_log *log, int64_t last)
{
    log->expected_to = last;
}

/* The commits after this one that will be read are fetched while it is. */
static void want_ahead(struct lc_delta_log *log, int64_t version)
{
    int64_t last = log->expected_to - version < COMMITS_AHEAD ? log->expected_to : version + COMMITS_AHEAD;
    bool is_near = version <= log->wanted_to && log->wanted_to - version <= COMMITS_AHEAD;
    if (version > last || !lc_storage_is_remote(log->storage, log->folder))
        return;
    for (int64_t v = is_near ? log->wanted_to + 1 : version; v <= last; v++) {
        const struct lc_delta_commit_file *file = lc_delta_log_find(log, v);
        LC_FREE char *path = file ? commit_path(log, v) : NULL;
        if (path)
            lc_storage_want_whole(log->storage, path, file->size);
    }
    log->wanted_to = last;
}

/* ---- looking again ---- */

/* *found false: there is no such commit file. */
static lcdc_status stat_commit(const struct lc_delta_log *log, int64_t version, struct lc_file_info *out, bool *found,
                               lcdc_error **err)
{
    LC_ERROR lcdc_error *problem = NULL;
    LC_FREE char *path = commit_path(log, version);
    LC_TRY_ALLOC(path);
    lcdc_status status = lc_storage_stat(log->storage, path, out, &problem);
    *found = status == LCDC_OK;
    if (status == LCDC_OK || status == LCDC_NOT_FOUND)
        return LCDC_OK;
    if (err) {
        lcdc_error_free(*err);
        *err = lc_steal(problem);
    }
    return status;
}

static void want_commit(const struct lc_delta_log *log, int64_t version)
{
    LC_FREE char *path = commit_path(log, version);
    if (path)
        lc_storage_want(log->storage, path, -1, 0, NULL);
}

static lcdc_status append_commit(struct lc_delta_log *log, const struct lc_file_info *info, lcdc_error **err)
{
    if (log->n_commits == log->cap_commits) {
        size_t cap = log->cap_commits * 2 + MOST_NEW;
        struct lc_delta_commit_file *commits = lc_realloc(log->commits, cap, sizeof(*commits));
        LC_TRY_ALLOC(commits);
        log->commits = commits;
        log->cap_commits = cap;
    }
    int64_t last = log->commits[log->n_commits - 1].ts_ms;
    log->commits[log->n_commits++] = (struct lc_delta_commit_file){
        .version = ++log->latest,
        .ts_ms = info->mtime_ms != INT64_MIN && info->mtime_ms <= last ? last + 1 : info->mtime_ms,
        .mtime_ms = info->mtime_ms,
        .size = info->size,
    };
    return LCDC_OK;
}

/* The newest commit's file is the same as ever: a log that was begun anew, or cut past it, has not. */
lcdc_status lc_delta_log_refresh(struct lc_delta_log *log, bool *is_whole, lcdc_error **err)
{
    const struct lc_delta_commit_file *newest = lc_delta_log_find(log, log->latest);
    struct lc_file_info info = {0};
    bool found = false;
    *is_whole = false;
    drop_texts(log);
    if (!newest || newest->mtime_ms == INT64_MIN || newest->ts_ms == INT64_MIN)
        return LCDC_OK;
    want_commit(log, log->latest);
    want_commit(log, log->latest + 1);
    LC_TRY(stat_commit(log, log->latest, &info, &found, err));
    if (!found || info.mtime_ms != newest->mtime_ms || info.size != newest->size)
        return LCDC_OK;
    for (int n = 0; found && n < MOST_NEW; n++) {
        LC_TRY(stat_commit(log, log->latest + 1, &info, &found, err));
        if (found)
            LC_TRY(append_commit(log, &info, err));
    }
    *is_whole = !found;
    lc_storage_forget(log->storage);
    return LCDC_OK;
}

/* The text in `scratch` is what the commit looks like. Once: readers of stamps may be other threads. */
static void put_stamp(struct lc_delta_log *log, int64_t version)
{
    struct lc_delta_commit_file *commit = find(log, version);
    char sum[LC_CHECKSUM_TEXT];
    if (!commit || *commit->stamp)
        return;
    lc_checksum_of(log->scratch.p, log->scratch.n, sum);
    memcpy(commit->stamp, sum, sizeof(commit->stamp) - 1);
}

const char *lc_delta_log_stamp(const struct lc_delta_log *log, int64_t version)
{
    const struct lc_delta_commit_file *commit = lc_delta_log_find(log, version);
    return commit && *commit->stamp ? commit->stamp : NULL;
}

lcdc_status lc_delta_log_want_stamp(struct lc_delta_log *log, int64_t version, lcdc_error **err)
{
    LC_ERROR lcdc_error *problem = NULL;
    struct lc_str text;
    if (!lc_delta_log_find(log, version) || lc_delta_log_stamp(log, version))
        return LCDC_OK;
    lcdc_status status = lc_delta_log_commit(log, version, &text, &problem);
    if (status == LCDC_OK || status == LCDC_NOT_FOUND || status == LCDC_GONE) /* cleaned up since it was listed */
        return LCDC_OK;
    return lc_fail_with(lc_steal(problem), err);
}

lcdc_status lc_delta_log_commit(struct lc_delta_log *log, int64_t version, struct lc_str *out, lcdc_error **err)
{
    struct lc_delta_cached key = {.version = version};
    const struct lc_delta_cached *hit = log->n_cached
                                            ? bsearch(&key, log->cached, log->n_cached, sizeof(key), compare_cached)
                                            : NULL;
    if (hit) {
        *out = (struct lc_str){hit->text, hit->n};
        return LCDC_OK;
    }
    if (log->asked && *log->asked)
        return lc_fail(err, LC_R_CANCELLED, "the read was cancelled while its commits were looked through");
    if (!lc_delta_log_find(log, version))
        return missing_commit(log, version, err);
    LC_FREE char *path = commit_path(log, version);
    LC_TRY_ALLOC(path);
    want_ahead(log, version);
    lc_buf_clear(&log->scratch);
    LC_TRY(lc_storage_read(log->storage, path, LC_DELTA_MAX_LINE, &log->scratch, err));
    struct lc_str rest = {log->scratch.p, log->scratch.n}, line;
    if (!lc_delta_next_line(&rest, &line))
        return lc_fail(err, LC_R_DELTA_LOG_BAD, "version %" PRId64 ": the commit file %s is empty", version, path);
    put_stamp(log, version);
    if (cache_put(log, version))
        *out = (struct lc_str){log->cached[log->n_cached - 1].text, log->cached[log->n_cached - 1].n};
    else
        *out = (struct lc_str){log->scratch.p, log->scratch.n};
    return LCDC_OK;
}
