/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/kafka_link.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/log.h"

enum { STEP_MS = 200, REACH_MS = 10000, TOPIC_MS = 5000, MAX_PROPERTY = 8192 };

/* ---- failures ---- */

static enum lc_reason reason_of(rd_kafka_resp_err_t error)
{
    switch ((int)error) {
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
    case RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION:
        return LC_R_KAFKA_TOPIC;
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE:
        return LC_R_KAFKA_TOO_LARGE;
    case RD_KAFKA_RESP_ERR__AUTHENTICATION:
    case RD_KAFKA_RESP_ERR__SSL:
    case RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED:
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
        return LC_R_KAFKA_DENIED;
    case RD_KAFKA_RESP_ERR__FENCED:
    case RD_KAFKA_RESP_ERR_PRODUCER_FENCED:
    case RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH:
        return LC_R_KAFKA_FENCED;
    case RD_KAFKA_RESP_ERR__TRANSPORT:
    case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
    case RD_KAFKA_RESP_ERR__RESOLVE:
    case RD_KAFKA_RESP_ERR__MSG_TIMED_OUT:
    case RD_KAFKA_RESP_ERR__TIMED_OUT:
    case RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT:
    case RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION:
    case RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS:
    case RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND:
    case RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE:
        return LC_R_KAFKA_UNAVAILABLE;
    default:
        return LC_R_KAFKA_FAILED;
    }
}

static bool is_denied(rd_kafka_resp_err_t error)
{
    return reason_of(error) == LC_R_KAFKA_DENIED;
}

/* Where the client had trouble with its brokers meanwhile, that is the better reason. */
static lcdc_status fail(const struct lc_kafka_link *self, rd_kafka_resp_err_t error, const char *doing,
                        lcdc_error **err)
{
    bool told = self->trouble && (is_denied(self->trouble) || reason_of(error) == LC_R_KAFKA_UNAVAILABLE);
    return lc_fail(err, reason_of(told && is_denied(self->trouble) ? self->trouble : error),
                   "kafka topic %.250s: %s: %s%s%s", self->settings.topic, doing, rd_kafka_err2str(error),
                   told ? "; " : "", told ? self->trouble_text : "");
}

static lcdc_status cancelled(const struct lc_kafka_link *self, lcdc_error **err)
{
    return self->settings.cancelled && *self->settings.cancelled
               ? lc_fail(err, LC_R_CANCELLED, "the delivery was cancelled")
               : LCDC_OK;
}

static int64_t clock_ms(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- what the client says, always from inside a call to it ---- */

static void on_delivery(rd_kafka_t *client, const rd_kafka_message_t *message, void *opaque)
{
    struct lc_kafka_link *self = opaque;
    (void)client;
    self->answered++;
    if (message->err && !self->error)
        self->error = message->err;
}

static void on_error(rd_kafka_t *client, int error, const char *text, void *opaque)
{
    struct lc_kafka_link *self = opaque;
    size_t n = strnlen(text, sizeof(self->trouble_text) - 1);
    (void)client;
    if (self->trouble && is_denied(self->trouble) && !is_denied((rd_kafka_resp_err_t)error))
        return; /* "all brokers down" follows what kept it from them */
    self->trouble = (rd_kafka_resp_err_t)error;
    memcpy(self->trouble_text, text, n);
    self->trouble_text[n] = 0;
    for (char *p = self->trouble_text; *p; p++)
        if (*p == '\n')
            *p = ' ';
}

static void on_log(const rd_kafka_t *client, int level, const char *facility, const char *text)
{
    (void)client;
    (void)level;
    lc_log(LCDC_LOG_DEBUG, "lakecdc.kafka", "%s: %s", facility, text);
}

/* ---- settings ---- */

/* What the sink decides itself, and what would load code or turn the log's secrets on. */
static bool is_reserved(struct lc_str key)
{
    static const char *const keys[] = {"bootstrap.servers",
                                       "metadata.broker.list",
                                       "enable.idempotence",
                                       "acks",
                                       "transactional.id",
                                       "request.required.acks",
                                       "enable.gapless.guarantee",
                                       "message.timeout.ms",
                                       "delivery.timeout.ms",
                                       "plugin.library.paths",
                                       "ssl.engine.location",
                                       "ssl.providers",
                                       "interceptors",
                                       "log.queue",
                                       "opaque",
                                       "debug"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (lc_str_is(key, keys[i]))
            return true;
    return lc_str_starts(key, "test.") || lc_str_ends(key, "_cb");
}

static struct lc_str trim(struct lc_str text)
{
    while (text.n && (*text.p == ' ' || *text.p == '\t' || *text.p == '\r'))
        text = (struct lc_str){text.p + 1, text.n - 1};
    while (text.n && strchr(" \t\r", text.p[text.n - 1]))
        text.n--;
    return text;
}

/* Never with the value: it may be a secret. */
static lcdc_status set(rd_kafka_conf_t *conf, const char *key, const char *value, lcdc_error **err)
{
    char ignored[512];
    rd_kafka_conf_res_t result = rd_kafka_conf_set(conf, key, value, ignored, sizeof(ignored));
    if (result == RD_KAFKA_CONF_OK)
        return LCDC_OK;
    return lc_fail(err, LC_R_OPTION_VALUE,
                   result == RD_KAFKA_CONF_UNKNOWN ? "kafka: librdkafka has no property '%.100s'"
                                                   : "kafka: the value of property '%.100s' is not one that it takes",
                   key);
}

static lcdc_status set_line(rd_kafka_conf_t *conf, struct lc_str line, lcdc_error **err)
{
    char text[MAX_PROPERTY];
    const char *equals = line.n ? memchr(line.p, '=', line.n) : NULL;
    if (line.n == 0 || line.p[0] == '#')
        return LCDC_OK;
    if (!equals)
        return lc_fail(err, LC_R_OPTION_VALUE, "kafka: a line of properties has no '=', expected KEY=VALUE");
    struct lc_str key = trim((struct lc_str){line.p, (size_t)(equals - line.p)});
    struct lc_str value = trim((struct lc_str){equals + 1, line.n - (size_t)(equals + 1 - line.p)});
    if (is_reserved(key))
        return lc_fail(err, LC_R_OPTION_VALUE, "kafka: property '%.*s' is not to be set: the sink decides it",
                       LC_STR_ARG(key));
    if (key.n + value.n + 2 > sizeof(text))
        return lc_fail(err, LC_R_OPTION_VALUE, "kafka: property '%.*s' is too long", LC_STR_ARG(key));
    memcpy(text, key.p, key.n);
    text[key.n] = 0;
    if (value.n)
        memcpy(text + key.n + 1, value.p, value.n);
    text[key.n + 1 + value.n] = 0;
    return set(conf, text, text + key.n + 1, err);
}

static lcdc_status set_lines(rd_kafka_conf_t *conf, const char *lines, lcdc_error **err)
{
    for (const char *p = lines; p && *p;) {
        size_t n = strcspn(p, "\n");
        LC_TRY(set_line(conf, trim((struct lc_str){p, n}), err));
        p += n + (p[n] == '\n');
    }
    return LCDC_OK;
}

static lcdc_status fill_conf(const struct lc_kafka_settings *settings, rd_kafka_conf_t *conf, lcdc_error **err)
{
    const char *const optional[][2] = {
        {"security.protocol", settings->security}, {"sasl.mechanism", settings->mechanism},
        {"sasl.username", settings->username},     {"sasl.password", settings->password},
        {"ssl.ca.location", settings->ca_file},    {"transactional.id", settings->transactional_id}};
    LC_BUF struct lc_buf timeout = {0};
    LC_TRY(set(conf, "client.id", "lakecdc", err));
    LC_TRY(set(conf, "queue.buffering.max.kbytes", "65536", err)); /* memory; what properties say wins */
    LC_TRY(set_lines(conf, settings->properties, err));
    LC_TRY(set(conf, "bootstrap.servers", settings->brokers, err));
    LC_TRY(set(conf, "enable.idempotence", "true", err));
    LC_TRY(set(conf, "log.queue", "true", err));
    for (size_t i = 0; i < sizeof(optional) / sizeof(optional[0]); i++)
        if (optional[i][1])
            LC_TRY(set(conf, optional[i][0], optional[i][1], err));
    lc_buf_init(&timeout, 64);
    lc_buf_printf(&timeout, "%" PRId64, settings->timeout_ms);
    LC_TRY_BUF(&timeout);
    if (settings->transactional_id)
        LC_TRY(set(conf, "transaction.timeout.ms", timeout.p, err));
    return set(conf, "message.timeout.ms", timeout.p, err);
}

lcdc_status lc_kafka_check_settings(const struct lc_kafka_settings *settings, lcdc_error **err)
{
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    LC_TRY_ALLOC(conf);
    lcdc_status status = fill_conf(settings, conf, err);
    rd_kafka_conf_destroy(conf);
    return status;
}

/* ---- opening ---- */

void lc_kafka_close(struct lc_kafka_link *self)
{
    if (!self->client)
        return;
    (void)rd_kafka_purge(self->client, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
    (void)rd_kafka_flush(self->client, 0);
    rd_kafka_destroy(self->client);
    self->client = NULL;
}

static lcdc_status make_client(struct lc_kafka_link *self, lcdc_error **err)
{
    char text[512] = "";
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    LC_TRY_ALLOC(conf);
    lcdc_status status = fill_conf(&self->settings, conf, err);
    if (status != LCDC_OK) {
        rd_kafka_conf_destroy(conf);
        return status;
    }
    rd_kafka_conf_set_opaque(conf, self);
    rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
    rd_kafka_conf_set_error_cb(conf, on_error);
    rd_kafka_conf_set_log_cb(conf, on_log);
    self->client = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof(text));
    if (!self->client) {
        rd_kafka_conf_destroy(conf); /* it is the client's only when there is one */
        return lc_fail(err, LC_R_OPTION_VALUE, "kafka: the settings do not go together: %s", text);
    }
    (void)rd_kafka_set_log_queue(self->client, NULL);
    return LCDC_OK;
}

/* Asks for the topic until it is there. A cluster that makes topics on its own needs a moment to do so. */
static lcdc_status find_topic(struct lc_kafka_link *self, lcdc_error **err)
{
    int64_t began = clock_ms();
    rd_kafka_topic_t *topic = rd_kafka_topic_new(self->client, self->settings.topic, NULL);
    rd_kafka_resp_err_t error = topic ? RD_KAFKA_RESP_ERR__TIMED_OUT : rd_kafka_last_error();
    lcdc_status status = topic ? LCDC_OK : fail(self, error, "is not a topic's name", err);
    for (int64_t reached = -1; topic && error && status == LCDC_OK;) {
        const struct rd_kafka_metadata *metadata = NULL;
        status = cancelled(self, err);
        if (status != LCDC_OK)
            break;
        error = rd_kafka_metadata(self->client, 0, topic, &metadata, STEP_MS * 2);
        if (!error && metadata->topic_cnt == 1) {
            error = metadata->topics[0].err;
            reached = reached < 0 ? clock_ms() : reached;
        }
        if (metadata)
            rd_kafka_metadata_destroy(metadata);
        (void)rd_kafka_poll(self->client, error ? STEP_MS : 0);
        int64_t now = clock_ms();
        bool late = reached < 0 ? now - began > REACH_MS : now - reached > TOPIC_MS;
        if (error && (late || is_denied(error) || is_denied(self->trouble)))
            status = fail(self, error, reached < 0 ? "no broker was reached" : "cannot be written", err);
    }
    if (topic)
        rd_kafka_topic_destroy(topic);
    return status;
}

/* Calls of the transactional kind: they may be asked again after a time-out, where they go on. */
static lcdc_status settle(struct lc_kafka_link *self, rd_kafka_error_t *(*call)(rd_kafka_t *, int), const char *doing,
                          lcdc_error **err)
{
    int64_t began = clock_ms();
    for (;;) {
        LC_TRY(cancelled(self, err));
        rd_kafka_error_t *error = call(self->client, STEP_MS * 2);
        if (!error)
            return LCDC_OK;
        rd_kafka_resp_err_t code = rd_kafka_error_code(error);
        bool again = rd_kafka_error_is_retriable(error) && clock_ms() - began < self->settings.timeout_ms;
        rd_kafka_error_destroy(error);
        if (!again)
            return fail(self, code, doing, err);
        (void)rd_kafka_poll(self->client, 0);
    }
}

lcdc_status lc_kafka_open(struct lc_kafka_link *self, lcdc_error **err)
{
    self->sent = self->answered = 0;
    self->error = self->trouble = RD_KAFKA_RESP_ERR_NO_ERROR;
    LC_TRY(make_client(self, err));
    lcdc_status status = find_topic(self, err);
    if (status == LCDC_OK && self->settings.transactional_id)
        status = settle(self, rd_kafka_init_transactions, "transactions cannot be begun", err);
    if (status != LCDC_OK)
        lc_kafka_close(self);
    return status;
}

/* ---- a window ---- */

lcdc_status lc_kafka_begin(struct lc_kafka_link *self, lcdc_error **err)
{
    if (!self->client)
        LC_TRY(lc_kafka_open(self, err));
    self->error = self->trouble = RD_KAFKA_RESP_ERR_NO_ERROR;
    if (!self->settings.transactional_id)
        return LCDC_OK;
    rd_kafka_error_t *error = rd_kafka_begin_transaction(self->client);
    if (!error)
        return LCDC_OK;
    rd_kafka_resp_err_t code = rd_kafka_error_code(error);
    rd_kafka_error_destroy(error);
    return fail(self, code, "the transaction cannot be begun", err);
}

/* rd_kafka_produceva() of librdkafka up to 2.1 frees the headers twice where a topic is in error. */
static rd_kafka_resp_err_t produce(struct lc_kafka_link *self, struct lc_str key, struct lc_str value, const char *id)
{
    return __extension__ rd_kafka_producev(
        self->client, RD_KAFKA_V_TOPIC(self->settings.topic), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
        RD_KAFKA_V_KEY(key.p, key.n), RD_KAFKA_V_VALUE((void *)(uintptr_t)value.p, value.n),
        RD_KAFKA_V_HEADER("lakecdc.event_id", id, (ssize_t)strlen(id)), RD_KAFKA_V_END);
}

lcdc_status lc_kafka_send(struct lc_kafka_link *self, struct lc_str key, struct lc_str value, const char *id,
                          lcdc_error **err)
{
    for (;;) {
        LC_TRY(cancelled(self, err));
        if (self->error)
            return fail(self, self->error, "a message was not delivered", err);
        rd_kafka_resp_err_t error = produce(self, key, value, id);
        self->sent += !error;
        if (error && error != RD_KAFKA_RESP_ERR__QUEUE_FULL) {
            self->error = error;
            return fail(self, error, "a message cannot be sent", err);
        }
        (void)rd_kafka_poll(self->client, error ? STEP_MS : 0);
        if (!error)
            return LCDC_OK;
    }
}

lcdc_status lc_kafka_finish(struct lc_kafka_link *self, lcdc_error **err)
{
    while (self->answered < self->sent && !self->error) {
        LC_TRY(cancelled(self, err));
        (void)rd_kafka_flush(self->client, STEP_MS);
    }
    if (self->error)
        return fail(self, self->error, "a message was not delivered", err);
    if (self->settings.transactional_id)
        return settle(self, rd_kafka_commit_transaction, "the transaction was not committed", err);
    return LCDC_OK;
}

void lc_kafka_give_up(struct lc_kafka_link *self)
{
    char ignored[8];
    if (!self->client)
        return;
    bool is_over = rd_kafka_fatal_error(self->client, ignored, sizeof(ignored)) != RD_KAFKA_RESP_ERR_NO_ERROR;
    if (!is_over && self->answered < self->sent) {
        (void)rd_kafka_purge(self->client, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
        (void)rd_kafka_flush(self->client, STEP_MS);
    }
    if (!is_over && self->settings.transactional_id) {
        rd_kafka_error_t *error = rd_kafka_abort_transaction(self->client, STEP_MS * 2);
        is_over = error != NULL;
        if (error)
            rd_kafka_error_destroy(error);
    }
    /* what it knows of a topic that it may not write, or that was not there, it keeps for long */
    bool knows_better = is_denied(self->error) || reason_of(self->error) == LC_R_KAFKA_TOPIC;
    if (is_over || knows_better || self->answered < self->sent)
        lc_kafka_close(self); /* the next window makes another */
}
