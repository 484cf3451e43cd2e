/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ledger_config.c - the ledger that a config names.
 *
 * Whoever looks after a ledger need not have what the sync itself is given: of all variables of the environment that
 * the config names, only those of the ledger's own path have to be set.
 */
#include <stdlib.h>

#include "io/storage.h"
#include "lakecdc/sync.h"
#include "sync/config_parts.h"

static const char *from_environment(void *context, const char *name)
{
    (void)context;
    return getenv(name);
}

static lcdc_status find_ledger(struct lc_config *config, struct lc_str text, const char *path, lcdc_error **err)
{
    const struct lc_config_reader reader = {.config = config};
    struct lc_yaml root, *value = NULL;
    LC_TRY(lc_config_set_paths(config, path, err));
    LC_TRY(lc_yaml_parse(text, config->path, NULL, NULL, &config->arena, &root, err));
    LC_TRY(lc_config_expect_map(&reader, "the config", &root, err));
    for (size_t i = 0; i < root.n && !value; i++)
        value = lc_str_is(lc_str_of(root.items[i].key), "ledger") ? &root.items[i].value : NULL;
    const char *place = lc_keys[LC_CONFIG_TOP_ledger].initial;
    if (value) {
        LC_TRY(lc_yaml_expand(value, config->path, from_environment, NULL, &config->arena, err));
        LC_TRY(lc_config_text(&reader, "ledger", value, &place, err));
    }
    return lc_config_place(&reader, place, &config->ledger, err);
}

lcdc_status lcdc_ledger_open_config(const char *config, bool writes, lcdc_ledger **out, lcdc_error **err)
{
    LC_CLEANUP(lc_storage_freep) struct lc_storage *files = NULL;
    LC_CLEANUP(lc_config_done) struct lc_config found = {0};
    LC_BUF struct lc_buf text = {.max = LC_YAML_MAX_BYTES + 1};
    LC_FREE char *place = NULL;
    if (!config || !*config || !out)
        return lc_fail(err, LC_R_OPTION_VALUE, "lcdc_ledger_open_config: a config and an output are needed");
    LC_TRY(lc_location_normalise(config, &place, err));
    LC_TRY(lc_storage_arrow(&files, err));
    LC_TRY(lc_storage_read(files, place, LC_YAML_MAX_BYTES, &text, err));
    LC_TRY(find_ledger(&found, (struct lc_str){text.p ? text.p : "", text.n}, config, err));
    return lcdc_ledger_open(found.ledger, writes, out, err);
}
