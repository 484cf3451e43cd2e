/* SPDX-License-Identifier: Apache-2.0 */
#include "core/source.h"

#include <string.h>

#include "base/log.h"

const struct lc_backend *lc_source_backend(const lcdc_source *source)
{
    return lc_backends[source->at];
}

/* ---- verdict ---- */

const char *lcdc_verdict_chosen(const lcdc_verdict *verdict)
{
    return verdict ? verdict->chosen : NULL;
}

const char *lcdc_verdict_reason(const lcdc_verdict *verdict)
{
    return verdict && verdict->reason ? verdict->reason : "";
}

bool lcdc_verdict_fell_back(const lcdc_verdict *verdict)
{
    return verdict && verdict->fell_back;
}

size_t lcdc_verdict_candidate_count(const lcdc_verdict *verdict)
{
    return verdict ? verdict->n_candidates : 0;
}

static const struct lc_candidate *candidate_at(const lcdc_verdict *verdict, size_t i)
{
    return verdict && i < verdict->n_candidates ? &verdict->candidates[i] : NULL;
}

const char *lcdc_verdict_candidate_name(const lcdc_verdict *verdict, size_t i)
{
    const struct lc_candidate *candidate = candidate_at(verdict, i);
    return candidate ? candidate->name : NULL;
}

bool lcdc_verdict_candidate_usable(const lcdc_verdict *verdict, size_t i)
{
    const struct lc_candidate *candidate = candidate_at(verdict, i);
    return candidate && candidate->usable;
}

const char *lcdc_verdict_candidate_reason(const lcdc_verdict *verdict, size_t i)
{
    const struct lc_candidate *candidate = candidate_at(verdict, i);
    return candidate && candidate->reason ? candidate->reason : "";
}

const char *lcdc_verdict_json(const lcdc_verdict *verdict)
{
    return verdict && verdict->json ? verdict->json : "{}";
}

static void json_text(struct lc_buf *json, const char *key, const char *value)
{
    lc_buf_printf(json, ",\"%s\":", key);
    if (value)
        lc_buf_json_string(json, lc_str_of(value));
    else
        lc_buf_text(json, "null");
}

/* "4.2" of "4.2.1"; empty when the version is not known or of another form. */
static struct lc_str major_minor(const char *version)
{
    const char *dot = version ? strchr(version, '.') : NULL;
    size_t n = dot ? (size_t)(dot - version) + 1 + strspn(dot + 1, "0123456789") : 0;
    return (struct lc_str){version, n};
}

static void verdict_json(const struct lcdc_verdict *verdict, struct lc_buf *json)
{
    const char *server = NULL, *format = NULL;
    bool expected = false, native = false;
    for (size_t i = 0; i < verdict->n_candidates; i++) {
        const struct lc_candidate *c = &verdict->candidates[i];
        server = c->server_version ? c->server_version : server;
        expected = expected || c->native_expected;
        native = native || (c->usable && strcmp(c->name, "spark_native") == 0);
        if (c->usable && !format)
            format = c->format;
    }
    lc_buf_text(json, "{\"chosen\":");
    if (verdict->chosen)
        lc_buf_json_string(json, lc_str_of(verdict->chosen));
    else
        lc_buf_text(json, "null");
    json_text(json, "format", format);
    json_text(json, "server_version", server);
    struct lc_str short_version = major_minor(server);
    lc_buf_text(json, ",\"server_major_minor\":");
    if (short_version.n)
        lc_buf_json_string(json, short_version);
    else
        lc_buf_text(json, "null");
    lc_buf_printf(json, ",\"native_expected\":%s,\"native_usable\":%s,\"fell_back\":%s", expected ? "true" : "false",
                  native ? "true" : "false", verdict->fell_back ? "true" : "false");
    json_text(json, "reason", verdict->reason);
    lc_buf_text(json, ",\"candidates\":[");
    for (size_t i = 0; i < verdict->n_candidates; i++) {
        const struct lc_candidate *c = &verdict->candidates[i];
        lc_buf_printf(json, "%s{\"name\":\"%s\",\"usable\":%s", i ? "," : "", c->name, c->usable ? "true" : "false");
        json_text(json, "format", c->format);
        json_text(json, "reason", c->reason ? c->reason : "");
        lc_buf_char(json, '}');
    }
    lc_buf_text(json, "]}");
}

/* Puts chosen, fell_back, reason and the JSON text together from the candidates. */
static lcdc_status settle_verdict(lcdc_source *source, bool is_open, lcdc_error **err)
{
    struct lcdc_verdict *verdict = &source->verdict;
    struct lc_buf reason, json;
    lc_buf_init(&reason, 1 << 20);
    lc_buf_init(&json, 1 << 22);
    verdict->chosen = is_open ? lc_source_backend(source)->name : NULL;
    verdict->fell_back = false;
    for (size_t i = 0; i < verdict->n_candidates; i++) {
        const struct lc_candidate *c = &verdict->candidates[i];
        if (is_open && i == source->at) {
            lc_buf_printf(&reason, "%s%s: %s", reason.n ? "; " : "", c->name, c->reason ? c->reason : "");
            if (verdict->failure)
                lc_buf_printf(&reason, "; its last read broke off: %s", verdict->failure);
            continue;
        }
        if (c->usable || c->absent || (is_open && i > source->at))
            continue;
        verdict->fell_back = verdict->fell_back || (is_open && i < source->at);
        lc_buf_printf(&reason, "%s%s cannot: %s", reason.n ? "; " : "", c->name, c->reason ? c->reason : "");
    }
    if (source->problem) { /* one for all of them */
        lc_buf_clear(&reason);
        lc_buf_text(&reason, lcdc_error_message(source->problem));
    }
    lc_free(verdict->reason);
    verdict->reason = lc_buf_take(&reason);
    LC_TRY_ALLOC(verdict->reason);
    verdict_json(verdict, &json);
    lc_free(verdict->json);
    verdict->json = lc_buf_take(&json);
    LC_TRY_ALLOC(verdict->json);
    return LCDC_OK;
}

/* ---- choosing ---- */

/* A server's table may lie where the backends that read files can reach it. */
static lcdc_status locate(lcdc_source *source, lcdc_error **err)
{
    const char *location = NULL;
    for (size_t i = 0; lc_backends[i] && !location; i++)
        if (lc_backends[i]->locate)
            LC_TRY(lc_backends[i]->locate(source->request, &source->arena, &location, err));
    if (!location)
        return LCDC_OK;
    LC_TRY(lc_request_dup(source->request, &source->located, err));
    source->located->table = location;
    source->located->name = NULL;
    return LCDC_OK;
}

/* What the backend at place i is asked about. */
static const lcdc_request *request_for(const lcdc_source *source, size_t i)
{
    return source->located && !lc_backends[i]->locate ? source->located : source->request;
}

/* Nothing more can be learned: memory is short, or nobody wants to know any more. */
static bool is_final(lcdc_status status)
{
    return status == LCDC_OUT_OF_MEMORY || status == LCDC_CANCELLED || status == LCDC_INVALID_ARGUMENT;
}

/* What ends the search (a server that is down, say) is still a verdict: the first such problem is kept. */
static lcdc_status note_problem(lcdc_source *source, lcdc_status status, lcdc_error **problem, lcdc_error **err)
{
    if (status == LCDC_OK)
        return status;
    if (is_final(status))
        return lc_fail_with(lc_steal(*problem), err);
    if (!source->problem)
        source->problem = lc_steal(*problem);
    return LCDC_OK;
}

static lcdc_status probe_one(lcdc_source *source, size_t i, struct lc_candidate *out, lcdc_error **err)
{
    LC_ERROR lcdc_error *problem = NULL;
    lcdc_status status = lc_backends[i]->probe(request_for(source, i), &source->arena, out, &problem);
    if (status != LCDC_OK) {
        out->usable = false;
        out->reason = lc_arena_strdup(&source->arena, lcdc_error_message(problem));
        LC_TRY_ALLOC(out->reason);
    }
    return note_problem(source, status, &problem, err);
}

static lcdc_status probe_all(lcdc_source *source, lcdc_error **err)
{
    const char *via = source->request->via;
    bool known = !via;
    struct lcdc_verdict *verdict = &source->verdict;
    LC_ERROR lcdc_error *problem = NULL;
    LC_TRY(note_problem(source, locate(source, &problem), &problem, err));
    for (size_t i = 0; lc_backends[i] && i < LC_MAX_BACKENDS; i++) {
        struct lc_candidate *candidate = &verdict->candidates[verdict->n_candidates++];
        bool is_wanted = !via || strcmp(via, lc_backends[i]->name) == 0;
        if (is_wanted)
            LC_TRY(probe_one(source, i, candidate, err));
        else
            *candidate = (struct lc_candidate){.absent = true, .reason = "another backend was asked for"};
        known = known || is_wanted;
        candidate->name = lc_backends[i]->name;
    }
    return known ? LCDC_OK : lc_fail(err, LC_R_OPTION_VALUE, "via: there is no backend '%s'", via);
}

/* What may be told of a location: a server's parameters hold secrets. */
static struct lc_str shown(const char *table)
{
    return (struct lc_str){table, strstr(table, "://") ? strcspn(table, ";?#") : strlen(table)};
}

static lcdc_status no_backend(lcdc_source *source, lcdc_error **err)
{
    bool all_absent = true;
    struct lc_buf text;
    lc_buf_init(&text, 1 << 20);
    for (size_t i = 0; i < source->verdict.n_candidates; i++) {
        const struct lc_candidate *c = &source->verdict.candidates[i];
        all_absent = all_absent && c->absent;
        if (c->reason && !c->foreign && (!c->absent || !source->request->via))
            lc_buf_printf(&text, "%s%s%s%s", text.n ? "; " : "", c->absent ? "" : c->name, c->absent ? "" : ": ",
                          c->reason);
    }
    LC_FREE char *reasons = lc_buf_take(&text);
    LC_TRY_ALLOC(reasons);
    return lc_fail(err, all_absent ? LC_R_TABLE_MISSING : LC_R_NO_BACKEND,
                   all_absent ? "no table at %.*s: %s" : "%.*s cannot be read: %s",
                   LC_STR_ARG(shown(source->request->table)), reasons);
}

/* Opens the first usable backend from source->at on; those that do not open are noted and passed over. */
static lcdc_status open_next(lcdc_source *source, lcdc_error **err)
{
    for (; source->at < source->verdict.n_candidates; source->at++) {
        struct lc_candidate *candidate = &source->verdict.candidates[source->at];
        const struct lc_backend *backend = lc_backends[source->at];
        LC_ERROR lcdc_error *problem = NULL;
        if (!candidate->usable)
            continue;
        lcdc_status status = backend->open(request_for(source, source->at), &source->handle, &problem);
        if (status == LCDC_OK) {
            LC_TRY(settle_verdict(source, true, err));
            lc_log(source->verdict.fell_back ? LCDC_LOG_WARN : LCDC_LOG_INFO, "lakecdc.cdc", "%.*s: %s",
                   LC_STR_ARG(shown(source->request->table)), source->verdict.reason);
            return LCDC_OK;
        }
        if (!backend->may_fall_back)
            return lc_fail_with(lc_steal(problem), err);
        candidate->usable = false;
        candidate->reason = lc_arena_strdup(&source->arena, lcdc_error_message(problem));
    }
    LC_ERROR lcdc_error *none = NULL;
    (void)no_backend(source, &none);
    lcdc_error_free(source->problem);
    source->problem = lc_error_dup(none);
    (void)settle_verdict(source, false, NULL);
    return lc_fail_with(lc_steal(none), err);
}

static bool may_fall_back(const lcdc_source *source, const lcdc_request *request, lcdc_status status)
{
    return lc_source_backend(source)->may_fall_back && !request->via &&
           (status == LCDC_UNSUPPORTED || status == LCDC_UNAVAILABLE || status == LCDC_CORRUPT || status == LCDC_LIMIT);
}

static lcdc_status fall_back(lcdc_source *source, const lcdc_error *problem, lcdc_error **err)
{
    struct lc_candidate *candidate = &source->verdict.candidates[source->at];
    lc_source_backend(source)->close(source->handle);
    source->handle = NULL;
    candidate->usable = false;
    candidate->reason = lc_arena_strdup(&source->arena, lcdc_error_message(problem));
    LC_TRY_ALLOC(candidate->reason);
    source->at++;
    return open_next(source, err);
}

lcdc_status lc_source_attempt(lcdc_source *source, const lcdc_request *request, lc_source_step step, void *context,
                              lcdc_error **err)
{
    while (source->handle) {
        LC_ERROR lcdc_error *problem = NULL;
        lcdc_status status = step(context, &problem);
        if (status == LCDC_OK)
            return status;
        if (!may_fall_back(source, request, status))
            return lc_fail_with(lc_steal(problem), err);
        LC_TRY(fall_back(source, problem, err));
    }
    return no_backend(source, err);
}

void lc_source_note_end(lcdc_source *source, const lcdc_error *error)
{
    char **failure = &source->verdict.failure;
    if (!source->handle || (!error && !*failure))
        return;
    lc_free(*failure);
    *failure = error ? lc_strdup(lcdc_error_message(error)) : NULL;
    (void)settle_verdict(source, true, NULL); /* what is told of it is not worth an error of its own */
}

/* ---- opening ---- */

static lcdc_status probe_and_open(lcdc_source *source, lcdc_error **err)
{
    LC_TRY(probe_all(source, err));
    if (!source->problem)
        return open_next(source, err);
    LC_TRY(settle_verdict(source, false, err));
    return lc_fail_with(lc_error_dup(source->problem), err);
}

lcdc_status lcdc_source_probe(const lcdc_request *request, lcdc_source **out, lcdc_error **err)
{
    if (!request || !out)
        return lc_fail(err, LC_R_OPTION_VALUE, "lcdc_source_probe: a request and an output are needed");
    if (!request->table || !*request->table)
        return lc_fail(err, LC_R_OPTION_VALUE, "no table was named");
    lcdc_source *source = lc_calloc(1, sizeof(*source));
    LC_TRY_ALLOC(source);
    lcdc_status status = lc_request_dup(request, &source->request, err);
    if (status == LCDC_OK) {
        source->request->shared = &source->shared;
        source->shared.cancelled = &request->cancelled;
        status = probe_and_open(source, err);
    }
    if (status == LCDC_OK || source->verdict.json) {
        source->shared.cancelled = NULL;
        *out = source;
    } else {
        lcdc_source_free(source); /* still a part of the call, which may have been cancelled */
    }
    return status;
}

lcdc_status lcdc_source_open(const lcdc_request *request, lcdc_source **out, lcdc_error **err)
{
    lcdc_source *source = NULL;
    lcdc_status status = out ? lcdc_source_probe(request, &source, err)
                             : lc_fail(err, LC_R_OPTION_VALUE, "lcdc_source_open: an output is needed");
    if (status == LCDC_OK)
        *out = source;
    else
        lcdc_source_free(source);
    return status;
}

const lcdc_verdict *lcdc_source_verdict(const lcdc_source *source)
{
    return source ? &source->verdict : NULL;
}

void lcdc_source_free(lcdc_source *source)
{
    if (!source)
        return;
    if (source->handle)
        lc_source_backend(source)->close(source->handle);
    lc_free(source->verdict.reason);
    lc_free(source->verdict.json);
    lc_free(source->verdict.failure);
    lcdc_error_free(source->problem);
    if (source->shared.object)
        source->shared.release(source->shared.object);
    lcdc_request_free(source->located);
    lcdc_request_free(source->request);
    lc_arena_done(&source->arena);
    lc_free(source);
}
