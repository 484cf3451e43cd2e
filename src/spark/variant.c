/* SPDX-License-Identifier: Apache-2.0 */
#include "spark/variant.h"

#include <string.h>

static int32_t number_at(const char *bytes)
{
    int32_t number;
    memcpy(&number, bytes, sizeof(number));
    return number;
}

/* True when `variant` is among the keys of a field's metadata: a count, then texts with their lengths, as Arrow packs
   them. The packing is our own library's; what is in the texts is the server's. */
static bool is_marked(const char *metadata)
{
    static const char mark[] = "variant";
    int32_t n = metadata ? number_at(metadata) : 0;
    const char *at = metadata ? metadata + sizeof(n) : NULL;
    for (int32_t i = 0; i < 2 * n; i++) {
        size_t length = (size_t)number_at(at);
        at += sizeof(n);
        if (i % 2 == 0 && length == strlen(mark) && memcmp(at, mark, length) == 0)
            return true;
        at += length;
    }
    return false;
}

static bool is_part(const struct ArrowSchema *schema, const char *name)
{
    return schema->name && strcmp(schema->name, name) == 0 && strcmp(schema->format, "z") == 0;
}

static bool is_variant(const struct ArrowSchema *schema)
{
    return strcmp(schema->format, "+s") == 0 && schema->n_children == 2 && is_part(schema->children[0], "value") &&
           is_part(schema->children[1], "metadata") && is_marked(schema->children[1]->metadata);
}

void lc_spark_variant_field(const struct ArrowSchema *schema, struct lc_field *field)
{
    if (is_variant(schema)) {
        struct lc_field value = field->children[0];
        field->children[0] = field->children[1];
        field->children[1] = value;
        field->is_variant = true;
        return;
    }
    const struct ArrowSchema *parent = field->type.kind == LC_TYPE_MAP ? schema->children[0] : schema;
    for (size_t i = 0; i < field->n_children; i++)
        lc_spark_variant_field(parent->children[i], &field->children[i]);
}

void lc_spark_variant_array(const struct ArrowSchema *schema, struct ArrowArray *array)
{
    if (is_variant(schema)) {
        struct ArrowArray *value = array->children[0];
        array->children[0] = array->children[1];
        array->children[1] = value;
        return;
    }
    for (int64_t i = 0; i < schema->n_children; i++)
        lc_spark_variant_array(schema->children[i], array->children[i]);
}
