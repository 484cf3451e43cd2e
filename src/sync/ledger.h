/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ledger.h - the SQLite file that remembers how far each table is: one row a table, its state as JSON.
 *
 * One process writes, many may look: whoever writes holds a lock beside the file, which names it and goes with the
 * process however that ends. The ledger does not know what a state means.
 */
#ifndef LC_SYNC_LEDGER_H
#define LC_SYNC_LEDGER_H

#include "lakecdc/sync.h"
#include "sync/state.h"

LC_DEFINE_CLEANUP(lcdc_ledger *, lcdc_ledger_free)
#define LC_LEDGER LC_CLEANUP(lcdc_ledger_freep)

/** The state of a table, left as initialised when there is none. @thread any */
lcdc_status lc_ledger_load(lcdc_ledger *ledger, const char *table, struct lc_state *out, bool *found, lcdc_error **err);
/** On disk when it returns. @thread any */
lcdc_status lc_ledger_save(lcdc_ledger *ledger, const char *table, struct lc_state *state, lcdc_error **err);

const char *lc_ledger_path(const lcdc_ledger *ledger);

#endif
