/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kafka_link.h - a producer of librdkafka that says of every failure which kind it is, waits at most half a second at a
 * time, and can be thrown away and made again.
 */
#ifndef LC_SINK_KAFKA_LINK_H
#define LC_SINK_KAFKA_LINK_H

#include <librdkafka/rdkafka.h>

#include "sink/sink.h"

struct lc_kafka_settings {
    const char *brokers, *topic, *transactional_id;
    const char *security, *mechanism, *username, *password, *ca_file;
    const char *properties; /* lines KEY=VALUE for librdkafka; may be NULL */
    int64_t timeout_ms;     /* until a message that is not acknowledged is a failure */
    const _Atomic int *cancelled;
};

struct lc_kafka_link {
    struct lc_kafka_settings settings;
    rd_kafka_t *client; /* NULL: closed */
    int64_t sent, answered;
    rd_kafka_resp_err_t error;   /* of the first message that was not delivered since the last reset */
    rd_kafka_resp_err_t trouble; /* what the client last said of its brokers */
    char trouble_text[512];
};

/** Refuses settings that would take the guarantee away or load code; opens nothing. */
lcdc_status lc_kafka_check_settings(const struct lc_kafka_settings *settings, lcdc_error **err);

/** Makes the producer, reaches a broker, finds the topic, readies transactions. The link does not move afterwards. */
lcdc_status lc_kafka_open(struct lc_kafka_link *link, lcdc_error **err);
void lc_kafka_close(struct lc_kafka_link *link);

lcdc_status lc_kafka_begin(struct lc_kafka_link *link, lcdc_error **err);
/** value.p NULL: a tombstone. Waits while the queue is full. */
lcdc_status lc_kafka_send(struct lc_kafka_link *link, struct lc_str key, struct lc_str value, const char *id,
                          lcdc_error **err);
/** Every message was acknowledged and, with transactions, the transaction is committed. */
lcdc_status lc_kafka_finish(struct lc_kafka_link *link, lcdc_error **err);
/** Forgets what was not delivered; closes the link when it cannot be used any more. */
void lc_kafka_give_up(struct lc_kafka_link *link);

#endif
