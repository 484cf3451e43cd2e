/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kafka_event.h - change rows as messages: key, value in Debezium's envelope, and an id that says which event it is.
 *
 * The id is made of what the event is (table, commit, op, images), not of when or how often it was sent, so a window
 * that is delivered again has the same ids. It knows nothing of Kafka.
 */
#ifndef LC_SINK_KAFKA_EVENT_H
#define LC_SINK_KAFKA_EVENT_H

#include "sink/sink.h"

enum { LC_EVENT_ID = 48 };

struct lc_event {
    struct lc_str key; /* p NULL: none */
    struct lc_str value;
    char id[LC_EVENT_ID];
    bool removes; /* the row is gone: a tombstone may follow */
};

struct lc_event_maker;

/** `name` is the envelope's source.name; `schemas`: with the schema of Kafka Connect in every message. */
lcdc_status lc_event_maker_new(const struct lc_sink_setup *setup, const char *name, bool schemas,
                               struct lc_event_maker **out, lcdc_error **err);
void lc_event_maker_free(struct lc_event_maker *maker);
void lc_event_maker_begin(struct lc_event_maker *maker, const struct lc_window *window);
/** Row `i` of a batch of change rows; texts live until the next call. */
lcdc_status lc_event_make(struct lc_event_maker *maker, const struct ArrowArray *rows, int64_t i, struct lc_event *out,
                          lcdc_error **err);

#endif
