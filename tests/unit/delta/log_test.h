/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log_test.h - a Delta log in memory, written as text.
 */
#ifndef TESTS_UNIT_DELTA_LOG_TEST_H
#define TESTS_UNIT_DELTA_LOG_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "delta/table.h"
#include "support/memory_storage.h"
#include "support/torture.h"

#define LOG_PROTOCOL "{\"protocol\":{\"minReaderVersion\":1,\"minWriterVersion\":2}}\n"
#define LOG_METADATA_OF(id, properties)                                                                                \
    "{\"metaData\":{\"id\":\"" id "\",\"schemaString\":\"{\\\"type\\\":\\\"struct\\\",\\\"fields\\\":[]}\","           \
    "\"partitionColumns\":[],\"configuration\":{" properties "}}}\n"
#define LOG_METADATA LOG_METADATA_OF("t", "")
#define LOG_ADD(path) "{\"add\":{\"path\":\"" path "\",\"partitionValues\":{},\"size\":1,\"dataChange\":true}}\n"
#define LOG_REMOVE(path) "{\"remove\":{\"path\":\"" path "\",\"dataChange\":true}}\n"
#define LOG_INFO(ts) "{\"commitInfo\":{\"inCommitTimestamp\":" #ts ",\"operation\":\"WRITE\"}}\n"

static inline void log_put(struct lc_storage *storage, const char *name, const char *text)
{
    char path[200];
    snprintf(path, sizeof(path), "/t/_delta_log/%s", name);
    assert_int_equal(lc_memory_storage_add_text(storage, path, text, NULL), LCDC_OK);
}

/** Each file added is a millisecond younger than the one before it. */
static inline void log_commit(struct lc_storage *storage, int64_t version, const char *text)
{
    char name[40];
    snprintf(name, sizeof(name), "%020lld.json", (long long)version);
    log_put(storage, name, text);
}

static inline void log_remove(struct lc_storage *storage, const char *name)
{
    char path[200];
    snprintf(path, sizeof(path), "/t/_delta_log/%s", name);
    assert_true(lc_memory_storage_remove(storage, path));
}

static inline struct lc_delta_log *log_open(struct lc_storage *storage)
{
    struct lc_delta_log *log = NULL;
    LC_ERROR lcdc_error *err = NULL;
    if (lc_delta_log_open(storage, "/t", &log, &err) != LCDC_OK)
        fail_msg("%s", lcdc_error_message(err));
    return log;
}

#define LOG LC_CLEANUP(lc_delta_log_freep)
#define STORAGE LC_CLEANUP(lc_storage_freep)

static inline struct lc_storage *log_storage(void)
{
    struct lc_storage *storage = NULL;
    assert_int_equal(lc_memory_storage(&storage, NULL), LCDC_OK);
    return storage;
}

#endif
