/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_list - lists of the wire: directories, locks, programs.
 */
#include "config.h"

#include "daemon/trace_dict.h"
#include "daemon/trace_list.h"
#include "daemon/trace_value.h"
#include "proto/names.h"

/* Read the entry at *off and show it, or only step over it. */
typedef enum gfp_status (*entry_fn)(struct emit *e, enum gfp_kind kind,
				    struct gfp_span raw, size_t *off,
				    bool is_shown);

static void show_dirent(struct emit *e, enum gfp_kind kind,
			const struct gfp_dirent *entry)
{
	emit_open(e, NULL, '{');
	emit_str(e, "name", entry->name);
	emit_uint(e, "ino", entry->ino);
	emit_uint(e, "cookie", entry->cookie);
	emit_uint(e, "type", entry->type);
	if (kind == GFP_K_DIRPLIST) {
		trace_value_iatt(e, "stat", GFP_K_IATTX, entry->iatt);
		trace_dict_show(e, "dict", entry->dict);
	} else if (kind == GFP_K_DIRPLIST3) {
		trace_value_iatt(e, "stat", GFP_K_IATT3, entry->iatt);
		trace_dict_show_blob(e, "dict", entry->dict);
	}
	emit_close(e, '}');
}

static enum gfp_status next_dirent(struct emit *e, enum gfp_kind kind,
				   struct gfp_span raw, size_t *off,
				   bool is_shown)
{
	struct gfp_dirent entry;
	enum gfp_status status = gfp_dirent_next(kind, raw, off, &entry);

	if (status == GFP_OK && is_shown)
		show_dirent(e, kind, &entry);
	return status;
}

void trace_list_flock(struct emit *e, const char *key,
		      const struct gfp_flock *flock)
{
	const char *type = gfp_lock_type_name(flock->type);

	emit_open(e, key, '{');
	emit_uint(e, "type", flock->type);
	if (type != NULL)
		emit_meaning(e, "type", type);
	emit_uint(e, "whence", flock->whence);
	emit_uint(e, "start", flock->start);
	emit_uint(e, "len", flock->len);
	emit_uint(e, "pid", flock->pid);
	emit_bytes(e, "lk_owner", flock->lk_owner);
	emit_close(e, '}');
}

static enum gfp_status next_lockent(struct emit *e, enum gfp_kind kind,
				    struct gfp_span raw, size_t *off,
				    bool is_shown)
{
	struct gfp_lockent entry;
	enum gfp_status status = gfp_lockent_next(raw, off, &entry);

	(void)kind;
	if (status != GFP_OK || !is_shown)
		return status;
	emit_open(e, NULL, '{');
	trace_list_flock(e, "flock", &entry.flock);
	emit_str(e, "client", entry.client);
	emit_hex(e, "flags", entry.flags);
	emit_close(e, '}');
	return GFP_OK;
}

static enum gfp_status next_progent(struct emit *e, enum gfp_kind kind,
				    struct gfp_span raw, size_t *off,
				    bool is_shown)
{
	struct gfp_progent entry;
	enum gfp_status status = gfp_progent_next(raw, off, &entry);

	(void)kind;
	if (status != GFP_OK || !is_shown)
		return status;
	emit_open(e, NULL, '{');
	emit_str(e, "name", entry.name);
	emit_uint(e, "program", entry.program);
	emit_uint(e, "version", entry.version);
	emit_close(e, '}');
	return GFP_OK;
}

static const entry_fn next_entries[GFP_KIND_LIMIT] = {
	[GFP_K_DIRLIST] = next_dirent,
	[GFP_K_DIRPLIST] = next_dirent,
	[GFP_K_DIRPLIST3] = next_dirent,
	[GFP_K_LOCKLIST] = next_lockent,
	[GFP_K_PROGLIST] = next_progent,
};

void trace_list_show(struct emit *e, const struct gfp_field *field,
		     struct gfp_span raw)
{
	entry_fn next = next_entries[field->kind];
	size_t off = 0, count = 0;

	emit_open(e, field->name, '[');
	while (next(e, field->kind, raw, &off, count < TRACE_ENTRIES_MAX) ==
	       GFP_OK)
		count++;
	if (count > TRACE_ENTRIES_MAX) {
		emit_open(e, NULL, '{');
		emit_uint(e, "more", count - TRACE_ENTRIES_MAX);
		emit_close(e, '}');
	}
	emit_close(e, ']');
}
