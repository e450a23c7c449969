/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings_value - the types of values: text to field, field to text.
 *
 * Owns: nothing. Any thread.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "daemon/addr.h"
#include "daemon/settings_row.h"

enum verdict { VALUE_OK, VALUE_MALFORMED, VALUE_OUT_OF_RANGE };

struct unit {
	const char *suffix;
	uint64_t factor;
};

/* The first that divides a value is the one it is printed with. */
static const struct unit size_units[] = {
	{ "TiB", UINT64_C(1) << 40 },
	{ "GiB", UINT64_C(1) << 30 },
	{ "MiB", UINT64_C(1) << 20 },
	{ "KiB", UINT64_C(1) << 10 },
	{ "", 1 },
	/* Powers of 1024 as well: that is how GlusterFS reads them. */
	{ "TB", UINT64_C(1) << 40 },
	{ "GB", UINT64_C(1) << 30 },
	{ "MB", UINT64_C(1) << 20 },
	{ "KB", UINT64_C(1) << 10 },
	{ "T", UINT64_C(1) << 40 },
	{ "G", UINT64_C(1) << 30 },
	{ "M", UINT64_C(1) << 20 },
	{ "K", UINT64_C(1) << 10 },
	{ "B", 1 },
	{ NULL, 0 }
};

static const struct unit time_units[] = {
	{ "h", UINT64_C(3600000000) },
	{ "min", 60000000 },
	{ "s", 1000000 },
	{ "ms", 1000 },
	{ "us", 1 },
	{ "", 1000000 },
	{ NULL, 0 }
};

static const char *const trace_format_names[] = {
	[TRACE_TEXT] = "text",
	[TRACE_JSON] = "json",
	NULL
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static const struct unit *find_unit(const struct unit *units,
				    const char *suffix)
{
	for (; units->suffix != NULL; units++)
		if (strcasecmp(units->suffix, suffix) == 0)
			return units;
	return NULL;
}

static enum verdict parse_quantity(const char *text, const struct unit *units,
				   uint64_t *out)
{
	const struct unit *unit;
	unsigned long long n;
	char *end;

	if (!is_digit(text[0]))
		return VALUE_MALFORMED;
	errno = 0;
	n = strtoull(text, &end, 10);
	unit = find_unit(units, end);
	if (unit == NULL)
		return VALUE_MALFORMED;
	if (errno == ERANGE || __builtin_mul_overflow(n, unit->factor, out))
		return VALUE_OUT_OF_RANGE;
	return VALUE_OK;
}

/* zero is how to write 0, which every unit divides. */
static void print_quantity(uint64_t n, const struct unit *units,
			   const char *zero, char *out, size_t cap)
{
	if (n == 0) {
		snprintf(out, cap, "%s", zero);
		return;
	}
	while (n % units->factor != 0)
		units++;
	snprintf(out, cap, "%" PRIu64 "%s", n / units->factor, units->suffix);
}

static enum verdict parse_quantity_field(const struct settings_row *row,
					 const struct unit *units,
					 const char *text, void *field)
{
	uint64_t n, min, max;
	enum verdict verdict = parse_quantity(text, units, &n);

	if (verdict != VALUE_OK)
		return verdict;
	if (parse_quantity(row->min_text, units, &min) == VALUE_OK && n < min)
		return VALUE_OUT_OF_RANGE;
	if (parse_quantity(row->max_text, units, &max) == VALUE_OK && n > max)
		return VALUE_OUT_OF_RANGE;
	*(uint64_t *)field = n;
	return VALUE_OK;
}

static enum verdict parse_bytes(const struct settings_row *row,
				const char *text, void *field,
				const char **why)
{
	(void)why;
	return parse_quantity_field(row, size_units, text, field);
}

static void print_bytes(const void *field, char *out, size_t cap)
{
	print_quantity(*(const uint64_t *)field, size_units, "0", out, cap);
}

static enum verdict parse_time(const struct settings_row *row,
			       const char *text, void *field,
			       const char **why)
{
	(void)why;
	return parse_quantity_field(row, time_units, text, field);
}

static void print_time(const void *field, char *out, size_t cap)
{
	print_quantity(*(const uint64_t *)field, time_units, "0s", out, cap);
}

static enum verdict parse_number(const char *text, int64_t *out)
{
	char *end;

	if (!is_digit(text[text[0] == '-']))
		return VALUE_MALFORMED;
	errno = 0;
	*out = strtoll(text, &end, 10);
	if (*end != '\0')
		return VALUE_MALFORMED;
	return errno == ERANGE ? VALUE_OUT_OF_RANGE : VALUE_OK;
}

static enum verdict parse_int(const struct settings_row *row,
			      const char *text, void *field,
			      const char **why)
{
	int64_t n, min, max;
	enum verdict verdict = parse_number(text, &n);

	(void)why;
	if (verdict != VALUE_OK)
		return verdict;
	if (parse_number(row->min_text, &min) == VALUE_OK && n < min)
		return VALUE_OUT_OF_RANGE;
	if (parse_number(row->max_text, &max) == VALUE_OK && n > max)
		return VALUE_OUT_OF_RANGE;
	*(int64_t *)field = n;
	return VALUE_OK;
}

static void print_int(const void *field, char *out, size_t cap)
{
	snprintf(out, cap, "%" PRId64, *(const int64_t *)field);
}

/* Between 0 and 0777; a set-id or sticky bit means nothing on a socket. */
static enum verdict parse_mode(const struct settings_row *row,
			       const char *text, void *field,
			       const char **why)
{
	unsigned long n;
	char *end;

	(void)row;
	(void)why;
	if (!is_digit(text[0]))
		return VALUE_MALFORMED;
	n = strtoul(text, &end, 8);
	if (*end != '\0')
		return VALUE_MALFORMED;
	if (n > 0777)
		return VALUE_OUT_OF_RANGE;
	*(uint32_t *)field = (uint32_t)n;
	return VALUE_OK;
}

static void print_mode(const void *field, char *out, size_t cap)
{
	snprintf(out, cap, "%04" PRIo32, *(const uint32_t *)field);
}

static enum verdict parse_bool(const struct settings_row *row,
			       const char *text, void *field,
			       const char **why)
{
	static const struct {
		const char *word;
		bool value;
	} words[] = {
		{ "yes", true }, { "on", true }, { "true", true },
		{ "no", false }, { "off", false }, { "false", false },
	};

	(void)row;
	(void)why;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcasecmp(words[i].word, text) == 0) {
			*(bool *)field = words[i].value;
			return VALUE_OK;
		}
	}
	return VALUE_MALFORMED;
}

static void print_bool(const void *field, char *out, size_t cap)
{
	snprintf(out, cap, "%s", *(const bool *)field ? "yes" : "no");
}

static enum verdict parse_string(const struct settings_row *row,
				 const char *text, void *field,
				 const char **why)
{
	char *copy;

	(void)row;
	(void)why;
	if (strlen(text) >= SETTINGS_VALUE_MAX)
		return VALUE_OUT_OF_RANGE;
	for (const char *p = text; *p != '\0'; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			return VALUE_MALFORMED;
	copy = strdup(text);
	if (copy == NULL)
		return VALUE_OUT_OF_RANGE;
	free(*(char **)field);
	*(char **)field = copy;
	return VALUE_OK;
}

static void print_string(const void *field, char *out, size_t cap)
{
	snprintf(out, cap, "%s", *(char *const *)field);
}

/* Syntax only: names are resolved when the address is used. */
static enum verdict parse_listen_addr(const struct settings_row *row,
				      const char *text, void *field,
				      const char **why)
{
	struct addr_spec spec;

	if (!addr_parse(text, &spec, why))
		return VALUE_MALFORMED;
	return parse_string(row, text, field, why);
}

static enum verdict parse_brick_addr(const struct settings_row *row,
				     const char *text, void *field,
				     const char **why)
{
	struct addr_spec spec;

	if (!addr_parse(text, &spec, why))
		return VALUE_MALFORMED;
	if (!spec.is_unix && (spec.host[0] == '\0' || spec.port == 0)) {
		*why = "a brick has a host and a port from 1: HOST:PORT";
		return VALUE_MALFORMED;
	}
	return parse_string(row, text, field, why);
}

/* An enumeration has names, and no functions of its own. */
static const struct type {
	const char *placeholder; /* of a value: "time" */
	const char *what;	/* for the reader: "a time" */
	const char *note;	/* "" or what an error adds */
	size_t size;		/* of the field; 0: it is a char * */
	enum verdict (*parse)(const struct settings_row *row, const char *text,
			      void *field, const char **why);
	void (*print)(const void *field, char *out, size_t cap);
	const char *const *names;
} types[SETTINGS_TYPE_LIMIT] = {
	[SETTINGS_STRING] = {
		"text",
		"text without control characters, at most 4095 bytes", "",
		0, parse_string, print_string, NULL },
	[SETTINGS_LISTEN_ADDR] = {
		"address", "ADDR:PORT, [ADDR]:PORT, :PORT or unix:PATH", "",
		0, parse_listen_addr, print_string, NULL },
	[SETTINGS_BRICK_ADDR] = {
		"address", "HOST:PORT, [ADDR]:PORT or unix:PATH", "",
		0, parse_brick_addr, print_string, NULL },
	[SETTINGS_INT] = {
		"number", "a whole number", "",
		sizeof(int64_t), parse_int, print_int, NULL },
	[SETTINGS_BOOL] = {
		"yes|no", "yes or no", "",
		sizeof(bool), parse_bool, print_bool, NULL },
	[SETTINGS_BYTES] = {
		"size", "a size", " (units: KiB, MiB, GiB, TiB)",
		sizeof(uint64_t), parse_bytes, print_bytes, NULL },
	[SETTINGS_TIME] = {
		"time", "a time", " (units: us, ms, s, min, h)",
		sizeof(uint64_t), parse_time, print_time, NULL },
	[SETTINGS_MODE] = {
		"mode", "an octal permission from 0000 to 0777", "",
		sizeof(uint32_t), parse_mode, print_mode, NULL },
	[SETTINGS_LOG_LEVEL] = {
		"level", "", "", sizeof(int), NULL, NULL, log_level_names },
	[SETTINGS_TRACE_FORMAT] = {
		"format", "", "", sizeof(int), NULL, NULL,
		trace_format_names },
};

static enum verdict parse_name(const char *const *names, const char *text,
			       void *field)
{
	for (int i = 0; names[i] != NULL; i++) {
		if (strcmp(names[i], text) == 0) {
			*(int *)field = i;
			return VALUE_OK;
		}
	}
	return VALUE_MALFORMED;
}

const char *settings_type_placeholder(enum settings_type type)
{
	return types[type].placeholder;
}

bool settings_type_is_text(enum settings_type type)
{
	return types[type].names == NULL && types[type].size == 0;
}

bool settings_value_parse(const struct settings_row *row, const char *text,
			  void *field, char *why, size_t cap)
{
	const struct type *type = &types[row->type];
	const char *cause = NULL;
	enum verdict verdict = type->names ?
		parse_name(type->names, text, field) :
		type->parse(row, text, field, &cause);
	char right[256];

	if (verdict == VALUE_OK)
		return true;
	settings_value_describe(row, right, sizeof(right));
	if (cause != NULL)
		snprintf(why, cap, "is not valid: %s", cause);
	else
		snprintf(why, cap, "%s: it takes %s%s",
			 verdict == VALUE_MALFORMED ? "is not valid" :
			 "is out of range", right, type->note);
	return false;
}

void settings_value_print(const struct settings_row *row, const void *field,
			  char *out, size_t cap)
{
	const struct type *type = &types[row->type];

	if (type->names != NULL)
		snprintf(out, cap, "%s", type->names[*(const int *)field]);
	else
		type->print(field, out, cap);
}

bool settings_value_equal(const struct settings_row *row, const void *a,
			  const void *b)
{
	if (settings_type_is_text(row->type))
		return strcmp(*(char *const *)a, *(char *const *)b) == 0;
	return memcmp(a, b, types[row->type].size) == 0;
}

void settings_value_describe(const struct settings_row *row, char *out,
			     size_t cap)
{
	const struct type *type = &types[row->type];
	size_t len;

	if (type->names == NULL) {
		snprintf(out, cap, "%s", type->what);
		len = strlen(out);
		if (row->min_text[0] != '\0')
			snprintf(out + len, cap - len, " from %s to %s",
				 row->min_text, row->max_text);
		return;
	}
	snprintf(out, cap, "one of ");
	for (int i = 0; type->names[i] != NULL; i++) {
		len = strlen(out);
		snprintf(out + len, cap - len, "%s%s", i == 0 ? "" :
			 type->names[i + 1] != NULL ? ", " : " or ",
			 type->names[i]);
	}
}
