/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings_file - a configuration file taken apart by libconfuse.
 *
 * libconfuse stops at an option it does not know. To report all of them, each
 * such name is made known, as one to be refused, and the text parsed again.
 *
 * Owns: the parse under way, only while settings_file_read() runs. Main thread.
 */
#include "config.h"

#include <confuse.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/settings_file.h"
#include "daemon/settings_text.h"

enum {
	UNKNOWN_MAX = 16,	/* names until we give up finding more */
	OPTION_MAX = SETTINGS_ROW_COUNT + UNKNOWN_MAX + 2,
};

struct parse {
	const char *path;
	const char *text;
	struct settings_file *out;
	struct settings_problems *problems;
	cfg_t *root;
	char *unknown[UNKNOWN_MAX];
	size_t unknown_count;
	bool has_more_unknown;
};

/* libconfuse hands no pointer to its callbacks, and its scanner is global. */
static struct parse *parsing;

static bool is_section(const cfg_t *cfg)
{
	return cfg != parsing->root;
}

/* libconfuse adds a section before it reads what is in it: the last one. */
static int current_scope(const cfg_t *cfg)
{
	if (!is_section(cfg))
		return SETTINGS_GLOBAL_SCOPE;
	return (int)cfg_size(parsing->root, "listener") - 1;
}

static void add_item(const struct settings_row *row, int scope, int line,
		     const char *value)
{
	struct settings_file *out = parsing->out;
	struct settings_item *items = realloc(out->items,
			(out->item_count + 1) * sizeof(*items));
	char *copy = strdup(value);

	if (items != NULL)
		out->items = items;
	if (items == NULL || copy == NULL) {
		settings_problem(parsing->problems, parsing->path, line,
				 "out of memory");
		free(copy);
		return;
	}
	items[out->item_count++] = (struct settings_item){
		.row = row, .scope = scope, .line = line, .value = copy };
}

/* Nothing here ends the parse: what follows may have problems, too. */
static int take_value(cfg_t *cfg, cfg_opt_t *opt, const char *value,
		      void *result)
{
	const struct settings_row *row = settings_row_find(opt->name);
	const struct settings_item *earlier;
	int scope = current_scope(cfg);

	*(const char **)result = value;
	earlier = settings_file_find(parsing->out, scope, row);
	if (row->is_listener && !is_section(cfg))
		settings_problem(parsing->problems, parsing->path, cfg->line,
				 "%s belongs into a listener \"NAME\" { }",
				 row->name);
	else if (!row->is_listener && is_section(cfg))
		settings_problem(parsing->problems, parsing->path, cfg->line,
				 "%s belongs outside of listener sections",
				 row->name);
	else if (earlier != NULL)
		settings_problem(parsing->problems, parsing->path, cfg->line,
				 "%s is set twice, first on line %d", row->name,
				 earlier->line);
	else
		add_item(row, scope, cfg->line, value);
	return 0;
}

static void refuse_name(const char *name, int line)
{
	const struct settings_row *nearest = settings_row_nearest(name);

	if (strcmp(name, "listener") == 0)
		settings_problem(parsing->problems, parsing->path, line,
				 "a listener cannot be part of another; is a "
				 "closing } missing?");
	else if (nearest != NULL)
		settings_problem(parsing->problems, parsing->path, line,
				 "there is no option %s; is %s meant?", name,
				 nearest->name);
	else
		settings_problem(parsing->problems, parsing->path, line,
				 "there is no option %s; forebrick.conf(5) "
				 "lists what there is", name);
}

static int refuse_value(cfg_t *cfg, cfg_opt_t *opt, const char *value,
			void *result)
{
	*(const char **)result = value;
	refuse_name(opt->name, cfg->line);
	return 0;
}

static bool is_unknown(const char *name)
{
	for (size_t i = 0; i < parsing->unknown_count; i++)
		if (strcmp(parsing->unknown[i], name) == 0)
			return true;
	return false;
}

/* Make the name known to the next parse; here, when that is not possible. */
static void add_unknown(const char *name, int line)
{
	char *copy = NULL;

	if (parsing->unknown_count < UNKNOWN_MAX && !is_unknown(name) &&
	    strcmp(name, "listener") != 0)
		copy = strdup(name);
	if (copy == NULL) {
		refuse_name(name, line);
		return;
	}
	parsing->unknown[parsing->unknown_count++] = copy;
	parsing->has_more_unknown = true;
}

static const char general_form[] =
	"the form is NAME = VALUE or listener \"NAME\" { ... }";

/* libconfuse says what is wrong; this says what is right. */
static const char *right_form(const char *fmt)
{
	static const struct {
		const char *wrong;
		const char *right;
	} rows[] = {
		{ "found duplicate title", "each listener has its own name" },
		{ "premature end of file", "a value or a } is missing" },
		{ "unexpected closing brace", "there is no { for it" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strncmp(fmt, rows[i].wrong, strlen(rows[i].wrong)) == 0)
			return rows[i].right;
	return general_form;
}

__attribute__((format(printf, 2, 0)))
static void take_error(cfg_t *cfg, const char *fmt, va_list ap)
{
	static const char no_such[] = "no such option";
	static const char no_equals[] = "missing equal sign after option";
	char text[256];
	va_list names;

	if (strncmp(fmt, no_such, sizeof(no_such) - 1) == 0) {
		add_unknown(va_arg(ap, const char *), cfg->line);
		return;
	}
	va_copy(names, ap);
	if (strncmp(fmt, no_equals, sizeof(no_equals) - 1) == 0) {
		const char *name = va_arg(names, const char *);

		if (is_unknown(name)) {
			refuse_name(name, cfg->line);
			va_end(names);
			return;
		}
	}
	va_end(names);
	vsnprintf(text, sizeof(text), fmt, ap);
	settings_problem(parsing->problems, parsing->path, cfg->line,
			 "%s; %s", text, right_form(fmt));
}

static size_t add_options(cfg_opt_t *options)
{
	size_t n = 0;

	for (size_t i = 0; i < SETTINGS_ROW_COUNT; i++)
		options[n++] = (cfg_opt_t)CFG_STR_CB(settings_rows[i].name,
					NULL, CFGF_NODEFAULT, take_value);
	for (size_t i = 0; i < parsing->unknown_count; i++)
		options[n++] = (cfg_opt_t)CFG_STR_CB(parsing->unknown[i], NULL,
					CFGF_NODEFAULT, refuse_value);
	return n;
}

static void take_sections(void)
{
	struct settings_file *out = parsing->out;
	size_t count = cfg_size(parsing->root, "listener");

	out->sections = calloc(count + 1, sizeof(*out->sections));
	for (size_t i = 0; out->sections != NULL && i < count; i++) {
		cfg_t *section = cfg_getnsec(parsing->root, "listener",
					     (unsigned)i);
		struct settings_section *s = &out->sections[i];

		s->title = strdup(cfg_title(section));
		if (s->title == NULL)
			break;
		s->line = section->line;
		out->section_count++;
	}
	if (out->section_count < count)
		settings_problem(parsing->problems, parsing->path, 0,
				 "out of memory");
}

/* An empty name, for one, ends libconfuse without a word. */
static void explain_failure(unsigned count_before)
{
	if (parsing->problems->count == count_before &&
	    !parsing->has_more_unknown)
		settings_problem(parsing->problems, parsing->path,
				 parsing->root->line,
				 "here or later something has no meaning; %s",
				 general_form);
}

static bool parse_once(void)
{
	cfg_opt_t section[OPTION_MAX], root[OPTION_MAX];
	unsigned count_before = parsing->problems->count;
	bool ok;
	size_t n;

	n = add_options(section);
	section[n] = (cfg_opt_t)CFG_END();
	n = add_options(root);
	root[n++] = (cfg_opt_t)CFG_SEC("listener", section, CFGF_TITLE |
				       CFGF_MULTI | CFGF_NO_TITLE_DUPES);
	root[n] = (cfg_opt_t)CFG_END();

	parsing->has_more_unknown = false;
	parsing->root = cfg_init(root, CFGF_NONE);
	if (parsing->root == NULL)
		return false;
	cfg_set_error_function(parsing->root, take_error);
	ok = cfg_parse_buf(parsing->root, parsing->text) == CFG_SUCCESS;
	if (!ok)
		explain_failure(count_before);
	take_sections();
	cfg_free(parsing->root);
	return ok;
}

bool settings_file_read(const char *path, struct settings_file *out,
			struct settings_problems *problems)
{
	struct settings_problems before = *problems;
	char *text = settings_text_read(path, problems);
	struct parse parse = { .path = path, .text = text, .out = out,
			       .problems = problems };
	bool ok;

	memset(out, 0, sizeof(*out));
	if (text == NULL)
		return false;
	parsing = &parse;
	for (;;) {
		ok = parse_once();
		if (!parse.has_more_unknown)
			break;
		settings_file_free(out);
		*problems = before;
		problems->error->text[problems->len] = '\0';
	}
	parsing = NULL;
	for (size_t i = 0; i < parse.unknown_count; i++)
		free(parse.unknown[i]);
	free(text);
	return ok;
}

const struct settings_item *
settings_file_find(const struct settings_file *file, int scope,
		   const struct settings_row *row)
{
	for (size_t i = 0; i < file->item_count; i++)
		if (file->items[i].scope == scope && file->items[i].row == row)
			return &file->items[i];
	return NULL;
}

void settings_file_free(struct settings_file *file)
{
	for (size_t i = 0; i < file->item_count; i++)
		free(file->items[i].value);
	for (size_t i = 0; i < file->section_count; i++)
		free(file->sections[i].title);
	free(file->items);
	free(file->sections);
	memset(file, 0, sizeof(*file));
}
