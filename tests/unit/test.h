/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test - cmocka with what its own header wants before it.
 */
#ifndef FOREBRICK_TESTS_UNIT_TEST_H
#define FOREBRICK_TESTS_UNIT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#endif
