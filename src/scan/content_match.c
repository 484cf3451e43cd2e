/* SPDX-License-Identifier: Apache-2.0 */
/*
 * content_match.c - equal rows cancel one for one, whatever the rows are.
 *
 * The hashes of both sides are dealt into parts (hash_parts.h). In each part a row of the removed side that finds an
 * equal one of the added side takes it out. Of the added side all rows are kept, of the removed side, which is hashed
 * second, those that the added side certainly lacks (hash_filter.h).
 */
#include "scan/content.h"
#include "scan/hash_filter.h"
#include "scan/parallel.h"

enum { PARTS_FRACTION = 4, FILTER_FRACTION = 2 /* of the memory limit */ };

struct match {
    struct lc_content *content;
    struct lc_hash_parts *parts;
    struct lc_hash_filter *filter; /* of the added side; NULL where it would be too large */
};

static void match_done(struct match *self)
{
    lc_hash_parts_free(self->parts);
    lc_hash_filter_free(self->filter);
}

static lcdc_status look_at_added(const struct lc_pass *pass, struct lc_hashed *rows, size_t *n_missing,
                                 lcdc_error **err)
{
    const struct match *self = pass->context;
    if (self->filter)
        lc_hash_filter_add(self->filter, rows->n, rows->all);
    *n_missing = 0;
    return lc_hash_writer_add(rows->writer, rows->n, rows->all, rows->first, NULL, err);
}

/* Rows that the other side certainly lacks need no entry. */
static lcdc_status look_at_removed(const struct lc_pass *pass, struct lc_hashed *rows, size_t *n_missing,
                                   lcdc_error **err)
{
    const struct match *self = pass->context;
    *n_missing = self->filter ? lc_hash_filter_missing(self->filter, rows->n, rows->all, rows->missing) : 0;
    return lc_hash_writer_add(rows->writer, rows->n, rows->all, rows->first, *n_missing ? rows->missing : NULL, err);
}

/* ---- one part ---- */

/*
 * Added rows by hash. A slot names one row of its content; the rows of that content which have not been taken are a
 * chain, the last one first.
 */
struct table {
    size_t n_slots;                  /* a power of two */
    uint32_t *slots, *chains, *next; /* 1 + place of an entry; 0 none */
    const struct lc_hash_entry *entries;
};

static void table_done(struct table *table)
{
    lc_free(table->slots);
    lc_free(table->chains);
    lc_free(table->next);
}

static uint32_t *find_slot(const struct table *table, const struct lc_hash_entry *entry)
{
    size_t at = (size_t)entry->hash & (table->n_slots - 1);
    while (table->slots[at]) {
        const struct lc_hash_entry *other = &table->entries[table->slots[at] - 1];
        if (other->hash == entry->hash && other->check == entry->check)
            break;
        at = (at + 1) & (table->n_slots - 1);
    }
    return &table->slots[at];
}

static lcdc_status table_init(struct table *table, const struct lc_hash_entry *entries, size_t n, lcdc_error **err)
{
    table->entries = entries;
    for (table->n_slots = 16; table->n_slots < 2 * n;)
        table->n_slots *= 2;
    table->slots = lc_calloc(table->n_slots, sizeof(uint32_t));
    table->chains = lc_calloc(n, sizeof(uint32_t));
    table->next = lc_calloc(n, sizeof(uint32_t));
    LC_TRY_ALLOC(table->slots && table->chains && table->next);
    for (size_t i = 0; i < n; i++) {
        uint32_t *slot = find_slot(table, &entries[i]);
        if (!*slot)
            *slot = (uint32_t)i + 1;
        table->next[i] = table->chains[*slot - 1];
        table->chains[*slot - 1] = (uint32_t)i + 1;
    }
    return LCDC_OK;
}

/* Takes one row of the entry's content out; false when there is none left. */
static bool table_take(struct table *table, const struct lc_hash_entry *entry)
{
    const uint32_t *slot = find_slot(table, entry);
    if (!*slot || !table->chains[*slot - 1])
        return false;
    table->chains[*slot - 1] = table->next[table->chains[*slot - 1] - 1];
    return true;
}

static lcdc_status match_part(void *context, size_t part, lcdc_error **err)
{
    const struct match *self = context;
    struct lc_side *sides = self->content->sides;
    LC_FREE struct lc_hash_entry *removed = NULL, *added = NULL;
    LC_CLEANUP(table_done) struct table table = {0};
    size_t n_removed, n_added;
    LC_TRY(lc_check_cancelled(self->content->spec.context, err));
    LC_TRY(lc_hash_parts_read(self->parts, LC_HASH_ADDED, part, &added, &n_added, err));
    LC_TRY(table_init(&table, added, n_added, err));
    LC_TRY(lc_hash_parts_read(self->parts, LC_HASH_REMOVED, part, &removed, &n_removed, err));
    for (size_t i = 0; i < n_removed; i++)
        if (!table_take(&table, &removed[i]))
            lc_side_mark(&sides[LC_HASH_REMOVED], removed[i].row);
    for (size_t i = 0; i < n_added; i++)
        for (uint32_t at = table.chains[i]; at; at = table.next[at - 1])
            lc_side_mark(&sides[LC_HASH_ADDED], added[at - 1].row);
    return LCDC_OK;
}

lcdc_status lc_content_match(struct lc_content *content, lcdc_error **err)
{
    const struct lc_run_spec *spec = &content->spec;
    const struct lc_commit *commit = spec->commit;
    LC_CLEANUP(match_done) struct match self = {.content = content};
    int64_t limit = spec->shape->memory_limit, added = content->sides[LC_HASH_ADDED].n_rows;
    LC_TRY(lc_hash_parts_new(added + content->sides[LC_HASH_REMOVED].n_rows,
                             content->sides[LC_HASH_ADDED].n + content->sides[LC_HASH_REMOVED].n,
                             limit / PARTS_FRACTION, &self.parts, err));
    if (lc_hash_filter_bytes(added) <= limit / FILTER_FRACTION)
        LC_TRY(lc_hash_filter_new(added, &self.filter, err));
    struct lc_pass pass = {.content = content, .parts = self.parts, .context = &self};
    pass.side = LC_HASH_ADDED;
    pass.keeps_all = true;
    pass.look = look_at_added;
    LC_TRY(lc_content_pass(&pass, err));
    pass.side = LC_HASH_REMOVED;
    pass.keeps_all = false;
    pass.look = look_at_removed;
    LC_TRY(lc_content_pass(&pass, err));
    lc_hash_filter_free(lc_steal(self.filter));
    size_t threads = lc_scan_threads(spec->context, commit->n_removed, commit->removed);
    return lc_parallel(threads, lc_hash_parts_count(self.parts), match_part, &self, err);
}
