/* SPDX-License-Identifier: Apache-2.0 */
/* The kafka sink against librdkafka's own mock cluster: what each answer of a broker comes to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include "sink/sink.h"
#include "support/json_rows.h"

enum { PRODUCE = 0, METADATA = 3 };

struct bench {
    rd_kafka_t *client;
    rd_kafka_mock_cluster_t *cluster;
    struct lc_field columns[2], images, row, row_columns[LCDC_COLS];
    struct ArrowSchema schema;
    size_t identity;
    struct lc_sink_setting settings[4];
    struct lc_sink_setup setup;
    _Atomic int cancelled;
};

static struct lc_field field(const char *name, enum lc_type_kind kind)
{
    return (struct lc_field){.name = name, .physical = name, .id = LC_NO_ID, .nullable = true, .type.kind = kind};
}

static int make_bench(void **state)
{
    static const char *const names[LCDC_COLS] = {"op", "before", "after", "snapshot", "ts"};
    static const enum lc_type_kind kinds[LCDC_COLS] = {LC_TYPE_STRING, LC_TYPE_STRUCT, LC_TYPE_STRUCT, LC_TYPE_INT64,
                                                       LC_TYPE_TIMESTAMP_TZ};
    char text[256];
    struct bench *bench = lc_calloc(1, sizeof(*bench));
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    if (!bench || !conf)
        return -1;
    bench->client = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof(text));
    bench->cluster = bench->client ? rd_kafka_mock_cluster_new(bench->client, 1) : NULL;
    if (!bench->cluster)
        return -1;
    bench->columns[0] = field("id", LC_TYPE_INT64);
    bench->columns[1] = field("note", LC_TYPE_STRING);
    bench->images = field("", LC_TYPE_STRUCT);
    bench->images.children = bench->columns;
    bench->images.n_children = 2;
    for (int i = 0; i < LCDC_COLS; i++) {
        bench->row_columns[i] = kinds[i] == LC_TYPE_STRUCT ? bench->images : field(names[i], kinds[i]);
        bench->row_columns[i].name = bench->row_columns[i].physical = names[i];
    }
    bench->row = field("", LC_TYPE_STRUCT);
    bench->row.children = bench->row_columns;
    bench->row.n_children = LCDC_COLS;
    if (lc_change_schema(&bench->images, &bench->schema, NULL) != LCDC_OK)
        return -1;
    bench->settings[0] = (struct lc_sink_setting){"brokers", rd_kafka_mock_cluster_bootstraps(bench->cluster)};
    bench->settings[1] = (struct lc_sink_setting){"timeout_ms", "2000"};
    bench->setup = (struct lc_sink_setup){.table = "orders",
                                          .source = "lake",
                                          .schema = &bench->schema,
                                          .images = &bench->images,
                                          .n_identity = 1,
                                          .identity = &bench->identity,
                                          .n_settings = 2,
                                          .settings = bench->settings,
                                          .cancelled = &bench->cancelled};
    *state = bench;
    return 0;
}

static int free_bench(void **state)
{
    struct bench *bench = *state;
    rd_kafka_mock_cluster_destroy(bench->cluster);
    rd_kafka_destroy(bench->client);
    lc_schema_release(&bench->schema);
    lc_free(bench);
    return 0;
}

static struct lc_sink *open_sink(struct bench *bench)
{
    struct lc_sink *sink = NULL;
    lcdc_error *error = NULL;
    if (lc_sink_kafka.open(&bench->setup, &sink, &error) != LCDC_OK)
        fail_msg("%s", lcdc_error_message(error));
    return sink;
}

static lcdc_status deliver(struct bench *bench, struct lc_sink *sink, lcdc_error **err)
{
    static const char rows[] = "[{\"op\":\"insert\",\"before\":null,\"after\":{\"id\":1,\"note\":\"n\"},\"snapshot\":7,"
                               "\"ts\":\"2024-02-29T12:00:00.000000Z\"},"
                               "{\"op\":\"delete\",\"before\":{\"id\":2,\"note\":null},\"after\":null,\"snapshot\":7,"
                               "\"ts\":\"2024-02-29T12:00:00.000000Z\"}]";
    struct lc_window window = {.kind = LC_WINDOW_CHANGES, .snapshot = 7, .ts_us = 0};
    struct ArrowArray array;
    assert_true(json_rows(rows, &bench->row, 1, &array));
    lcdc_status status = sink->ops->begin(sink, &window, err);
    if (status == LCDC_OK)
        status = sink->ops->write(sink, &array, err);
    if (status == LCDC_OK)
        status = sink->ops->commit(sink, "c7", err);
    if (status != LCDC_OK)
        sink->ops->abort(sink);
    array.release(&array);
    return status;
}

static void a_window_is_acknowledged(void **state)
{
    struct lc_sink *sink = open_sink(*state);
    assert_int_equal(deliver(*state, sink, NULL), LCDC_OK);
    assert_int_equal(deliver(*state, sink, NULL), LCDC_OK);
    lc_sink_close(sink);
}

/* What passes is tried again below, and the window is delivered. */
static void a_passing_error_is_not_told(void **state)
{
    struct bench *bench = *state;
    struct lc_sink *sink = open_sink(bench);
    rd_kafka_mock_push_request_errors(bench->cluster, PRODUCE, 2, RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS,
                                      RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION);
    assert_int_equal(deliver(bench, sink, NULL), LCDC_OK);
    lc_sink_close(sink);
}

static void each_error_has_its_reason(void **state)
{
    struct bench *bench = *state;
    static const struct {
        rd_kafka_resp_err_t answer;
        const char *reason;
        bool again;
    } cases[] = {
        {RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, "kafka.denied", false},
        {RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, "kafka.message_too_large", false},
        {RD_KAFKA_RESP_ERR_INVALID_MSG, "kafka.failed", true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        LC_ERROR lcdc_error *error = NULL;
        struct lc_sink *sink = open_sink(bench);
        assert_int_equal(deliver(bench, sink, NULL), LCDC_OK);
        rd_kafka_mock_push_request_errors(bench->cluster, PRODUCE, 1, cases[i].answer);
        assert_int_not_equal(deliver(bench, sink, &error), LCDC_OK);
        assert_string_equal(lcdc_error_reason(error), cases[i].reason);
        assert_int_equal(lcdc_error_retriable(error), cases[i].again);
        rd_kafka_mock_clear_request_errors(bench->cluster, PRODUCE);
        assert_int_equal(deliver(bench, sink, NULL), LCDC_OK);
        lc_sink_close(sink);
    }
}

static void a_broker_that_is_down_is_waited_for_and_told(void **state)
{
    struct bench *bench = *state;
    LC_ERROR lcdc_error *error = NULL;
    struct lc_sink *sink = open_sink(bench);
    rd_kafka_mock_broker_set_down(bench->cluster, 1);
    assert_int_equal(deliver(bench, sink, &error), LCDC_UNAVAILABLE);
    assert_string_equal(lcdc_error_reason(error), "kafka.unavailable");
    assert_true(lcdc_error_retriable(error));
    rd_kafka_mock_broker_set_up(bench->cluster, 1);
    lcdc_status status = LCDC_UNAVAILABLE;
    for (int i = 0; i < 5 && status != LCDC_OK; i++)
        status = deliver(bench, sink, NULL);
    assert_int_equal(status, LCDC_OK);
    lc_sink_close(sink);
}

static void a_cancelled_window_ends(void **state)
{
    struct bench *bench = *state;
    LC_ERROR lcdc_error *error = NULL;
    struct lc_sink *sink = open_sink(bench);
    bench->cancelled = 1;
    assert_int_equal(deliver(bench, sink, &error), LCDC_CANCELLED);
    bench->cancelled = 0;
    assert_int_equal(deliver(bench, sink, NULL), LCDC_OK);
    lc_sink_close(sink);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_window_is_acknowledged, make_bench, free_bench),
        cmocka_unit_test_setup_teardown(a_passing_error_is_not_told, make_bench, free_bench),
        cmocka_unit_test_setup_teardown(each_error_has_its_reason, make_bench, free_bench),
        cmocka_unit_test_setup_teardown(a_broker_that_is_down_is_waited_for_and_told, make_bench, free_bench),
        cmocka_unit_test_setup_teardown(a_cancelled_window_ends, make_bench, free_bench),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
