/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ties a checksum file to its commit is the transaction's id, which writers put into both (protocol, "Version
 * Checksum File": txnId is optional there; without it nothing is believed).
 */
#include "delta/version_checksum.h"

#include <inttypes.h>

#include "delta/schema.h"

/* How many files are tried that do not count, and how long one may be: it may list files of the table too. */
enum { MOST_TRIES = 3, MAX_BYTES = 16 * 1024 * 1024 };

/* The id of the transaction that made a commit, in `arena`; n 0: it does not say. */
static lcdc_status commit_transaction(struct lc_delta_log *log, int64_t version, struct lc_arena *arena,
                                      struct lc_str *out, lcdc_error **err)
{
    struct lc_str text, line;
    *out = LC_STR("");
    LC_TRY(lc_delta_log_commit(log, version, &text, err));
    while (lc_delta_next_line(&text, &line)) {
        struct lc_delta_action action;
        if (lc_delta_action_peek(line) != LC_DELTA_COMMIT_INFO)
            continue;
        LC_TRY(lc_delta_action_parse(line, arena, &action, err));
        if (action.kind == LC_DELTA_COMMIT_INFO)
            *out = action.commit_info.transaction;
        return LCDC_OK;
    }
    return LCDC_OK;
}

/* The file holds the two actions under names of its own, in the shape that they have in a commit. */
static lcdc_status parse_action(const struct json_t *json, const char *member, const char *name, struct lc_arena *arena,
                                struct lc_delta_action *out, lcdc_error **err)
{
    LC_BUF struct lc_buf line = {.max = LC_DELTA_MAX_LINE};
    const struct json_t *body = lc_json_member(json, member);
    if (!lc_json_is_object(body))
        return lc_fail(err, LC_R_DELTA_LOG_BAD, "there is no %s", member);
    lc_buf_printf(&line, "{\"%s\":", name);
    lc_json_print(body, &line);
    lc_buf_char(&line, '}');
    LC_TRY_BUF(&line);
    return lc_delta_action_parse((struct lc_str){line.p, line.n}, arena, out, err);
}

static bool is_one(const struct json_t *json, const char *key)
{
    int64_t n;
    return lc_json_get_i64(json, key, &n) && n == 1;
}

/* Nothing of the state is used that could not be: a schema that cannot be read may be the damage of this file. */
static lcdc_status check_state(const struct lc_delta_state *state, lcdc_error **err)
{
    LC_ARENA struct lc_arena scratch = {0};
    struct lc_field schema;
    enum lc_match match;
    LC_TRY(lc_delta_protocol_check(&state->protocol, err));
    return lc_delta_schema_parse(&state->metadata, &scratch, &schema, &match, err);
}

static lcdc_status parse_file(struct lc_str text, struct lc_str transaction, struct lc_arena *arena,
                              struct lc_delta_state *out, lcdc_error **err)
{
    LC_JSON struct json_t *json = NULL;
    struct lc_delta_action protocol, metadata;
    struct lc_str told;
    LC_TRY(lc_json_parse(text, &json, err));
    if (!lc_json_get_str(json, "txnId", &told) || !lc_str_eq(told, transaction))
        return lc_fail(err, LC_R_DELTA_LOG_BAD, "it is not about this commit");
    if (!is_one(json, "numProtocol") || !is_one(json, "numMetadata"))
        return lc_fail(err, LC_R_DELTA_LOG_BAD, "it has not one protocol and one metadata");
    LC_TRY(parse_action(json, "protocol", "protocol", arena, &protocol, err));
    LC_TRY(parse_action(json, "metadata", "metaData", arena, &metadata, err));
    struct lc_delta_state state = {.protocol = protocol.protocol, .metadata = metadata.metadata};
    LC_TRY(check_state(&state, err));
    *out = state;
    return LCDC_OK;
}

static lcdc_status read_one(struct lc_delta_log *log, const struct lc_delta_checksum_file *file, struct lc_arena *arena,
                            struct lc_delta_state *out, lcdc_error **err)
{
    LC_BUF struct lc_buf path = {.max = LC_BUF_MAX}, text = {.max = MAX_BYTES + 1};
    struct lc_str transaction;
    lc_buf_printf(&path, "%s/%020" PRId64 ".crc", log->folder, file->version);
    LC_TRY_BUF(&path);
    lc_storage_want_whole(log->storage, path.p, file->size); /* while the commit is read */
    LC_TRY(commit_transaction(log, file->version, arena, &transaction, err));
    if (transaction.n == 0)
        return lc_fail(err, LC_R_DELTA_LOG_BAD, "the commit names no transaction");
    LC_TRY(lc_storage_read(log->storage, path.p, MAX_BYTES, &text, err));
    return parse_file((struct lc_str){text.p, text.n}, transaction, arena, out, err);
}

lcdc_status lc_delta_version_checksum_read(struct lc_delta_log *log, int64_t least, int64_t version,
                                           struct lc_arena *arena, struct lc_delta_state *out, bool *found,
                                           lcdc_error **err)
{
    *found = false;
    for (int tries = 0; tries < MOST_TRIES && !*found; tries++) {
        LC_ERROR lcdc_error *problem = NULL;
        struct lc_delta_state state;
        const struct lc_delta_checksum_file *file = lc_delta_log_checksum(log, version);
        if (!file || file->version < least)
            return LCDC_OK;
        lcdc_status status = file->size > MAX_BYTES ? LCDC_CORRUPT : read_one(log, file, arena, &state, &problem);
        if (status == LCDC_OUT_OF_MEMORY || status == LCDC_CANCELLED)
            return lc_fail_with(lc_steal(problem), err);
        *found = status == LCDC_OK;
        if (*found) {
            *out = state;
            out->version = file->version;
        }
        version = file->version - 1;
    }
    return LCDC_OK;
}
