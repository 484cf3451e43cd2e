/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_iceberg.c - every allocation of an Iceberg read fails once: each failure is told as such, nothing is lost or
 * leaked.
 *
 * Single snapshots of three moved tables: equality deletes, position deletes, and deletion vectors with row lineage.
 */
#include "torture/job.h"

#define EQUALITY LC_TEST_CASES "/iceberg/warehouse/db/eq_deletes"
#define POSITIONS LC_TEST_CASES "/iceberg/warehouse/db/v2_mor"
#define LINEAGE LC_TEST_CASES "/iceberg/warehouse/db/v3_mor"
#define MOVED "/var/lib/lakecdc-fixtures=" LC_TEST_CASES

OPEN_JOB(test_open, EQUALITY, MOVED)
JOB(test_plan, EQUALITY, MOVED, "open", "plan", "from", "5432218903225960949", "to", "5432218903225960949")
JOB(test_equality, EQUALITY, MOVED, "plan", "changes", "from", "5432218903225960949", "to", "5432218903225960949",
    "identity", "id", "fold", "true")
JOB(test_positions, POSITIONS, MOVED, "plan", "changes", "from", "29976508969738389", "to", "29976508969738389")
JOB(test_lineage, LINEAGE, MOVED, "plan", "changes", "from", "4563594992350994969", "to", "4563594992350994969",
    "drop_noop", "true")

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_open),      cmocka_unit_test(test_plan),    cmocka_unit_test(test_equality),
        cmocka_unit_test(test_positions), cmocka_unit_test(test_lineage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
