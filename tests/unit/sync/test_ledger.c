/* SPDX-License-Identifier: Apache-2.0 */
/* test_ledger.c - states as JSON and back, the file, the lock, what a person sets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "sync/ledger.h"

#define CURSOR "lakecdc1/delta/7/00000000000000ff/some/table id"

struct place {
    char folder[64], path[96];
};

static int set_up(void **state)
{
    struct place *place = calloc(1, sizeof(*place));
    (void)snprintf(place->folder, sizeof(place->folder), "/tmp/lakecdc-ledger-XXXXXX");
    if (!mkdtemp(place->folder))
        return -1;
    (void)snprintf(place->path, sizeof(place->path), "%s/ledger.db", place->folder);
    *state = place;
    return 0;
}

static int tear_down(void **state)
{
    struct place *place = *state;
    static const char *const endings[] = {"", "-wal", "-shm", ".lock"};
    for (size_t i = 0; i < 4; i++) {
        char path[128];
        (void)snprintf(path, sizeof(path), "%s%s", place->path, endings[i]);
        (void)unlink(path);
    }
    (void)rmdir(place->folder);
    free(place);
    return 0;
}

static lcdc_ledger *opened(const char *path, bool writes)
{
    lcdc_ledger *ledger = NULL;
    lcdc_error *err LC_ERROR = NULL;
    if (lcdc_ledger_open(path, writes, &ledger, &err) != LCDC_OK)
        fail_msg("%s", lcdc_error_message(err));
    return ledger;
}

static void fill(struct lc_state *state)
{
    lc_state_init(state);
    state->kind = LC_STATE_EXPIRED;
    state->restart = state->forced = state->agreed = true;
    state->rows = INT64_MAX;
    state->commits = 3;
    state->windows = 2;
    state->snapshots = 1;
    state->failures = 4;
    state->commit_id = 5;
    state->commit_at = INT64_C(1700000000123456);
    state->error_at = state->success_at = state->updated_at = INT64_C(1700000001000000);
    assert_int_equal(lc_state_text(&state->cursor, CURSOR, NULL), LCDC_OK);
    assert_int_equal(lc_state_text(&state->delivered, "d", NULL), LCDC_OK);
    assert_int_equal(lc_state_text(&state->verdict, "{\"chosen\":\"direct\"}", NULL), LCDC_OK);
    assert_int_equal(lc_state_text(&state->table_id, "\"\\\n\xC3\xA4", NULL), LCDC_OK);
    assert_int_equal(lc_state_text(&state->columns, "[[\"a\",\"int\"]]", NULL), LCDC_OK);
    assert_int_equal(lc_state_text(&state->error_reason, "io.failed", NULL), LCDC_OK);
    assert_int_equal(lc_state_text(&state->error_message, "no", NULL), LCDC_OK);
}

static void a_state_comes_back_as_it_was(void **state)
{
    (void)state;
    LC_STATE struct lc_state full, empty, again;
    LC_BUF struct lc_buf first = {.max = 1 << 16}, second = {.max = 1 << 16};
    lc_state_init(&empty);
    lc_state_init(&again);
    fill(&full);
    const struct lc_state *const both[] = {&full, &empty};
    for (size_t i = 0; i < 2; i++) {
        lc_state_done(&again);
        lc_buf_clear(&first);
        lc_buf_clear(&second);
        lc_state_print(both[i], "t\"1", &first);
        assert_int_equal(lc_state_parse((struct lc_str){first.p, first.n}, "t", &again, NULL), LCDC_OK);
        lc_state_print(&again, "t\"1", &second);
        assert_string_equal(first.p, second.p);
        assert_null(strchr(first.p, '\n'));
    }
    assert_null(again.cursor);
    assert_int_equal(again.commit_id, -1);
}

static void states_that_are_none(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "{", "[]", "{}", "{\"state\":1}", "{\"state\":\"happy\"}"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        LC_STATE struct lc_state out;
        lcdc_error *err LC_ERROR = NULL;
        lc_state_init(&out);
        assert_int_equal(lc_state_parse(lc_str_of(texts[i]), "t", &out, &err), LCDC_CORRUPT);
        assert_string_equal(lcdc_error_reason(err), "ledger.bad");
    }
}

static void rows_stay(void **state)
{
    const struct place *place = *state;
    LC_STATE struct lc_state full, again;
    bool found = true;
    lcdc_ledger *ledger = opened(place->path, true);
    lc_state_init(&again);
    fill(&full);
    assert_int_equal(lc_ledger_load(ledger, "t", &again, &found, NULL), LCDC_OK);
    assert_false(found);
    assert_int_equal(lc_ledger_save(ledger, "t", &full, NULL), LCDC_OK);
    full.rows = 9;
    assert_int_equal(lc_ledger_save(ledger, "t", &full, NULL), LCDC_OK);
    lcdc_ledger_free(ledger);
    ledger = opened(place->path, false);
    assert_int_equal(lc_ledger_load(ledger, "t", &again, &found, NULL), LCDC_OK);
    assert_true(found);
    assert_int_equal(again.rows, 9);
    assert_string_equal(again.cursor, CURSOR);
    assert_int_equal(lc_ledger_save(ledger, "t", &full, NULL), LCDC_INTERNAL); /* opened for reading */
    lcdc_ledger_free(ledger);
}

static void one_writer_many_readers(void **state)
{
    const struct place *place = *state;
    lcdc_ledger *writer = opened(place->path, true), *other = NULL;
    lcdc_error *err LC_ERROR = NULL;
    char wanted[64];
    lcdc_ledger *reader = opened(place->path, false);
    assert_int_equal(lcdc_ledger_open(place->path, true, &other, &err), LCDC_UNAVAILABLE);
    assert_string_equal(lcdc_error_reason(err), "ledger.in_use");
    (void)snprintf(wanted, sizeof(wanted), "in use by process %ld on host ", (long)getpid());
    assert_non_null(strstr(lcdc_error_message(err), wanted));
    assert_non_null(strstr(lcdc_error_message(err), " since 2"));
    lcdc_ledger_free(writer);
    lcdc_ledger_free(reader);
    lcdc_ledger_free(opened(place->path, true));
}

static void a_process_that_dies_lets_go(void **state)
{
    const struct place *place = *state;
    pid_t child = fork();
    if (child == 0) {
        lcdc_ledger *ledger = NULL;
        _exit(lcdc_ledger_open(place->path, true, &ledger, NULL) == LCDC_OK ? 0 : 1);
    }
    int status = 1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    lcdc_ledger_free(opened(place->path, true));
}

static void files_that_are_no_ledger(void **state)
{
    const struct place *place = *state;
    lcdc_ledger *ledger = NULL;
    lcdc_error *err LC_ERROR = NULL;
    assert_int_equal(lcdc_ledger_open(place->path, false, &ledger, &err), LCDC_NOT_FOUND);
    FILE *file = fopen(place->path, "w");
    for (int i = 0; i < 200; i++)
        (void)fputs("this is no database. ", file);
    (void)fclose(file);
    assert_int_equal(lcdc_ledger_open(place->path, true, &ledger, &err), LCDC_CORRUPT);
    assert_string_equal(lcdc_error_reason(err), "ledger.bad");
}

static struct lc_state loaded(lcdc_ledger *ledger, const char *table)
{
    struct lc_state state;
    bool found = false;
    lc_state_init(&state);
    assert_int_equal(lc_ledger_load(ledger, table, &state, &found, NULL), LCDC_OK);
    assert_true(found);
    return state;
}

static void what_a_person_sets(void **state)
{
    const struct place *place = *state;
    lcdc_error *err LC_ERROR = NULL;
    lcdc_ledger *ledger = opened(place->path, true);
    LC_STATE struct lc_state full, found;
    fill(&full);
    assert_int_equal(lcdc_ledger_reset(ledger, "t", &err), LCDC_NOT_FOUND);
    assert_int_equal(lcdc_ledger_set_cursor(ledger, "t", "nonsense", &err), LCDC_INVALID_ARGUMENT);
    assert_int_equal(lcdc_ledger_set_cursor(ledger, "t", CURSOR, &err), LCDC_OK); /* it need not be there */
    found = loaded(ledger, "t");
    assert_true(found.forced && found.kind == LC_STATE_ACTIVE && found.commit_id == 7);
    lc_state_done(&found);
    full.kind = LC_STATE_SCHEMA_CHANGED;
    assert_int_equal(lc_ledger_save(ledger, "t", &full, NULL), LCDC_OK);
    assert_int_equal(lcdc_ledger_resume(ledger, "t", &err), LCDC_OK);
    found = loaded(ledger, "t");
    assert_true(found.kind == LC_STATE_ACTIVE && !found.columns && !found.error_message && found.failures == 0);
    assert_string_equal(found.cursor, CURSOR);
    lc_state_done(&found);
    assert_int_equal(lcdc_ledger_pause(ledger, "t", &err), LCDC_OK);
    assert_int_equal(lcdc_ledger_reset(ledger, "t", &err), LCDC_OK);
    found = loaded(ledger, "t");
    assert_true(found.kind == LC_STATE_NEW && found.restart && !found.forced && !found.agreed && !found.cursor &&
                found.rows == 0);
    lcdc_ledger_free(ledger);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_state_comes_back_as_it_was),
        cmocka_unit_test(states_that_are_none),
        cmocka_unit_test_setup_teardown(rows_stay, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_writer_many_readers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_process_that_dies_lets_go, set_up, tear_down),
        cmocka_unit_test_setup_teardown(files_that_are_no_ledger, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_a_person_sets, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
