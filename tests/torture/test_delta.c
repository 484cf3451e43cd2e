/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_delta.c - every allocation of a Delta read fails once: each failure is told as such, nothing is lost or leaked.
 *
 * Several requests over the sample table, so that every method and every stage is on the way.
 */
#include "torture/job.h"

OPEN_JOB(test_open, LC_TEST_TABLE, NULL)
JOB(test_changes, LC_TEST_TABLE, NULL, "open", "changes", "from", "2", "to", "6")
JOB(test_identity_and_fold, LC_TEST_TABLE, NULL, "open", "changes", "from", "5", "to", "5", "identity", "order_id",
    "fold", "true")
JOB(test_net, LC_TEST_TABLE, NULL, "open", "changes", "from", "4", "to", "5", "identity", "order_id", "net", "true",
    "drop_noop", "true")
JOB(test_filter_and_columns, LC_TEST_TABLE, NULL, "open", "changes", "from", "5", "to", "5", "columns", "order_id",
    "where", "order_id > 2", "drop_noop", "true")
JOB(test_bootstrap, LC_TEST_TABLE, NULL, "open", "changes", "from", "4", "to", "5", "bootstrap", "true")
JOB(test_plan, LC_TEST_TABLE, NULL, "open", "plan", "from", "5", "to", "6")
JOB(test_verify, LC_TEST_TABLE, NULL, "open", "verify", "from", "4", "to", "4")

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_open),
        cmocka_unit_test(test_changes),
        cmocka_unit_test(test_identity_and_fold),
        cmocka_unit_test(test_net),
        cmocka_unit_test(test_filter_and_columns),
        cmocka_unit_test(test_bootstrap),
        cmocka_unit_test(test_plan),
        cmocka_unit_test(test_verify),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
