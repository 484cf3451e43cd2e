/* SPDX-License-Identifier: Apache-2.0 */
/*
 * variant.h - variants of a result, made as everybody's: Spark's Arrow data has a variant's value before its metadata,
 * and says which structs are variants in the schema's own metadata only.
 */
#ifndef LC_SPARK_VARIANT_H
#define LC_SPARK_VARIANT_H

#include "base/arrow.h"
#include "base/field.h"

/** Marks the variants below `field`, which was made from `schema`, and puts their metadata first. */
void lc_spark_variant_field(const struct ArrowSchema *schema, struct lc_field *field);
/** The same for an array of that schema. */
void lc_spark_variant_array(const struct ArrowSchema *schema, struct ArrowArray *array);

#endif
