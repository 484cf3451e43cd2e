/* SPDX-License-Identifier: Apache-2.0 */
/*
 * standalone_driver.c - runs a fuzz target over every file of the folders and over the files it is given.
 *
 * What libFuzzer found once stays found: the corpora are replayed by ctest in every build, with any compiler. An empty
 * corpus is an error, because it would test nothing.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return -1;
    struct stat info;
    int ok = fstat(fileno(file), &info);
    size_t size = ok == 0 ? (size_t)info.st_size : 0;
    /* Exactly as large as the input, so that the sanitizer sees the first byte read past it. */
    uint8_t *data = malloc(size > 0 ? size : 1);
    if (ok != 0 || data == NULL || fread(data, 1, size, file) != size) {
        ok = -1;
    } else {
        fprintf(stderr, "%s\n", path); /* the last one named is the one that crashed */
        LLVMFuzzerTestOneInput(data, size);
    }
    free(data);
    fclose(file);
    return ok;
}

static int replay_folder(const char *path, int *files)
{
    struct dirent **names = NULL;
    int n = scandir(path, &names, NULL, alphasort);
    int ok = n < 0 ? -1 : 0;
    for (int i = 0; i < n; i++) {
        char file[4096];
        int length = snprintf(file, sizeof file, "%s/%s", path, names[i]->d_name);
        if (names[i]->d_name[0] != '.' && ok == 0) {
            ok = length < (int)sizeof file ? replay_file(file) : -1;
            *files += 1;
        }
        free(names[i]);
    }
    free(names);
    return ok;
}

int main(int argc, char **argv)
{
    int files = 0;
    for (int i = 1; i < argc; i++) {
        struct stat info;
        int ok = stat(argv[i], &info);
        if (ok == 0 && S_ISDIR(info.st_mode)) {
            ok = replay_folder(argv[i], &files);
        } else if (ok == 0) {
            ok = replay_file(argv[i]);
            files++;
        }
        if (ok != 0) {
            fprintf(stderr, "%s: %s\n", argv[i], strerror(errno));
            return 1;
        }
    }
    fprintf(stderr, "%d inputs\n", files);
    return files > 0 ? 0 : 1;
}
