/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrow.h - builds and views Arrow C data: schemas from fields, arrays from buffers, rows gathered from many arrays.
 *
 * Only the layouts of base/types.def occur inside the library (no dictionaries, views or large offsets): readers
 * normalise to them and lc_array_check() holds what comes from outside against them.
 */
#ifndef LC_BASE_ARROW_H
#define LC_BASE_ARROW_H

#include "base/field.h"
#include "base/value.h"
#include "lakecdc/arrow_c.h"

/* ---- ownership ---- */

void lc_array_release(struct ArrowArray *array); /* does nothing to a released one; leaves it zeroed */
void lc_schema_release(struct ArrowSchema *schema);
#define LC_ARRAY LC_CLEANUP(lc_array_release)
#define LC_SCHEMA LC_CLEANUP(lc_schema_release)
/** Moves; the source is marked released. */
void lc_array_move(struct ArrowArray *from, struct ArrowArray *to);
void lc_schema_move(struct ArrowSchema *from, struct ArrowSchema *to);

/* ---- schemas ---- */

/** The Arrow type of a field, every level nullable (images are). */
lcdc_status lc_schema_from_field(const struct lc_field *field, struct ArrowSchema *out, lcdc_error **err);
/** A deep copy. */
lcdc_status lc_schema_copy(const struct ArrowSchema *from, struct ArrowSchema *out, lcdc_error **err);
/** The field tree of an Arrow schema (names, types; ids from PARQUET:field_id); UNSUPPORTED for other layouts. */
lcdc_status lc_field_from_schema(const struct ArrowSchema *schema, struct lc_arena *arena, struct lc_field *out,
                                 lcdc_error **err);
/** The change-row schema (lakecdc/change.h) over image columns `images` (a STRUCT). */
lcdc_status lc_change_schema(const struct lc_field *images, struct ArrowSchema *out, lcdc_error **err);

/* ---- reading values ---- */

static inline bool lc_bit(const uint8_t *bits, int64_t i)
{
    return bits[i >> 3] >> (i & 7) & 1;
}
static inline bool lc_array_is_null(const struct ArrowArray *array, int64_t i)
{
    const uint8_t *validity = array->n_buffers > 0 ? (const uint8_t *)array->buffers[0] : NULL;
    return array->null_count != 0 && validity && !lc_bit(validity, array->offset + i);
}
/** True when a column of a struct array is dictionary-encoded: only lc_array_gather() and lc_row_hash() take those. */
static inline bool lc_array_has_dictionaries(const struct ArrowArray *rows)
{
    bool has = false;
    for (int64_t i = 0; i < rows->n_children; i++)
        has = has || rows->children[i]->dictionary;
    return has;
}
/** Text or bytes of row `i` of a utf8, binary or fixed-size array; the row must not be null. */
struct lc_str lc_array_str(const struct ArrowArray *array, enum lc_type_kind kind, int fixed_length, int64_t i);
/** Row `i` of a primitive array as a value; strings are borrowed from the array. */
void lc_array_value(const struct ArrowArray *array, struct lc_type type, int64_t i, struct lc_value *out);

/* ---- checking ---- */

/**
 * Holds an array against the layout of a field: buffer counts, child counts, offsets that rise and stay inside,
 * lengths of children, valid UTF-8. What comes from a peer must pass before it is looked at. LCDC_CORRUPT otherwise.
 */
lcdc_status lc_array_check(const struct ArrowArray *array, const struct lc_field *field, lcdc_error **err);

/* ---- building ---- */

/**
 * Rows gathered from `n_from` struct arrays of one schema: output row k is row rows[k] of from[sources[k]] (sources
 * NULL: always from[0]). Text of a dictionary comes out as text. A row index of -1 makes a null row (all columns null
 * too), whatever its source. LC_R_LIMIT when text or elements of a column pass what int32 offsets hold.
 */
lcdc_status lc_array_gather(const struct lc_field *type, size_t n_from, const struct ArrowArray *const *from,
                            const uint32_t *sources, const int64_t *rows, int64_t n, struct ArrowArray *out,
                            lcdc_error **err);
/** The rows whose mask byte is 1, of one struct array; the array itself (moved) when all are. Consumes `array`. */
lcdc_status lc_array_filter(const struct lc_field *type, struct ArrowArray *take_array, const uint8_t *mask,
                            struct ArrowArray *out, lcdc_error **err);
/** A struct array with children `columns[i]` of `take_array`, in that order (a projection). Consumes `array`. */
lcdc_status lc_array_project(struct ArrowArray *take_array, size_t n, const size_t *columns, struct ArrowArray *out,
                             lcdc_error **err);
/** The first `n_first` children of a struct array, and the others. Consumes `take_array`. */
lcdc_status lc_array_split(struct ArrowArray *take_array, size_t n_first, struct ArrowArray *out_first,
                           struct ArrowArray *out_rest, lcdc_error **err);
/** `n` null rows of a type; all buffers are one block of zeros. */
lcdc_status lc_array_nulls(const struct lc_field *type, int64_t n, struct ArrowArray *out, lcdc_error **err);

/**
 * A change batch: op, images, snapshot and time of row i. An image that its op does not have is null; a released array
 * stands for images that are null throughout, NULL for snapshots or times that are; ts_valid NULL: every time is there.
 * Consumes the images.
 */
lcdc_status lc_change_array(const struct lc_field *images, const uint8_t *ops, int64_t n,
                            struct ArrowArray *take_before, struct ArrowArray *take_after, const int64_t *snapshots,
                            const int64_t *ts_us, const uint8_t *ts_valid, struct ArrowArray *out, lcdc_error **err);

/** Bytes that the buffers of an array take, offsets and slices considered. */
int64_t lc_array_bytes(const struct ArrowArray *array, const struct lc_field *type);

#endif
