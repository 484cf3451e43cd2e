/* SPDX-License-Identifier: Apache-2.0 */
#include "base/checksum.h"

#include <xxhash.h>

/* The state is xxhash's own, made and freed by it: it needs an alignment that only it knows. */
static XXH3_state_t *state_of(const struct lc_checksum *sum)
{
    return (XXH3_state_t *)(uintptr_t)sum;
}

struct lc_checksum *lc_checksum_new(void)
{
    XXH3_state_t *state = XXH3_createState();
    if (state)
        (void)XXH3_128bits_reset(state);
    return (struct lc_checksum *)(void *)state;
}

void lc_checksum_free(struct lc_checksum *sum)
{
    if (sum)
        (void)XXH3_freeState(state_of(sum));
}

void lc_checksum_add(struct lc_checksum *sum, const void *bytes, size_t n)
{
    (void)XXH3_128bits_update(state_of(sum), bytes, n);
}

static void print(XXH128_hash_t hash, char out[LC_CHECKSUM_TEXT])
{
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, hash);
    for (size_t i = 0; i < sizeof(canonical.digest); i++) {
        out[2 * i] = "0123456789abcdef"[canonical.digest[i] >> 4];
        out[2 * i + 1] = "0123456789abcdef"[canonical.digest[i] & 15];
    }
    out[LC_CHECKSUM_TEXT - 1] = 0;
}

void lc_checksum_text(const struct lc_checksum *sum, char out[LC_CHECKSUM_TEXT])
{
    print(XXH3_128bits_digest(state_of(sum)), out);
}

void lc_checksum_of(const void *bytes, size_t n, char out[LC_CHECKSUM_TEXT])
{
    print(XXH3_128bits(bytes, n), out);
}
