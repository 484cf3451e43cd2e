/* SPDX-License-Identifier: Apache-2.0 */
/*
 * storage.h - where files are: list, read whole, read at. One vtable; layers (meter, fault, rebase) wrap another
 * storage and pass through what they do not change. The leaf is Arrow's FileSystem (local, S3, GCS, Azure).
 *
 * Locations are absolute: a local path ("/data/t", never decoded), or a URL with a scheme ("s3://bucket/t"). file: URLs
 * are accepted in every spelling and stand for the local path. A storage may be used by several threads at once.
 */
#ifndef LC_IO_STORAGE_H
#define LC_IO_STORAGE_H

#include "base/arena.h"
#include "base/error.h"

struct lc_storage;
struct lc_file;

struct lc_file_info {
    char *name;       /* file name, without its folder */
    int64_t size;     /* bytes; -1 unknown */
    int64_t mtime_ms; /* milliseconds since 1970; INT64_MIN unknown */
    bool is_directory;
};

/** Bytes of a file. */
struct lc_span {
    int64_t offset, n;
};

struct lc_listing {
    size_t n;
    struct lc_file_info *items; /* sorted by name, bytewise */
};
void lc_listing_done(struct lc_listing *listing);

/** What readers skip, for the statistics of a read. */
enum lc_note { LC_NOTE_ROW_GROUPS, LC_NOTE_ROW_GROUPS_PRUNED, LC_NOTE_PAGES_PRUNED, LC_NOTES };

struct lc_storage_ops {
    const char *name;
    /**
     * Files and folders directly in `folder`, in any order; LC_R_FILE_MISSING when there is no such folder (object
     * stores: nothing below it).
     */
    lcdc_status (*list)(struct lc_storage *self, const char *folder, struct lc_listing *out, lcdc_error **err);
    /** Size and time of one file, its name stays NULL; LC_R_FILE_MISSING. */
    lcdc_status (*stat)(struct lc_storage *self, const char *path, struct lc_file_info *out, lcdc_error **err);
    lcdc_status (*open)(struct lc_storage *self, const char *path, struct lc_file **out, lcdc_error **err);
    int64_t (*size)(struct lc_file *file);
    /** Exactly `n` bytes at `offset`, or an error; the range lies inside the file. Any thread. */
    lcdc_status (*read_at)(struct lc_file *file, int64_t offset, int64_t n, void *out, lcdc_error **err);
    void (*close)(struct lc_file *file);
    void (*release)(struct lc_storage *self);
    /* optional; a layer hands them on */
    /** As open, of a file of a known size: a store need not be asked before the first read. */
    lcdc_status (*open_sized)(struct lc_storage *self, const char *path, int64_t size, struct lc_file **out,
                              lcdc_error **err);
    /** Whether each request takes a while, whatever it brings. Without it: whether the path has a scheme. */
    bool (*is_remote)(struct lc_storage *self, const char *path);
    void (*want)(struct lc_storage *self, const char *path, int64_t size, size_t n, const struct lc_span *spans);
    void (*forget)(struct lc_storage *self);
    void (*note)(struct lc_storage *self, enum lc_note note, int64_t n);
};

/* The first member of every implementation's object. */
struct lc_storage {
    const struct lc_storage_ops *ops;
};
struct lc_file {
    struct lc_storage *storage;
};

lcdc_status lc_storage_list(struct lc_storage *storage, const char *folder, struct lc_listing *out, lcdc_error **err);
lcdc_status lc_storage_stat(struct lc_storage *storage, const char *path, struct lc_file_info *out, lcdc_error **err);
lcdc_status lc_storage_open(struct lc_storage *storage, const char *path, struct lc_file **out, lcdc_error **err);
/**
 * Opens a file whose size is known: on a remote store that saves a request, and a false size shows as reads that fail.
 * -1: not known. Files of the machine are asked for their size all the same.
 */
lcdc_status lc_storage_open_sized(struct lc_storage *storage, const char *path, int64_t size, struct lc_file **out,
                                  lcdc_error **err);
bool lc_storage_is_remote(struct lc_storage *storage, const char *path);
/**
 * Says what will be read of a file soon, so that it can be fetched while something else is done. Never fails, changes
 * no answer, does nothing for files of the machine. `size` -1: not known. No spans: the file will be opened, or looked
 * for. A span with n -1 is the whole file.
 */
void lc_storage_want(struct lc_storage *storage, const char *path, int64_t size, size_t n, const struct lc_span *spans);
void lc_storage_want_whole(struct lc_storage *storage, const char *path, int64_t size);
/** Lets go of what was wanted and not read. */
void lc_storage_forget(struct lc_storage *storage);
/** Counts something for the statistics. */
void lc_storage_note(struct lc_storage *storage, enum lc_note note, int64_t n);
/** The whole file, at most `max` bytes (LC_R_LIMIT names the file otherwise); appended, terminated. */
lcdc_status lc_storage_read(struct lc_storage *storage, const char *path, size_t max, struct lc_buf *out,
                            lcdc_error **err);
/** Bytes of a file, appended, terminated; LC_R_IO_FAILED when the file does not reach that far. */
lcdc_status lc_storage_read_range(struct lc_storage *storage, const char *path, int64_t offset, int64_t n,
                                  struct lc_buf *out, lcdc_error **err);
int64_t lc_file_size(struct lc_file *file);
/** A range that is not inside the file is LC_R_IO_FAILED. */
lcdc_status lc_file_read_at(struct lc_file *file, int64_t offset, int64_t n, void *out, lcdc_error **err);
void lc_file_close(struct lc_file *file);
void lc_storage_free(struct lc_storage *storage);
LC_DEFINE_CLEANUP(struct lc_storage *, lc_storage_free)
LC_DEFINE_CLEANUP(struct lc_file *, lc_file_close)

/** The leaf: picks the file system by the scheme of each path; credentials come from the environment. */
lcdc_status lc_storage_arrow(struct lc_storage **out, lcdc_error **err);

/** Counts what passes; `take_below` is freed with it. */
struct lc_meter;
struct lc_counts {
    int64_t lists, stats, opens, reads, bytes, requests, notes[LC_NOTES];
};
/** What has been counted so far. */
void lc_meter_counts(const struct lc_meter *meter, struct lc_counts *out);
#ifndef __cplusplus /* C++ has other atomics, and no need of these */
struct lc_meter {
    _Atomic int64_t lists, stats, opens, reads, bytes;
    _Atomic int64_t requests; /* what a remote store is asked: all of these but opens of files of a known size */
    _Atomic int64_t notes[LC_NOTES];
    struct lc_counts settled; /* what has been told of already; its owner's to keep */
};
#endif
lcdc_status lc_storage_meter(struct lc_storage *take_below, struct lc_meter *meter, struct lc_storage **out,
                             lcdc_error **err);

/** Test layer: operation number `fail_at` (0-based, over all kinds) and later ones fail with LC_R_IO_FAILED. */
lcdc_status lc_storage_fault(struct lc_storage *take_below, int64_t fail_at, struct lc_storage **out, lcdc_error **err);

/** Test layer: every request takes `ms` milliseconds longer, and every path counts as remote. */
lcdc_status lc_storage_latency(struct lc_storage *take_below, int64_t ms, struct lc_storage **out, lcdc_error **err);

/**
 * Fetches what lc_storage_want() names on threads of its own, for remote paths, into at most `max` bytes at a time;
 * what is wanted beyond that is read when it is read. The threads end when there is nothing to fetch.
 * @thread want, open and read_at may be called by several threads at once.
 */
lcdc_status lc_storage_prefetch(struct lc_storage *take_below, size_t max, struct lc_storage **out, lcdc_error **err);

/* ---- locations (path.c) ---- */

/**
 * The location as I/O wants it: "file:/x", "file:///x" and "file://localhost/x" become "/x" (percent escapes of a
 * file: URL are kept as they are, since table formats write raw paths there); s3a and s3n become s3; a relative local
 * path becomes absolute against the working folder; trailing slashes go. LC_R_URL for what cannot be understood.
 */
lcdc_status lc_location_normalise(const char *text, char **out, lcdc_error **err);
bool lc_location_is_absolute(const char *path); /* begins with '/' or has a scheme */
/** "folder/name"; NULL when memory is short. */
char *lc_location_join(const char *folder, const char *name);

/** FROM=TO rules that move every path of a table that was copied elsewhere. First match wins, longest first. */
struct lc_path_map {
    size_t n;
    struct lc_path_rule {
        char *from, *to;
    } * rules;
};
lcdc_status lc_path_map_add(struct lc_path_map *map, const char *rule, lcdc_error **err);
void lc_path_map_done(struct lc_path_map *map);
/**
 * Where a path written in metadata is now, in normal form. Rules and path are compared in normal form, so "/var/x" also
 * moves "file:///var/x/f"; what has no normal form ("file://host/x") is compared as it is spelled. A prefix matches
 * whole path parts only.
 */
lcdc_status lc_path_map_apply(const struct lc_path_map *map, const char *path, char **out, lcdc_error **err);

#endif
