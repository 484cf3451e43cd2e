/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - bench_micro [--file PARQUET] [NAME ...]: runs the named micro-benchmarks, or all of them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "micro/micro.h"

static const struct {
    const char *name;
    bool (*run)(const char *file);
} LOOPS[] = {
    {"bitmap", micro_bitmap}, {"filter", micro_filter},     {"gather", micro_gather},
    {"jsonl", micro_jsonl},   {"row_hash", micro_row_hash}, {"snappy", micro_snappy},
};
enum { N_LOOPS = sizeof(LOOPS) / sizeof(LOOPS[0]), GROUPS = 7 };
static const double GROUP_SECONDS = 0.05;

/* Processor time, not the wall's: what a loop costs does not depend on who else is at work. */
static double now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

bool micro_time(const char *name, int64_t rows, bool (*once)(void *context), void *context)
{
    double groups[GROUPS];
    for (int i = -1; i < GROUPS; i++) { /* the first group warms up */
        int64_t calls = 0;
        double started = now(), passed = 0;
        for (; passed < GROUP_SECONDS; passed = now() - started, calls++)
            if (!once(context))
                return false;
        if (i >= 0)
            groups[i] = passed * 1e9 / (double)(calls * rows);
    }
    qsort(groups, GROUPS, sizeof(groups[0]), by_size);
    printf("%-44s %10.3f ns/row   median %10.3f\n", name, groups[0], groups[GROUPS / 2]);
    return true;
}

static bool is_wanted(const char *name, int n, char **names)
{
    for (int i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return n == 0;
}

int main(int argc, char **argv)
{
    const char *file = NULL;
    if (argc > 2 && strcmp(argv[1], "--file") == 0) {
        file = argv[2];
        argc -= 2;
        argv += 2;
    }
    int failed = 0;
    for (size_t i = 0; i < N_LOOPS; i++) {
        if (!is_wanted(LOOPS[i].name, argc - 1, argv + 1) || LOOPS[i].run(file))
            continue;
        (void)fprintf(stderr, "%s: failed\n", LOOPS[i].name);
        failed++;
    }
    return failed > 0;
}
