/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_value - the members of arguments and results, as people read them.
 *
 * One function a kind, found by a table. A number that has a name shows both.
 */
#include "config.h"

#include <stdio.h>

#include "daemon/trace_dict.h"
#include "daemon/trace_list.h"
#include "daemon/trace_value.h"
#include "proto/names.h"

enum {
	IATT_HAS_BTIME = 0x800,		/* of gfp_iatt.valid */
	FLAGS_TEXT_MAX = 256,
};

static void show_int(struct emit *e, const struct gfp_value *v)
{
	emit_int(e, v->field->name, (int64_t)v->num);
}

static void show_uint(struct emit *e, const struct gfp_value *v)
{
	emit_uint(e, v->field->name, v->num);
}

static void show_hex32(struct emit *e, const struct gfp_value *v)
{
	emit_hex(e, v->field->name, (uint32_t)v->num);
}

static void show_oflags(struct emit *e, const struct gfp_value *v)
{
	char names[FLAGS_TEXT_MAX];

	gfp_open_flags_text((uint32_t)v->num, names, sizeof(names));
	emit_hex(e, v->field->name, (uint32_t)v->num);
	emit_meaning(e, v->field->name, names);
}

static void show_mode(struct emit *e, const struct gfp_value *v)
{
	char octal[16];

	emit_octal(e, v->field->name, (uint32_t)v->num);
	if (!e->is_json)
		return;
	snprintf(octal, sizeof(octal), "0%o", (unsigned int)v->num);
	emit_meaning(e, v->field->name, octal);
}

static void show_named(struct emit *e, const char *key, uint64_t num,
		       const char *name)
{
	emit_uint(e, key, num);
	if (name != NULL)
		emit_meaning(e, key, name);
}

static void show_lkcmd(struct emit *e, const struct gfp_value *v)
{
	show_named(e, v->field->name, v->num,
		   gfp_lock_cmd_name((uint32_t)v->num));
}

static void show_lktype(struct emit *e, const struct gfp_value *v)
{
	show_named(e, v->field->name, v->num,
		   gfp_lock_type_name((uint32_t)v->num));
}

static void show_gfid(struct emit *e, const struct gfp_value *v)
{
	emit_gfid(e, v->field->name, v->raw.ptr);
}

static void show_iatt(struct emit *e, const struct gfp_value *v)
{
	trace_value_iatt(e, v->field->name, v->field->kind, v->raw);
}

static void show_statfs(struct emit *e, const struct gfp_value *v)
{
	static const char *const names[] = {
		"bsize", "frsize", "blocks", "bfree", "bavail", "files",
		"ffree", "favail", "fsid", "flag", "namemax",
	};

	emit_open(e, v->field->name, '{');
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		emit_uint(e, names[i], gfp_be64(v->raw.ptr + 8 * i));
	emit_close(e, '}');
}

static void show_lease(struct emit *e, const struct gfp_value *v)
{
	const uint8_t *p = v->raw.ptr;

	emit_open(e, v->field->name, '{');
	emit_uint(e, "cmd", gfp_be32(p));
	emit_uint(e, "type", gfp_be32(p + 4));
	emit_bytes(e, "lease_id", (struct gfp_span){ p + 8, 16 });
	emit_hex(e, "flags", gfp_be32(p + 24));
	emit_close(e, '}');
}

/* The rest of a line behind the word "password". */
static void show_volfile_line(struct emit *e, struct gfp_span line)
{
	static const char word[] = "password";
	const uint8_t *at = memmem(line.ptr, line.len, word, sizeof(word) - 1);

	if (at == NULL) {
		emit_quote_add(e, line);
		return;
	}
	line.len = (size_t)(at - line.ptr) + sizeof(word) - 1;
	emit_quote_add(e, line);
	emit_quote_add(e, (struct gfp_span){ (const uint8_t *)" ***\n", 5 });
}

/* A volfile for pool members carries their password. */
static void show_volfile(struct emit *e, const char *key, struct gfp_span spec)
{
	size_t size = spec.len;

	if (spec.len > EMIT_STR_MAX)
		spec.len = EMIT_STR_MAX;
	emit_quote_open(e, key);
	while (spec.len > 0) {
		const uint8_t *end = memchr(spec.ptr, '\n', spec.len);
		struct gfp_span line = spec;

		if (end != NULL)
			line.len = (size_t)(end - spec.ptr) + 1;
		show_volfile_line(e, line);
		spec = gfp_span_from(spec, line.len);
	}
	emit_quote_close(e);
	if (size > EMIT_STR_MAX)
		emit_uint(e, "spec_size", size);
}

static void show_str(struct emit *e, const struct gfp_value *v)
{
	if (strcmp(v->field->name, "spec") == 0)
		show_volfile(e, v->field->name, v->body);
	else
		emit_str(e, v->field->name, v->body);
}

static void show_opaque(struct emit *e, const struct gfp_value *v)
{
	trace_value_hex(e, v->field->name, v->body, v->body.len,
			TRACE_HEX_MAX);
}

static void show_flock(struct emit *e, const struct gfp_value *v)
{
	struct gfp_flock flock;

	/* The cursor has walked it already. */
	if (gfp_flock_read(v->raw, &flock) == GFP_OK)
		trace_list_flock(e, v->field->name, &flock);
}

static void show_dictx(struct emit *e, const struct gfp_value *v)
{
	trace_dict_show(e, v->field->name, v->raw);
}

static void show_blob(struct emit *e, const struct gfp_value *v)
{
	trace_dict_show_blob(e, v->field->name, v->body);
}

static void show_list(struct emit *e, const struct gfp_value *v)
{
	trace_list_show(e, v->field, v->raw);
}

static void (*const show_kinds[GFP_KIND_LIMIT])(struct emit *e,
					const struct gfp_value *v) = {
	[GFP_K_RET] = show_int,
	[GFP_K_ERRNO] = show_int,
	[GFP_K_I32] = show_int,
	[GFP_K_U32] = show_uint,
	[GFP_K_HEX32] = show_hex32,
	[GFP_K_OFLAGS] = show_oflags,
	[GFP_K_MODE] = show_mode,
	[GFP_K_LKCMD] = show_lkcmd,
	[GFP_K_LKTYPE] = show_lktype,
	[GFP_K_I64] = show_int,
	[GFP_K_U64] = show_uint,
	[GFP_K_FD] = show_int,
	[GFP_K_GFID] = show_gfid,
	[GFP_K_IATTX] = show_iatt,
	[GFP_K_IATT3] = show_iatt,
	[GFP_K_STATFS] = show_statfs,
	[GFP_K_LEASE] = show_lease,
	[GFP_K_STR] = show_str,
	[GFP_K_OPAQUE] = show_opaque,
	[GFP_K_FLOCK] = show_flock,
	[GFP_K_DICTX] = show_dictx,
	[GFP_K_BLOB] = show_blob,
	[GFP_K_DIRLIST] = show_list,
	[GFP_K_DIRPLIST] = show_list,
	[GFP_K_DIRPLIST3] = show_list,
	[GFP_K_LOCKLIST] = show_list,
	[GFP_K_PROGLIST] = show_list,
};

void trace_value_show(struct emit *e, const struct gfp_value *v)
{
	show_kinds[v->field->kind](e, v);
}

bool trace_value_show_part(struct emit *e, const struct gfp_field *field,
			   struct gfp_span rest)
{
	if (show_kinds[field->kind] != show_list)
		return false;
	trace_list_show(e, field, rest);
	return true;
}

void trace_value_show_errno(struct emit *e, const struct gfp_value *v,
			    int64_t op_ret)
{
	const char *name = gfp_errno_name((uint32_t)v->num);

	show_int(e, v);
	if (op_ret < 0 && name != NULL)
		emit_meaning(e, v->field->name, name);
}

static bool is_zero(struct gfp_span bytes)
{
	for (size_t i = 0; i < bytes.len; i++)
		if (bytes.ptr[i] != 0)
			return false;
	return true;
}

static void show_times(struct emit *e, const struct gfp_iatt *iatt)
{
	emit_nsec(e, "atime", iatt->atime, iatt->atime_nsec);
	emit_nsec(e, "mtime", iatt->mtime, iatt->mtime_nsec);
	emit_nsec(e, "ctime", iatt->ctime, iatt->ctime_nsec);
}

/* What only programs want to know; people see enough as it is. */
static void show_details(struct emit *e, const struct gfp_iatt *iatt)
{
	emit_uint(e, "ino", iatt->ino);
	emit_uint(e, "dev", iatt->dev);
	emit_uint(e, "rdev", iatt->rdev);
	emit_uint(e, "blocks", iatt->blocks);
	emit_uint(e, "blksize", iatt->blksize);
}

/* What the 3.x form does not have. */
static void show_extensions(struct emit *e, const struct gfp_iatt *iatt)
{
	if ((iatt->valid & IATT_HAS_BTIME) != 0)
		emit_nsec(e, "btime", iatt->btime, iatt->btime_nsec);
	if (iatt->attributes_mask != 0) {
		emit_uint(e, "attributes", iatt->attributes);
		emit_uint(e, "attributes_mask", iatt->attributes_mask);
	}
	emit_uint(e, "valid", iatt->valid);
}

void trace_value_iatt(struct emit *e, const char *key, enum gfp_kind kind,
		      struct gfp_span raw)
{
	struct gfp_iatt iatt;
	char mode[11];

	if (is_zero(raw)) {
		emit_null(e, key);
		return;
	}
	if (kind == GFP_K_IATTX)
		gfp_iattx_read(raw.ptr, &iatt);
	else
		gfp_iatt3_read(raw.ptr, &iatt);
	gfp_mode_text(iatt.mode, mode);
	emit_open(e, key, '{');
	emit_gfid(e, "gfid", iatt.gfid);
	emit_octal(e, "mode", iatt.mode);
	emit_meaning(e, "mode", mode);
	emit_uint(e, "nlink", iatt.nlink);
	emit_uint(e, "uid", iatt.uid);
	emit_uint(e, "gid", iatt.gid);
	emit_uint(e, "size", iatt.size);
	show_times(e, &iatt);
	if (e->is_json)
		show_details(e, &iatt);
	if (kind == GFP_K_IATTX)
		show_extensions(e, &iatt);
	emit_close(e, '}');
}

static bool is_printable(struct gfp_span bytes)
{
	size_t at = 0;

	while (at < bytes.len) {
		size_t size = trace_text_utf8(bytes.ptr + at, bytes.len - at);

		if (size == 0 || bytes.ptr[at] < ' ' || bytes.ptr[at] == 0x7f)
			return false;
		at += size;
	}
	return true;
}

void trace_value_bytes(struct emit *e, const char *key, struct gfp_span bytes)
{
	struct gfp_span text = bytes;

	if (text.len > 0 && text.ptr[text.len - 1] == '\0')
		text.len--;
	if (is_printable(text))
		emit_str(e, key, text);
	else
		trace_value_hex(e, key, bytes, bytes.len, TRACE_HEX_MAX);
}

void trace_value_hex(struct emit *e, const char *key, struct gfp_span bytes,
		     size_t size, size_t max)
{
	if (bytes.len > max)
		bytes.len = max;
	emit_open(e, key, '{');
	emit_uint(e, "size", size);
	if (bytes.len > 0)
		emit_bytes(e, "hex", bytes);
	emit_close(e, '}');
}

void trace_value_undecoded(struct emit *e, const char *key, size_t size,
			   const char *why)
{
	emit_open(e, key, '{');
	emit_uint(e, "undecoded", size);
	emit_word(e, "why", why);
	emit_close(e, '}');
}
