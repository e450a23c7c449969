/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings - the configuration, as one immutable snapshot.
 *
 * A value comes from the first of these that has it: for an option of a
 * listener its section, the command line, the default; for a global option the
 * command line, the file, the default.
 *
 * Owns: nothing; a snapshot belongs to who holds references. Loading on the
 * main thread; references on any.
 */
#include "config.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "daemon/addr.h"
#include "daemon/settings_file.h"

static const char main_title[] = "main";

struct load {
	struct settings *s;
	const char *path;
	struct settings_file file;
	const struct settings_override *overrides;
	size_t override_count;
	struct settings_problems problems;
};

static void free_texts(void *base, bool is_listener)
{
	for (size_t i = 0; i < SETTINGS_ROW_COUNT; i++) {
		const struct settings_row *row = &settings_rows[i];

		if (row->is_listener == is_listener &&
		    settings_type_is_text(row->type))
			free(*(char **)settings_row_field(row, base));
	}
}

struct settings *settings_get(struct settings *s)
{
	unsigned before = atomic_fetch_add(&s->refs, 1);

	assert(before > 0);
	(void)before;
	return s;
}

void settings_put(struct settings *s)
{
	if (s == NULL || atomic_fetch_sub(&s->refs, 1) > 1)
		return;
	for (size_t i = 0; i < s->listener_count; i++) {
		free_texts(&s->listeners[i], true);
		free(s->listeners[i].name);
	}
	free_texts(s, false);
	free(s->listeners);
	free(s);
}

/* Addresses have no default: the field stays NULL until one is given. */
static bool is_required(const struct settings_row *row)
{
	return row->type == SETTINGS_LISTEN_ADDR ||
	       row->type == SETTINGS_BRICK_ADDR;
}

static void set_defaults(struct load *l, void *base, bool is_listener)
{
	char why[512];

	for (size_t i = 0; i < SETTINGS_ROW_COUNT; i++) {
		const struct settings_row *row = &settings_rows[i];

		if (row->is_listener != is_listener || is_required(row))
			continue;
		if (!settings_value_parse(row, row->default_text,
					  settings_row_field(row, base), why,
					  sizeof(why)))
			settings_problem(&l->problems, "default of", 0, "%s %s",
					 row->name, why);
	}
}

/* The option as it is written on the command line. */
static void spell_option(const struct settings_row *row, char *out, size_t cap)
{
	snprintf(out, cap, "--%s", row->name);
	for (; *out != '\0'; out++)
		if (*out == '_')
			*out = '-';
}

/* Each once, however many listeners it is the default for. */
static void check_overrides(struct load *l)
{
	for (size_t i = 0; i < l->override_count; i++) {
		const struct settings_override *o = &l->overrides[i];
		const struct settings_row *row = settings_row_find(o->name);
		union { char *text; uint64_t number; } scratch = { NULL };
		char option[64], why[512];

		if (row == NULL) {
			settings_problem(&l->problems, o->name, 0,
					 "there is no such option");
			continue;
		}
		if (!settings_value_parse(row, o->value, &scratch, why,
					  sizeof(why))) {
			spell_option(row, option, sizeof(option));
			settings_problem(&l->problems, option, 0, "\"%s\" %s",
					 o->value, why);
		}
		if (settings_type_is_text(row->type))
			free(scratch.text);
	}
}

/* What is not valid has been reported by check_overrides(). */
static void apply_override(const struct settings_row *row, const char *value,
			   void *base)
{
	char why[512];

	(void)settings_value_parse(row, value, settings_row_field(row, base),
				   why, sizeof(why));
}

static void apply_overrides(struct load *l, void *base, bool is_listener)
{
	for (size_t i = 0; i < l->override_count; i++) {
		const struct settings_override *o = &l->overrides[i];
		const struct settings_row *row = settings_row_find(o->name);

		if (row != NULL && row->is_listener == is_listener &&
		    !is_required(row))
			apply_override(row, o->value, base);
	}
}

static void apply_items(struct load *l, void *base, int scope)
{
	char why[512];

	for (size_t i = 0; i < l->file.item_count; i++) {
		const struct settings_item *item = &l->file.items[i];

		if (item->scope == scope &&
		    !settings_value_parse(item->row, item->value,
					  settings_row_field(item->row, base),
					  why, sizeof(why)))
			settings_problem(&l->problems, l->path, item->line,
					 "%s = \"%s\" %s", item->row->name,
					 item->value, why);
	}
}

static struct listener_settings *add_listener(struct load *l,
					      const char *title)
{
	struct settings *s = l->s;
	struct listener_settings *fresh = &s->listeners[s->listener_count];

	fresh->name = strdup(title);
	if (fresh->name == NULL) {
		settings_problem(&l->problems, title, 0, "out of memory");
		return NULL;
	}
	s->listener_count++;
	set_defaults(l, fresh, true);
	apply_overrides(l, fresh, true);
	return fresh;
}

/* A name appears in log lines and in a printed configuration. */
static void check_title(struct load *l, const struct settings_section *section)
{
	size_t len = strlen(section->title);

	for (const char *p = section->title; *p != '\0'; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			len = 0;
	if (len == 0 || len > 63)
		settings_problem(&l->problems, l->path, section->line,
				 "a listener's name has 1 to 63 bytes and no "
				 "control characters");
}

static void add_file_listeners(struct load *l)
{
	for (size_t i = 0; i < l->file.section_count; i++) {
		const struct settings_section *section = &l->file.sections[i];
		struct listener_settings *fresh;

		check_title(l, section);
		fresh = add_listener(l, section->title);
		if (fresh != NULL)
			apply_items(l, fresh, (int)i);
	}
}

/* The value for a required option; one only, for the one listener "main". */
static const char *find_override(struct load *l, const struct settings_row *row)
{
	const char *value = NULL;
	char option[64];

	for (size_t i = 0; i < l->override_count; i++) {
		if (strcmp(l->overrides[i].name, row->name) != 0)
			continue;
		if (value != NULL) {
			spell_option(row, option, sizeof(option));
			settings_problem(&l->problems, option, 0, "given "
					 "twice; several listeners need a "
					 "configuration file");
		}
		value = l->overrides[i].value;
	}
	return value;
}

static void add_main_listener(struct load *l)
{
	const struct settings_row *listen = settings_row_find("listen");
	const struct settings_row *brick = settings_row_find("brick");
	const char *listen_text = find_override(l, listen);
	const char *brick_text = find_override(l, brick);
	struct listener_settings *fresh;

	if (listen_text == NULL && brick_text == NULL)
		return;
	if (listen_text == NULL || brick_text == NULL) {
		settings_problem(&l->problems, "command line", 0,
				 "--listen ADDR:PORT and --brick HOST:PORT go "
				 "together: one of them is missing");
		return;
	}
	for (size_t i = 0; i < l->s->listener_count; i++)
		if (strcmp(l->s->listeners[i].name, main_title) == 0)
			settings_problem(&l->problems, "--listen", 0,
					 "%s has a listener \"%s\" already",
					 l->path, main_title);
	fresh = add_listener(l, main_title);
	if (fresh == NULL)
		return;
	apply_override(listen, listen_text, fresh);
	apply_override(brick, brick_text, fresh);
}

/* Where the listener with that index came from. */
static const char *listener_origin(const struct load *l, size_t i, int *line)
{
	if (i >= l->file.section_count) {
		*line = 0;
		return "command line";
	}
	*line = l->file.sections[i].line;
	return l->path;
}

static void check_required(struct load *l, size_t listener)
{
	struct listener_settings *ls = &l->s->listeners[listener];
	int line;
	const char *where = listener_origin(l, listener, &line);

	for (size_t i = 0; i < SETTINGS_ROW_COUNT; i++) {
		const struct settings_row *row = &settings_rows[i];
		char right[128];

		/* A value that is there but wrong has its problem already. */
		if (!is_required(row) ||
		    *(char **)settings_row_field(row, ls) != NULL ||
		    listener >= l->file.section_count ||
		    settings_file_find(&l->file, (int)listener, row) != NULL)
			continue;
		settings_value_describe(row, right, sizeof(right));
		settings_problem(&l->problems, where, line,
				 "listener \"%s\" has no %s: it takes %s",
				 ls->name, row->name, right);
	}
}

static bool is_same_address(const char *a, const char *b)
{
	struct addr_spec x, y;
	const char *why;

	if (a == NULL || b == NULL || !addr_parse(a, &x, &why) ||
	    !addr_parse(b, &y, &why) || x.is_unix != y.is_unix)
		return false;
	if (x.is_unix)
		return strcmp(x.path, y.path) == 0;
	return strcasecmp(x.host, y.host) == 0 && x.port == y.port;
}

static void check_unique(struct load *l, size_t listener)
{
	struct listener_settings *list = l->s->listeners;
	int line;
	const char *where = listener_origin(l, listener, &line);

	for (size_t i = 0; i < listener; i++)
		if (is_same_address(list[i].listen, list[listener].listen))
			settings_problem(&l->problems, where, line,
					 "listeners \"%s\" and \"%s\" have the "
					 "same address %s; each needs its own",
					 list[i].name, list[listener].name,
					 list[listener].listen);
}

static void check_whole(struct load *l)
{
	for (size_t i = 0; i < l->s->listener_count; i++) {
		check_required(l, i);
		check_unique(l, i);
	}
	if (l->s->listener_count > 0 || l->problems.count > 0)
		return;
	if (l->path != NULL)
		settings_problem(&l->problems, l->path, 0, "there is no "
				 "listener; add listener \"NAME\" { listen = "
				 "\"ADDR:PORT\"  brick = \"HOST:PORT\" }");
	else
		settings_problem(&l->problems, "command line", 0,
				 "there is no listener; give --listen "
				 "ADDR:PORT --brick HOST:PORT, or -f FILE");
}

static void load_all(struct load *l)
{
	bool is_whole = l->path == NULL ||
			settings_file_read(l->path, &l->file, &l->problems);

	l->s->listeners = calloc(l->file.section_count + 1,
				 sizeof(*l->s->listeners));
	if (l->s->listeners == NULL) {
		settings_problem(&l->problems, "settings", 0, "out of memory");
		return;
	}
	check_overrides(l);
	set_defaults(l, l->s, false);
	apply_items(l, l->s, SETTINGS_GLOBAL_SCOPE);
	apply_overrides(l, l->s, false);
	add_file_listeners(l);
	add_main_listener(l);
	/* What comes after a syntax error may not be missing at all. */
	if (is_whole)
		check_whole(l);
}

struct settings *settings_load(const char *path,
			       const struct settings_override *overrides,
			       size_t count, struct settings_error *error)
{
	struct load l = { .path = path, .overrides = overrides,
			  .override_count = count,
			  .problems = { .error = error } };

	error->text[0] = '\0';
	l.s = calloc(1, sizeof(*l.s));
	if (l.s == NULL) {
		settings_problem(&l.problems, "settings", 0, "out of memory");
		return NULL;
	}
	atomic_init(&l.s->refs, 1);
	load_all(&l);
	settings_file_free(&l.file);
	if (l.problems.count == 0)
		return l.s;
	settings_put(l.s);
	return NULL;
}

static void compare(const void *from, const void *to, bool is_listener,
		    const char *where, struct settings_problems *problems)
{
	for (size_t i = 0; i < SETTINGS_ROW_COUNT; i++) {
		const struct settings_row *row = &settings_rows[i];
		const void *a = (const char *)from + row->offset;
		const void *b = (const char *)to + row->offset;
		char old[SETTINGS_VALUE_MAX], new[SETTINGS_VALUE_MAX];

		if (row->is_listener != is_listener ||
		    row->apply != SETTINGS_RESTART ||
		    settings_value_equal(row, a, b))
			continue;
		settings_value_print(row, a, old, sizeof(old));
		settings_value_print(row, b, new, sizeof(new));
		settings_problem(problems, where, 0, "%s goes from %s to %s, "
				 "which needs a restart", row->name, old, new);
	}
}

bool settings_can_reload(const struct settings *from, const struct settings *to,
			 struct settings_error *error)
{
	struct settings_problems problems = { .error = error };
	char where[80];

	error->text[0] = '\0';
	compare(from, to, false, "configuration", &problems);
	for (size_t i = 0; i < to->listener_count; i++)
		for (size_t j = 0; j < from->listener_count; j++) {
			const struct listener_settings *a = &from->listeners[j];
			const struct listener_settings *b = &to->listeners[i];

			if (strcmp(a->listen, b->listen) != 0)
				continue;
			snprintf(where, sizeof(where), "listener \"%s\"",
				 b->name);
			compare(a, b, true, where, &problems);
		}
	return problems.count == 0;
}
