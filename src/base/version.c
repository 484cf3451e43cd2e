/* SPDX-License-Identifier: Apache-2.0 */
/* version.c - the version at run time, so that a program can tell which library it was started with. */
#include <lakecdc/base.h>

const char *lcdc_version(void)
{
    return LCDC_VERSION;
}
