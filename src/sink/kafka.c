/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kafka.c - the "kafka" sink: one message per change row, in Debezium's envelope.
 *
 * A window is delivered when every message of it was acknowledged. A crash before the cursor moved sends it again, with
 * the same event ids.
 */
#include <string.h>

#include "sink/kafka_event.h"
#include "sink/kafka_link.h"

enum { MAX_TOPIC = 249, MAX_TIMEOUT_MS = 900000 };

static const struct lc_sink_option options[] = {
    {.key = "brokers", .required = true, .help = "host:port of one or more brokers, with commas between them"},
    {.key = "topic", .help = "the topic; default: the table's name"},
    {.key = "name", .initial = "lakecdc", .help = "source.name in the envelope"},
    {.key = "schemas", .initial = "false", .words = "true false", .help = "a Kafka Connect schema in every message"},
    {.key = "tombstones", .initial = "false", .words = "true false", .help = "a null value after each delete of a key"},
    {.key = "transactional_id", .help = "deliver each commit in a transaction under this id of its own"},
    {.key = "timeout_ms", .initial = "60000", .help = "until a message without an answer is a failure"},
    {.key = "security_protocol", .words = "plaintext ssl sasl_plaintext sasl_ssl", .help = "how brokers are talked to"},
    {.key = "sasl_mechanism", .help = "PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or another that librdkafka has"},
    {.key = "username", .help = "for SASL"},
    {.key = "password", .help = "for SASL; it is never logged"},
    {.key = "ca_file", .help = "certificate authorities for TLS, as PEM"},
    {.key = "properties", .help = "more properties of librdkafka, a line KEY=VALUE each"},
};

struct kafka {
    struct lc_sink sink;
    const struct lc_sink_setup *setup;
    struct lc_kafka_link link;
    struct lc_event_maker *maker;
    bool tombstones;
};

static const char *setting(const struct lc_sink_setup *setup, const char *key)
{
    const char *text = lc_sink_setting(&lc_sink_kafka, setup, key);
    return text && *text ? text : NULL;
}

static bool is_on(const struct lc_sink_setup *setup, const char *key)
{
    const char *text = setting(setup, key);
    return text && strcmp(text, "true") == 0;
}

static lcdc_status check_topic(const char *topic, lcdc_error **err)
{
    size_t n = strlen(topic);
    size_t good = strspn(topic, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");
    if (n > 0 && n <= MAX_TOPIC && good == n && strcmp(topic, ".") != 0 && strcmp(topic, "..") != 0)
        return LCDC_OK;
    return lc_fail(err, LC_R_OPTION_VALUE,
                   "kafka: topic is '%.250s', expected 1 to %d letters, digits, '.', '_' or '-'; name it with topic",
                   topic, (int)MAX_TOPIC);
}

static lcdc_status read_settings(const struct lc_sink_setup *setup, struct lc_kafka_settings *out, lcdc_error **err)
{
    const char *timeout = setting(setup, "timeout_ms");
    *out = (struct lc_kafka_settings){.brokers = setting(setup, "brokers"),
                                      .topic = setting(setup, "topic"),
                                      .transactional_id = setting(setup, "transactional_id"),
                                      .security = setting(setup, "security_protocol"),
                                      .mechanism = setting(setup, "sasl_mechanism"),
                                      .username = setting(setup, "username"),
                                      .password = setting(setup, "password"),
                                      .ca_file = setting(setup, "ca_file"),
                                      .properties = setting(setup, "properties"),
                                      .cancelled = setup->cancelled};
    if (!out->topic)
        out->topic = setup->table;
    if (!out->brokers)
        return lc_fail(err, LC_R_OPTION_VALUE, "kafka: brokers is missing, expected host:port");
    LC_TRY(check_topic(out->topic, err));
    if (!timeout || !lc_parse_i64(lc_str_of(timeout), &out->timeout_ms) || out->timeout_ms < 1000 ||
        out->timeout_ms > MAX_TIMEOUT_MS)
        return lc_fail(err, LC_R_OPTION_VALUE, "kafka: timeout_ms is '%.100s', expected 1000 to %d",
                       timeout ? timeout : "", (int)MAX_TIMEOUT_MS);
    return lc_kafka_check_settings(out, err);
}

static void kafka_close(struct lc_sink *sink)
{
    struct kafka *self = (struct kafka *)sink;
    if (!self)
        return;
    lc_kafka_close(&self->link);
    lc_event_maker_free(self->maker);
    lc_free(self);
}

static lcdc_status prepare(struct kafka *self, lcdc_error **err)
{
    const struct lc_sink_setup *setup = self->setup;
    LC_TRY(read_settings(setup, &self->link.settings, err));
    self->tombstones = is_on(setup, "tombstones");
    LC_TRY(lc_event_maker_new(setup, setting(setup, "name"), is_on(setup, "schemas"), &self->maker, err));
    return lc_kafka_open(&self->link, err);
}

static lcdc_status kafka_open(const struct lc_sink_setup *setup, struct lc_sink **out, lcdc_error **err)
{
    struct kafka *self = lc_calloc(1, sizeof(*self));
    LC_TRY_ALLOC(self);
    self->sink.ops = &lc_sink_kafka;
    self->setup = setup;
    lcdc_status status = prepare(self, err);
    if (status != LCDC_OK)
        kafka_close(&self->sink);
    else
        *out = &self->sink;
    return status;
}

static lcdc_status kafka_begin(struct lc_sink *sink, const struct lc_window *window, lcdc_error **err)
{
    struct kafka *self = (struct kafka *)sink;
    lc_event_maker_begin(self->maker, window);
    return lc_kafka_begin(&self->link, err);
}

static lcdc_status kafka_write(struct lc_sink *sink, const struct ArrowArray *rows, lcdc_error **err)
{
    struct kafka *self = (struct kafka *)sink;
    for (int64_t i = 0; i < rows->length; i++) {
        struct lc_event event;
        char id[LC_EVENT_ID + 16];
        LC_TRY(lc_event_make(self->maker, rows, i, &event, err));
        LC_TRY(lc_kafka_send(&self->link, event.key, event.value, event.id, err));
        if (!self->tombstones || !event.removes || !event.key.p)
            continue;
        size_t n = strlen(event.id);
        memcpy(id, event.id, n);
        memcpy(id + n, "-tombstone", sizeof("-tombstone"));
        LC_TRY(lc_kafka_send(&self->link, event.key, (struct lc_str){0}, id, err));
    }
    return LCDC_OK;
}

static lcdc_status kafka_commit(struct lc_sink *sink, const char *cursor, lcdc_error **err)
{
    (void)cursor; /* Kafka keeps no state of the sink's; the ledger does */
    return lc_kafka_finish(&((struct kafka *)sink)->link, err);
}

static void kafka_abort(struct lc_sink *sink)
{
    lc_kafka_give_up(&((struct kafka *)sink)->link);
}

const struct lc_sink_ops lc_sink_kafka = {.name = "kafka",
                                          .delivery = LC_DELIVERY_AT_LEAST_ONCE,
                                          .n_options = sizeof(options) / sizeof(options[0]),
                                          .options = options,
                                          .wants_folded = true,
                                          .open = kafka_open,
                                          .begin = kafka_begin,
                                          .write = kafka_write,
                                          .commit = kafka_commit,
                                          .abort = kafka_abort,
                                          .close = kafka_close};
