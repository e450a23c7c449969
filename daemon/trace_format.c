/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_format - a traced RPC as a line of text or of JSON.
 *
 * Both formats show the same values; text lays call and reply flat around an
 * arrow, JSON nests them.
 */
#include "config.h"

#include "daemon/trace_format.h"
#include "daemon/trace_value.h"
#include "proto/fop.h"
#include "proto/names.h"
#include "proto/rpc_msg.h"

enum { GROUPS_MAX = 128 };	/* a credential has no room for more */

static const char *const origins[] = {
	[TRACE_BY_CLIENT] = "client",
	[TRACE_BY_BRICK] = "brick",
};

static const char *const outcomes[] = {
	[TRACE_FORWARDED] = "forwarded",
	[TRACE_REFUSED] = "refused",
	[TRACE_UNANSWERED] = "unanswered",
	[TRACE_CALLBACK] = "callback",
};

/* A line in the making. */
struct line {
	struct emit e;
	const struct trace_item *item;
	uint32_t payload;
	enum gfp_status head_status;	/* how the call's header parsed */
	struct gfp_call head;		/* all zero unless that went well */
	const struct gfp_program *program;
	const struct gfp_proc *proc;
};

/* One direction's members: what is there of them, and what was on the wire. */
struct body {
	const struct gfp_field *fields;
	struct gfp_span bytes;
	size_t size;
	bool has_payload;
};

static struct body body_of(struct gfp_span record, size_t off, uint32_t size)
{
	/* Never less than what is there, whatever the caller claims. */
	size_t whole = record.len > size ? record.len : size;

	return (struct body){
		.bytes = gfp_span_from(record, off),
		.size = whole > off ? whole - off : 0,
	};
}

static const char *why(const struct body *body, enum gfp_status status)
{
	if (status == GFP_SHORT && body->bytes.len < body->size)
		return "not all of it was kept for the trace";
	return gfp_status_text(status);
}

static void show_undecoded(struct line *l, const struct body *body, size_t off,
			   const struct gfp_field *field,
			   enum gfp_status status)
{
	if (status == GFP_SHORT)
		trace_value_show_part(&l->e, field,
				      gfp_span_from(body->bytes, off));
	emit_open(&l->e, "undecoded", '{');
	emit_word(&l->e, "field", field->name);
	emit_uint(&l->e, "size", body->size - off);
	emit_word(&l->e, "why", why(body, status));
	emit_close(&l->e, '}');
}

static void show_rest(struct line *l, const struct body *body, size_t off)
{
	if (body->has_payload)
		trace_value_hex(&l->e, "payload",
				gfp_span_from(body->bytes, off),
				body->size - off, l->payload);
	else if (body->size > off)
		emit_uint(&l->e, "extra_bytes", body->size - off);
}

static void show_body(struct line *l, const struct body *body)
{
	enum gfp_status status;
	struct gfp_cursor c;
	struct gfp_value v;
	int64_t op_ret = 0;

	gfp_cursor_start(&c, body->fields, body->bytes);
	while ((status = gfp_field_next(&c, &v)) == GFP_OK) {
		if (v.field->kind == GFP_K_RET)
			op_ret = (int64_t)v.num;
		if (v.field->kind == GFP_K_ERRNO)
			trace_value_show_errno(&l->e, &v, op_ret);
		else
			trace_value_show(&l->e, &v);
	}
	if (status == GFP_END)
		show_rest(l, body, c.off);
	else
		show_undecoded(l, body, c.off, c.next, status);
}

static void show_call(struct line *l)
{
	struct body body = body_of(l->item->call, l->head.args_off,
				   l->item->meta.call_size);

	if (l->head_status != GFP_OK) {
		trace_value_undecoded(&l->e, "header", body.size,
				      why(&body, l->head_status));
		return;
	}
	if (l->head.rpc_version != GFP_RPC_VERSION)
		emit_uint(&l->e, "rpc_version", l->head.rpc_version);
	if (l->proc == NULL) {
		emit_uint(&l->e, "size", body.size);
		return;
	}
	body.fields = l->proc->call;
	body.has_payload = l->proc->payload == GFP_PAYLOAD_CALL;
	show_body(l, &body);
}

/* The versions that would have been right. */
static void show_range(struct line *l, const struct gfp_reply *reply)
{
	emit_uint(&l->e, "low", reply->low);
	emit_uint(&l->e, "high", reply->high);
}

static void show_denial(struct line *l, const struct gfp_reply *reply)
{
	bool is_mismatch = reply->detail == GFP_RPC_MISMATCH;

	emit_uint(&l->e, "reject_status", reply->detail);
	emit_meaning(&l->e, "reject_status",
		     is_mismatch ? "rpc mismatch" : "auth error");
	if (is_mismatch)
		show_range(l, reply);
	else
		emit_uint(&l->e, "auth_status", reply->auth_status);
}

static void show_not_accepted(struct line *l, const struct gfp_reply *reply)
{
	const char *name = gfp_accept_status_name(reply->detail);

	emit_uint(&l->e, "accept_status", reply->detail);
	if (name != NULL)
		emit_meaning(&l->e, "accept_status", name);
	if (reply->detail == GFP_PROG_MISMATCH)
		show_range(l, reply);
}

static void show_results(struct line *l, size_t off)
{
	struct body body = body_of(l->item->reply, off,
				   l->item->meta.reply_size);

	if (l->proc == NULL) {
		emit_uint(&l->e, "size", body.size);
		return;
	}
	body.fields = l->proc->reply;
	body.has_payload = l->proc->payload == GFP_PAYLOAD_REPLY;
	show_body(l, &body);
}

static void show_reply(struct line *l)
{
	struct body body = body_of(l->item->reply, 0, l->item->meta.reply_size);
	enum gfp_status status;
	struct gfp_reply reply;

	status = gfp_reply_parse(l->item->reply, &reply);
	if (status != GFP_OK) {
		trace_value_undecoded(&l->e, "header", body.size,
				      why(&body, status));
		return;
	}
	if (reply.reply_status == GFP_DENIED)
		show_denial(l, &reply);
	else if (reply.detail != GFP_SUCCESS)
		show_not_accepted(l, &reply);
	if (reply.results_off > 0)
		show_results(l, reply.results_off);
}

/* Times that the client wants set, which only the newer flavour has. */
static void show_cred_times(struct emit *e, const struct gfp_cred *cred)
{
	if (cred->time_flags == 0)
		return;
	emit_hex(e, "time_flags", cred->time_flags);
	emit_nsec(e, "ctime", (int64_t)cred->ctime_sec, cred->ctime_nsec);
}

static void show_identity(struct emit *e, const struct gfp_cred *cred)
{
	emit_uint(e, "uid", cred->uid);
	emit_uint(e, "gid", cred->gid);
	emit_int(e, "pid", cred->pid);
	emit_bytes(e, "lk_owner", cred->lk_owner);
	if (cred->group_count > 0) {
		emit_open(e, "groups", '[');
		for (uint32_t i = 0; i < cred->group_count && i < GROUPS_MAX;
		     i++)
			emit_uint(e, NULL, gfp_be32(cred->groups.ptr + 4 * i));
		emit_close(e, ']');
	}
	show_cred_times(e, cred);
}

static void show_cred(struct line *l)
{
	enum gfp_status status;
	struct gfp_cred cred;

	if (l->head_status != GFP_OK)
		return;
	status = gfp_cred_parse(l->head.cred_flavour, l->head.cred, &cred);
	emit_open(&l->e, "cred", '{');
	if (status == GFP_OK)
		show_identity(&l->e, &cred);
	emit_uint(&l->e, "flavour", l->head.cred_flavour);
	if (status != GFP_OK && l->head.cred.len > 0)
		emit_uint(&l->e, "size", l->head.cred.len);
	emit_close(&l->e, '}');
}

static void show_sizes(struct line *l)
{
	const struct trace_meta *meta = &l->item->meta;

	emit_uint(&l->e, "call_size", meta->call_size);
	if (l->item->reply.len > 0)
		emit_uint(&l->e, "reply_size", meta->reply_size);
	emit_uint(&l->e, "latency_us", meta->latency_us);
	emit_word(&l->e, "by", origins[meta->origin]);
	emit_word(&l->e, "outcome", outcomes[meta->outcome]);
	if (l->item->is_cut)
		emit_true(&l->e, "truncated");
}

static struct gfp_span span_of(const char *text)
{
	return (struct gfp_span){ (const uint8_t *)text,
				  text == NULL ? 0 : strlen(text) };
}

/* "fop/read", or numbers for what the table does not know: "fop/99". */
static void text_procedure(struct line *l)
{
	struct trace_text *out = l->e.out;

	trace_text_char(out, ' ');
	if (l->program != NULL)
		trace_text_word(out, l->program->name);
	else
		trace_text_uint(out, l->head.program);
	trace_text_char(out, '/');
	if (l->proc != NULL)
		trace_text_word(out, l->proc->name);
	else
		trace_text_uint(out, l->head.proc);
}

static void text_line(struct line *l)
{
	const struct trace_meta *meta = &l->item->meta;
	struct trace_text *out = l->e.out;

	trace_text_time(out, meta->time_us);
	emit_uint(&l->e, "session", meta->session);
	text_procedure(l);
	emit_uint(&l->e, "xid", meta->client_xid);
	trace_text_char(out, '/');
	trace_text_uint(out, meta->brick_xid);
	show_call(l);
	if (l->item->reply.len > 0) {
		trace_text_word(out, " ->");
		show_reply(l);
	}
	trace_text_word(out, " |");
	emit_str(&l->e, "client", span_of(meta->client));
	emit_str(&l->e, "brick", span_of(meta->brick));
	emit_uint(&l->e, "version", l->head.version);
	show_cred(l);
	show_sizes(l);
}

static void json_procedure(struct line *l)
{
	struct emit *e = &l->e;

	if (l->program != NULL)
		emit_word(e, "program", l->program->name);
	else
		emit_null(e, "program");
	emit_uint(e, "program_number", l->head.program);
	emit_uint(e, "version", l->head.version);
	if (l->proc != NULL)
		emit_word(e, "procedure", l->proc->name);
	else
		emit_null(e, "procedure");
	emit_uint(e, "procedure_number", l->head.proc);
}

static void json_line(struct line *l)
{
	const struct trace_meta *meta = &l->item->meta;
	struct emit *e = &l->e;

	e->is_first = true;
	emit_open(e, NULL, '{');
	emit_time(e, "time", meta->time_us);
	emit_uint(e, "session", meta->session);
	emit_str(e, "client", span_of(meta->client));
	emit_str(e, "brick", span_of(meta->brick));
	json_procedure(l);
	emit_uint(e, "client_xid", meta->client_xid);
	emit_uint(e, "brick_xid", meta->brick_xid);
	show_cred(l);
	emit_open(e, "call", '{');
	show_call(l);
	emit_close(e, '}');
	if (l->item->reply.len > 0) {
		emit_open(e, "reply", '{');
		show_reply(l);
		emit_close(e, '}');
	} else {
		emit_null(e, "reply");
	}
	show_sizes(l);
	emit_close(e, '}');
}

/* Close the line, or take it back when something of it is missing. */
static bool end_line(struct trace_text *out, size_t start)
{
	trace_text_char(out, '\n');
	if (!out->is_short)
		return true;
	out->is_short = false;
	out->len = start;
	return false;
}

bool trace_format_line(struct trace_text *out, enum trace_format format,
		       const struct trace_item *item, uint32_t payload)
{
	struct line l = {
		.e = { .out = out, .is_json = format == TRACE_JSON },
		.item = item,
		.payload = payload,
	};
	size_t start = out->len;

	l.head_status = gfp_call_parse(item->call, &l.head);
	l.program = gfp_program_find(l.head.program, l.head.version);
	l.proc = gfp_proc_find(l.head.program, l.head.version, l.head.proc);
	if (format == TRACE_JSON)
		json_line(&l);
	else
		text_line(&l);
	return end_line(out, start);
}

bool trace_format_lost(struct trace_text *out, enum trace_format format,
		       uint64_t real_us, uint64_t lost_room,
		       uint64_t lost_write)
{
	struct emit e = { .out = out, .is_json = format == TRACE_JSON };
	size_t start = out->len;

	if (e.is_json) {
		e.is_first = true;
		emit_open(&e, NULL, '{');
		emit_time(&e, "time", real_us);
	} else {
		trace_text_time(out, real_us);
	}
	emit_uint(&e, "lost", lost_room + lost_write);
	emit_uint(&e, "lost_room", lost_room);
	emit_uint(&e, "lost_write", lost_write);
	if (e.is_json)
		emit_close(&e, '}');
	return end_line(out, start);
}
