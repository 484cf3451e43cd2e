/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_archive_manifest.c - the small files of an archive from anywhere. The bytes are taken as they are, and, since no
 * fuzzer finds a checksum, as the sealed part of a manifest and of an archive's head. What is understood must print and
 * be understood again.
 */
#include "io/archive_files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void seal(struct lc_buf *out, const char *key, struct lc_str body)
{
    char sum[LC_CHECKSUM_TEXT];
    lc_checksum_of(body.p, body.n, sum);
    lc_buf_printf(out, "{\"xxh128\":\"%s\",\"%s\":", sum, key);
    lc_buf_append(out, body.p, body.n);
    lc_buf_text(out, "}\n");
}

static void read_manifest(struct lc_str text)
{
    LC_ARENA struct lc_arena arena = {0};
    LC_BUF struct lc_buf printed = {0};
    struct lc_archive_manifest manifest, again;
    lc_buf_init(&printed, LC_BUF_MAX);
    if (lc_archive_manifest_parse(text, &arena, &manifest, NULL) != LCDC_OK)
        return;
    lc_archive_manifest_print(&printed, &manifest);
    if (printed.failed ||
        lc_archive_manifest_parse((struct lc_str){printed.p, printed.n}, &arena, &again, NULL) != LCDC_OK ||
        again.rows != manifest.rows || again.n_parts != manifest.n_parts ||
        lc_field_fingerprint(&again.images) != lc_field_fingerprint(&manifest.images))
        __builtin_trap();
}

static void read_head(struct lc_str text)
{
    LC_ARENA struct lc_arena arena = {0};
    LC_BUF struct lc_buf printed = {0};
    struct lc_archive_head head;
    lc_buf_init(&printed, LC_BUF_MAX);
    if (lc_archive_head_parse(text, &arena, &head, NULL) != LCDC_OK)
        return;
    lc_archive_head_print(&printed, &head);
    if (printed.failed || lc_archive_head_parse((struct lc_str){printed.p, printed.n}, &arena, &head, NULL) != LCDC_OK)
        __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    LC_BUF struct lc_buf manifest = {0}, head = {0};
    struct lc_str text = {(const char *)data, size};
    struct lc_archive_name name;
    int64_t group;
    lc_buf_init(&manifest, LC_BUF_MAX);
    lc_buf_init(&head, LC_BUF_MAX);
    seal(&manifest, "manifest", text);
    seal(&head, "archive", text);
    read_manifest(text);
    read_head(text);
    read_manifest((struct lc_str){manifest.p, manifest.n});
    read_head((struct lc_str){head.p, head.n});
    (void)lc_archive_name_parse(text, &name);
    (void)lc_archive_group_parse(text, &group);
    return 0;
}
