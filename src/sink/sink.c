/* SPDX-License-Identifier: Apache-2.0 */
/* The list of sinks, and what they share. */
#include "sink/sink.h"

#include <string.h>

const struct lc_sink_ops *const lc_sinks[] = {
    &lc_sink_arrow, &lc_sink_jsonl, &lc_sink_kafka, &lc_sink_parquet, &lc_sink_postgresql, &lc_sink_sqlite, NULL,
};

const struct lc_sink_ops *lc_sink_named(const char *name)
{
    for (size_t i = 0; lc_sinks[i]; i++)
        if (strcmp(lc_sinks[i]->name, name) == 0)
            return lc_sinks[i];
    return NULL;
}

const char *lc_sink_setting(const struct lc_sink_ops *ops, const struct lc_sink_setup *setup, const char *key)
{
    for (size_t i = 0; i < setup->n_settings; i++)
        if (strcmp(setup->settings[i].key, key) == 0)
            return setup->settings[i].value;
    for (size_t i = 0; i < ops->n_options; i++)
        if (strcmp(ops->options[i].key, key) == 0)
            return ops->options[i].initial;
    return NULL;
}
