/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names - texts for numbers of the wire: errnos, open flags, modes.
 *
 * The wire has its own numbering, equal to that of Linux on x86-64 for all but
 * a few errnos; nothing here asks the machine's own headers.
 */
#ifndef FOREBRICK_PROTO_NAMES_H
#define FOREBRICK_PROTO_NAMES_H

#include <stddef.h>
#include <stdint.h>

/* "ENOENT", or NULL for a number without a name. */
const char *gfp_errno_name(uint32_t wire_errno);

/*
 * Write open flags as "O_RDWR|O_CREAT|0x80000000" into out (cap bytes, always
 * closed with NUL; 256 suffice for any value). Returns the length written.
 */
size_t gfp_open_flags_text(uint32_t flags, char *out, size_t cap);

/* Write a mode as "-rw-r--r--" (11 bytes with NUL). */
void gfp_mode_text(uint32_t mode, char out[11]);

/* "read", "write", "unlock"; "set-wait", ... ; NULL for others. */
const char *gfp_lock_type_name(uint32_t type);
const char *gfp_lock_cmd_name(uint32_t cmd);
const char *gfp_dict_type_name(uint32_t type);
const char *gfp_accept_status_name(uint32_t status);

/* 36 characters and NUL. */
void gfp_gfid_text(const uint8_t gfid[16], char out[37]);

#endif
