/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings_text - the bytes of a configuration file, made fit for libconfuse.
 *
 * libconfuse 3.3 counts two lines too many for each comment, drops what it does
 * not know without a word, takes the end of the file for the end of a comment
 * or of a section, and ends the process when a read fails. So it gets a text in
 * memory whose comments are blanks, and in which these do not occur.
 *
 * Owns: nothing. Any thread.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/settings_text.h"

enum { FILE_MAX_BYTES = 1 << 20 };

static char *read_fd(int fd, size_t *len)
{
	char *text = malloc(FILE_MAX_BYTES + 1);
	ssize_t n = 0;

	*len = 0;
	if (text == NULL)
		return NULL;
	do {
		n = read(fd, text + *len, FILE_MAX_BYTES - *len);
		if (n > 0)
			*len += (size_t)n;
	} while (n > 0 || (n < 0 && errno == EINTR));
	if (n == 0 && *len < FILE_MAX_BYTES) {
		text[*len] = '\0';
		return text;
	}
	if (n == 0)
		errno = EFBIG;
	free(text);
	return NULL;
}

struct cursor {
	char *at;
	int line;
	int depth;		/* of { not closed yet */
	int open_line;		/* of the last { */
	const char *path;
	struct settings_problems *problems;
};

/* To the next byte; the end of the text is not passed. */
static void step(struct cursor *c)
{
	if (*c->at == '\n')
		c->line++;
	if (*c->at != '\0')
		c->at++;
}

static void blank(struct cursor *c)
{
	if (*c->at != '\n' && *c->at != '\0')
		*c->at = ' ';
	step(c);
}

static bool blank_line_comment(struct cursor *c)
{
	while (*c->at != '\n' && *c->at != '\0')
		blank(c);
	return true;
}

static bool blank_block_comment(struct cursor *c)
{
	int line = c->line;
	char *end = strstr(c->at + 2, "*/");

	if (end == NULL) {
		settings_problem(c->problems, c->path, line,
				 "this comment is not closed: */ is missing");
		return false;
	}
	while (c->at < end + 2)
		blank(c);
	return true;
}

static bool skip_quoted(struct cursor *c)
{
	char quote = *c->at;
	int line = c->line;

	for (step(c); *c->at != quote; step(c)) {
		if (*c->at == '\n' || *c->at == '\0') {
			settings_problem(c->problems, c->path, line,
					 "a closing %c is missing", quote);
			return false;
		}
		if (c->at[0] == '\\' && c->at[1] != '\n')
			step(c);
	}
	step(c);
	return true;
}

/* Does a word of its own begin here, so that "//" is no part of a path? */
static bool begins_word(const struct cursor *c, const char *text)
{
	return c->at == text || strchr(" \t\r\n={}(),\"'", c->at[-1]) != NULL;
}

static bool refuse_stray(struct cursor *c)
{
	settings_problem(c->problems, c->path, c->line,
			 "unexpected %c: a value with it needs quotes", *c->at);
	return false;
}

static void count_brace(struct cursor *c)
{
	if (*c->at == '{') {
		c->depth++;
		c->open_line = c->line;
	} else if (*c->at == '}') {
		c->depth--;
	}
}

static bool make_fit(char *text, struct cursor *c)
{
	bool ok = true;

	while (ok && *c->at != '\0') {
		count_brace(c);
		if (*c->at == '#' ||
		    (strncmp(c->at, "//", 2) == 0 && begins_word(c, text)))
			ok = blank_line_comment(c);
		else if (strncmp(c->at, "/*", 2) == 0)
			ok = blank_block_comment(c);
		else if (*c->at == '"' || *c->at == '\'')
			ok = skip_quoted(c);
		else if (*c->at == '*' || *c->at == '+')
			ok = refuse_stray(c);
		else
			step(c);
	}
	if (!ok || c->depth <= 0)
		return ok;
	settings_problem(c->problems, c->path, c->open_line,
			 "this { is not closed: } is missing");
	return false;
}

char *settings_text_read(const char *path, struct settings_problems *problems)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	struct cursor c = { .line = 1, .path = path, .problems = problems };
	char *text;
	size_t len;

	text = fd < 0 ? NULL : read_fd(fd, &len);
	if (text == NULL) {
		settings_problem(problems, path, 0, "cannot be read: %s",
				 strerror(errno));
	} else if (strlen(text) != len) {
		settings_problem(problems, path, 0,
				 "is not a text file: it has a zero byte");
		free(text);
		text = NULL;
	}
	if (fd >= 0)
		close(fd);
	c.at = text;
	if (text == NULL || make_fit(text, &c))
		return text;
	free(text);
	return NULL;
}
