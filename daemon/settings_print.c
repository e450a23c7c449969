/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings_print - the configuration, its sample and its manual as text.
 *
 * Owns: nothing. Any thread.
 */
#include "config.h"

#include <ctype.h>
#include <string.h>

#include "daemon/settings_row.h"

enum { WIDTH = 78 };

static const char *const apply_texts[] = {
	[SETTINGS_RELOAD] = "a reload changes it at once",
	[SETTINGS_NEW] = "a reload changes it for sessions that begin later",
	[SETTINGS_RESTART] = "a change needs a restart",
};

/* "$" would begin the name of an environment variable. */
static void print_quoted(const char *text, FILE *out)
{
	putc('"', out);
	for (; *text != '\0'; text++) {
		if (strchr("\"\\$", *text) != NULL)
			putc('\\', out);
		putc(*text, out);
	}
	putc('"', out);
}

static void print_setting(const struct settings_row *row, const char *indent,
			  const char *value, FILE *out)
{
	fprintf(out, "%s%s = ", indent, row->name);
	if (settings_type_is_text(row->type))
		print_quoted(value, out);
	else
		fputs(value, out);
	putc('\n', out);
}

static void print_scope(const void *base, bool is_listener, const char *indent,
			FILE *out)
{
	char value[SETTINGS_VALUE_MAX];

	for (size_t i = 0; i < SETTINGS_ROW_COUNT; i++) {
		const struct settings_row *row = &settings_rows[i];

		if (row->is_listener != is_listener)
			continue;
		settings_value_print(row, (const char *)base + row->offset,
				     value, sizeof(value));
		print_setting(row, indent, value, out);
	}
}

void settings_print(const struct settings *s, FILE *out)
{
	print_scope(s, false, "", out);
	for (size_t i = 0; i < s->listener_count; i++) {
		fputs("\nlistener ", out);
		print_quoted(s->listeners[i].name, out);
		fputs(" {\n", out);
		print_scope(&s->listeners[i], true, "\t", out);
		fputs("}\n", out);
	}
}

/* The words of a text, in lines that begin with lead. */
static void print_wrapped(const char *lead, const char *text, FILE *out)
{
	size_t start = strlen(lead) + (lead[0] == '\t' ? 7 : 0);
	size_t column = 0;

	while (*text != '\0') {
		size_t word = strcspn(text, " ");

		if (column == 0 || column + 1 + word > WIDTH) {
			fprintf(out, "%s%s", column > 0 ? "\n" : "", lead);
			column = start;
		} else {
			putc(' ', out);
			column++;
		}
		fprintf(out, "%.*s", (int)word, text);
		column += word;
		text += word;
		text += strspn(text, " ");
	}
	putc('\n', out);
}

/* Addresses have no default, so the sample shows one, in force. */
static const char *sample_address(const struct settings_row *row)
{
	if (row->type == SETTINGS_LISTEN_ADDR)
		return "127.0.0.1:24107";
	if (row->type == SETTINGS_BRICK_ADDR)
		return "127.0.0.1:49152";
	return NULL;
}

/* "A whole number from 0 to 256; a change needs a restart." */
static void describe_row(const struct settings_row *row, char *out, size_t cap)
{
	const char *apply = apply_texts[row->apply];
	char what[256];

	/* The help of texts and addresses says of what form they are. */
	if (row->type == SETTINGS_STRING) {
		snprintf(out, cap, "%s.", apply);
	} else if (sample_address(row) != NULL) {
		snprintf(out, cap, "required; %s.", apply);
	} else {
		settings_value_describe(row, what, sizeof(what));
		snprintf(out, cap, "%s; %s.", what, apply);
	}
	out[0] = (char)toupper((unsigned char)out[0]);
}

static void print_sample_row(const struct settings_row *row, FILE *out)
{
	const char *lead = row->is_listener ? "\t# " : "# ";
	const char *address = sample_address(row);
	char text[512];

	putc('\n', out);
	print_wrapped(lead, row->help, out);
	describe_row(row, text, sizeof(text));
	print_wrapped(lead, text, out);
	if (address != NULL)
		print_setting(row, row->is_listener ? "\t" : "", address, out);
	else
		print_setting(row, row->is_listener ? "\t#" : "#",
			      row->default_text, out);
}

static void print_sample_scope(bool is_listener, FILE *out)
{
	for (size_t i = 0; i < SETTINGS_ROW_COUNT; i++)
		if (settings_rows[i].is_listener == is_listener)
			print_sample_row(&settings_rows[i], out);
}

void settings_print_sample(FILE *out)
{
	fputs("# Sample configuration of forebrickd(8); forebrick.conf(5) "
	      "explains the form.\n"
	      "# An option in a comment has its default. Sizes take KiB, MiB, "
	      "GiB, TiB, times\n"
	      "# us, ms, s, min, h; a plain number is bytes or seconds.\n",
	      out);
	print_sample_scope(false, out);
	fputs("\n# One section for each brick; the name is what log and trace "
	      "call it.\nlistener \"main\" {", out);
	print_sample_scope(true, out);
	fputs("}\n", out);
}

/* A word at the begin of a line must not look like a request. */
static void print_mdoc_word(const char *word, size_t len, bool is_first,
			    FILE *out)
{
	if (is_first && strchr(".'", word[0]) != NULL)
		fputs("\\&", out);
	for (size_t i = 0; i < len; i++) {
		if (word[i] == '\\')
			fputs("\\e", out);
		else
			putc(word[i], out);
	}
}

/* mdoc wants short lines, and each sentence on lines of its own. */
static void print_mdoc_text(const char *text, FILE *out)
{
	size_t column = 0;

	while (*text != '\0') {
		size_t word = strcspn(text, " ");

		if (column > 0 && column + 1 + word > WIDTH) {
			putc('\n', out);
			column = 0;
		} else if (column > 0) {
			putc(' ', out);
			column++;
		}
		print_mdoc_word(text, word, column == 0, out);
		column += word;
		if (text[word - 1] == '.' && text[word] != '\0') {
			putc('\n', out);
			column = 0;
		}
		text += word;
		text += strspn(text, " ");
	}
	putc('\n', out);
}

static void print_mdoc_row(const struct settings_row *row, FILE *out)
{
	char text[512];

	fprintf(out, ".It Cm %s Li = Ar %s\n", row->name,
		settings_type_placeholder(row->type));
	print_mdoc_text(row->help, out);
	describe_row(row, text, sizeof(text));
	print_mdoc_text(text, out);
	if (row->default_text[0] != '\0')
		fprintf(out, "The default is\n.Li %s .\n", row->default_text);
}

void settings_print_mdoc(bool is_listener, FILE *out)
{
	for (size_t i = 0; i < SETTINGS_ROW_COUNT; i++)
		if (settings_rows[i].is_listener == is_listener)
			print_mdoc_row(&settings_rows[i], out);
}

/* "  --max-queue SIZE" */
static void print_help_head(const struct settings_row *row, FILE *out)
{
	fputs("  --", out);
	for (const char *p = row->name; *p != '\0'; p++)
		putc(*p == '_' ? '-' : *p, out);
	putc(' ', out);
	for (const char *p = settings_type_placeholder(row->type); *p; p++)
		putc(toupper((unsigned char)*p), out);
	if (row->default_text[0] != '\0')
		fprintf(out, "  [%s]", row->default_text);
	putc('\n', out);
}

void settings_print_help(FILE *out)
{
	for (size_t i = 0; i < SETTINGS_ROW_COUNT; i++) {
		print_help_head(&settings_rows[i], out);
		print_wrapped("        ", settings_rows[i].help, out);
	}
}
