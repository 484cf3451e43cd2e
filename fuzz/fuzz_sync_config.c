/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_sync_config.c - a sync config from anywhere, with every sink there is: read or refused with file and line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sync/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *lookup(void *context, const char *name)
{
    (void)context;
    return strlen(name) % 2 ? "value" : NULL;
}

static void check(const struct lc_config *config)
{
    for (size_t i = 0; i < config->n_tables; i++) {
        lcdc_request *request = NULL;
        if (lc_config_request(&config->tables[i], &request, NULL) == LCDC_OK)
            lcdc_request_free(request);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct lc_config_world world = {.sinks = lc_sinks, .lookup = lookup};
    struct lc_config config;
    lcdc_error *err = NULL;
    lcdc_status status = lc_config_parse((struct lc_str){(const char *)data, size}, "c", &world, &config, &err);
    if (status == LCDC_OK) {
        check(&config);
    } else if (strncmp(lcdc_error_message(err), "c:", 2) != 0) {
        fprintf(stderr, "no file and line: %s\n", lcdc_error_message(err));
        abort();
    }
    lcdc_error_free(err);
    lc_config_done(&config);
    return 0;
}
