/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names - tables from wire numbers to texts. Holds constants only.
 */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "proto/dict.h"
#include "proto/names.h"
#include "proto/rpc_msg.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* 41 and 58 were never given out. */
static const char *const errnos[] = {
	[1] = "EPERM", [2] = "ENOENT", [3] = "ESRCH", [4] = "EINTR",
	[5] = "EIO", [6] = "ENXIO", [7] = "E2BIG", [8] = "ENOEXEC",
	[9] = "EBADF", [10] = "ECHILD", [11] = "EAGAIN", [12] = "ENOMEM",
	[13] = "EACCES", [14] = "EFAULT", [15] = "ENOTBLK", [16] = "EBUSY",
	[17] = "EEXIST", [18] = "EXDEV", [19] = "ENODEV", [20] = "ENOTDIR",
	[21] = "EISDIR", [22] = "EINVAL", [23] = "ENFILE", [24] = "EMFILE",
	[25] = "ENOTTY", [26] = "ETXTBSY", [27] = "EFBIG", [28] = "ENOSPC",
	[29] = "ESPIPE", [30] = "EROFS", [31] = "EMLINK", [32] = "EPIPE",
	[33] = "EDOM", [34] = "ERANGE", [35] = "EDEADLK",
	[36] = "ENAMETOOLONG", [37] = "ENOLCK", [38] = "ENOSYS",
	[39] = "ENOTEMPTY", [40] = "ELOOP", [42] = "ENOMSG", [43] = "EIDRM",
	[44] = "ECHRNG", [45] = "EL2NSYNC", [46] = "EL3HLT", [47] = "EL3RST",
	[48] = "ELNRNG", [49] = "EUNATCH", [50] = "ENOCSI", [51] = "EL2HLT",
	[52] = "EBADE", [53] = "EBADR", [54] = "EXFULL", [55] = "ENOANO",
	[56] = "EBADRQC", [57] = "EBADSLT", [59] = "EBFONT", [60] = "ENOSTR",
	[61] = "ENODATA", [62] = "ETIME", [63] = "ENOSR", [64] = "ENONET",
	[65] = "ENOPKG", [66] = "EREMOTE", [67] = "ENOLINK", [68] = "EADV",
	[69] = "ESRMNT", [70] = "ECOMM", [71] = "EPROTO", [72] = "EMULTIHOP",
	[73] = "EDOTDOT", [74] = "EBADMSG", [75] = "EOVERFLOW",
	[76] = "ENOTUNIQ", [77] = "EBADFD", [78] = "EREMCHG",
	[79] = "ELIBACC", [80] = "ELIBBAD", [81] = "ELIBSCN",
	[82] = "ELIBMAX", [83] = "ELIBEXEC", [84] = "EILSEQ",
	[85] = "ERESTART", [86] = "ESTRPIPE", [87] = "EUSERS",
	[88] = "ENOTSOCK", [89] = "EDESTADDRREQ", [90] = "EMSGSIZE",
	[91] = "EPROTOTYPE", [92] = "ENOPROTOOPT", [93] = "EPROTONOSUPPORT",
	[94] = "ESOCKTNOSUPPORT", [95] = "EOPNOTSUPP", [96] = "EPFNOSUPPORT",
	[97] = "EAFNOSUPPORT", [98] = "EADDRINUSE", [99] = "EADDRNOTAVAIL",
	[100] = "ENETDOWN", [101] = "ENETUNREACH", [102] = "ENETRESET",
	[103] = "ECONNABORTED", [104] = "ECONNRESET", [105] = "ENOBUFS",
	[106] = "EISCONN", [107] = "ENOTCONN", [108] = "ESHUTDOWN",
	[109] = "ETOOMANYREFS", [110] = "ETIMEDOUT", [111] = "ECONNREFUSED",
	[112] = "EHOSTDOWN", [113] = "EHOSTUNREACH", [114] = "EALREADY",
	[115] = "EINPROGRESS", [116] = "ESTALE", [117] = "EUCLEAN",
	[118] = "ENOTNAM", [119] = "ENAVAIL", [120] = "EISNAM",
	[121] = "EREMOTEIO", [122] = "EDQUOT", [123] = "ENOMEDIUM",
	[124] = "EMEDIUMTYPE", [125] = "ECANCELED", [126] = "ENOKEY",
	[127] = "EKEYEXPIRED", [128] = "EKEYREVOKED", [129] = "EKEYREJECTED",
	[130] = "EOWNERDEAD", [131] = "ENOTRECOVERABLE", [132] = "ERFKILL",
	[133] = "EHWPOISON",
};

/* Of NFS servers under a brick, and what a peer could not translate. */
enum { NFS_ERRNO_BASE = 521, ERRNO_UNKNOWN = 1024 };
static const char *const nfs_errnos[] = {
	"EBADHANDLE", "ENOTSYNC", "EBADCOOKIE", "ENOTSUPP",
	"ETOOSMALL", "ESERVERFAULT", "EBADTYPE", "EJUKEBOX",
};

const char *gfp_errno_name(uint32_t wire_errno)
{
	if (wire_errno < COUNT(errnos))
		return errnos[wire_errno];
	if (wire_errno >= NFS_ERRNO_BASE &&
	    wire_errno - NFS_ERRNO_BASE < COUNT(nfs_errnos))
		return nfs_errnos[wire_errno - NFS_ERRNO_BASE];
	if (wire_errno == ERRNO_UNKNOWN)
		return "EUNKNOWN";
	return NULL;
}

/* By the mask of the two lowest bits; 3 is what some drivers use for ioctl. */
static const char *const access_modes[] = {
	"O_RDONLY", "O_WRONLY", "O_RDWR", "O_ACCMODE",
};

/* The bits that have a name; 0x1000 is the wire's only bit for O_SYNC. */
static const struct {
	uint32_t bit;
	const char *name;
} open_flags[] = {
	{ 0x20, "FMODE_EXEC" },	   { 0x40, "O_CREAT" },
	{ 0x80, "O_EXCL" },	   { 0x100, "O_NOCTTY" },
	{ 0x200, "O_TRUNC" },	   { 0x400, "O_APPEND" },
	{ 0x800, "O_NONBLOCK" },   { 0x1000, "O_SYNC" },
	{ 0x2000, "O_ASYNC" },	   { 0x4000, "O_DIRECT" },
	{ 0x8000, "O_LARGEFILE" }, { 0x10000, "O_DIRECTORY" },
	{ 0x20000, "O_NOFOLLOW" }, { 0x40000, "O_NOATIME" },
	{ 0x80000, "O_CLOEXEC" },  { 0x200000, "O_PATH" },
};

/* Append as much of text as fits before the closing NUL. */
static void append(char *out, size_t cap, size_t *len, const char *text)
{
	size_t room = cap - *len - 1;
	size_t size = strlen(text);

	if (size > room)
		size = room;
	memcpy(out + *len, text, size);
	*len += size;
	out[*len] = '\0';
}

size_t gfp_open_flags_text(uint32_t flags, char *out, size_t cap)
{
	uint32_t rest = flags & ~(uint32_t)3;
	char number[16];
	size_t len = 0;

	if (cap == 0)
		return 0;
	append(out, cap, &len, access_modes[flags & 3]);
	for (size_t i = 0; i < COUNT(open_flags); i++) {
		if ((rest & open_flags[i].bit) == 0)
			continue;
		append(out, cap, &len, "|");
		append(out, cap, &len, open_flags[i].name);
		rest &= ~open_flags[i].bit;
	}
	if (rest != 0) {
		snprintf(number, sizeof(number), "|0x%x", rest);
		append(out, cap, &len, number);
	}
	return len;
}

/* The type of a file by the four bits above its permissions. */
static char mode_type(uint32_t mode)
{
	static const char types[16] = {
		[001] = 'p', [002] = 'c', [004] = 'd', [006] = 'b',
		[010] = '-', [012] = 'l', [014] = 's',
	};
	char type = types[mode >> 12 & 15];

	return type != '\0' ? type : '?';
}

/* One of the three places for x, which set-id and sticky bits share. */
static char mode_exec(uint32_t mode, uint32_t exec, uint32_t special,
		      char letter)
{
	if ((mode & special) == 0)
		return mode & exec ? 'x' : '-';
	return mode & exec ? letter : (char)(letter - 'a' + 'A');
}

void gfp_mode_text(uint32_t mode, char out[11])
{
	static const char bits[] = "rwxrwxrwx";

	out[0] = mode_type(mode);
	for (unsigned int i = 0; i < 9; i++)
		out[1 + i] = mode & (0400u >> i) ? bits[i] : '-';
	out[3] = mode_exec(mode, 0100, 04000, 's');
	out[6] = mode_exec(mode, 0010, 02000, 's');
	out[9] = mode_exec(mode, 0001, 01000, 't');
	out[10] = '\0';
}

static const char *const lock_types[] = { "read", "write", "unlock" };

static const char *const lock_cmds[] = {
	"get", "set", "set-wait", "reserve", "reserve-wait", "unreserve",
	"get-by-fd",
};

static const char *const dict_types[GFP_D_TYPE_LIMIT] = {
	[GFP_D_UNKNOWN] = "unknown",
	[GFP_D_STR_OLD] = "str-old",
	[GFP_D_INT] = "int",
	[GFP_D_UINT] = "uint",
	[GFP_D_DOUBLE] = "double",
	[GFP_D_STR] = "str",
	[GFP_D_PTR] = "ptr",
	[GFP_D_GFID] = "gfid",
	[GFP_D_IATT] = "iatt",
	[GFP_D_MDATA] = "mdata",
};

static const char *const accept_statuses[] = {
	[GFP_SUCCESS] = "success",
	[GFP_PROG_UNAVAIL] = "program unavailable",
	[GFP_PROG_MISMATCH] = "program mismatch",
	[GFP_PROC_UNAVAIL] = "procedure unavailable",
	[GFP_GARBAGE_ARGS] = "garbage arguments",
	[GFP_SYSTEM_ERR] = "system error",
};

static const char *pick(const char *const *names, size_t count, uint32_t i)
{
	return i < count ? names[i] : NULL;
}

const char *gfp_lock_type_name(uint32_t type)
{
	return pick(lock_types, COUNT(lock_types), type);
}

const char *gfp_lock_cmd_name(uint32_t cmd)
{
	return pick(lock_cmds, COUNT(lock_cmds), cmd);
}

const char *gfp_dict_type_name(uint32_t type)
{
	return pick(dict_types, COUNT(dict_types), type);
}

const char *gfp_accept_status_name(uint32_t status)
{
	return pick(accept_statuses, COUNT(accept_statuses), status);
}

void gfp_gfid_text(const uint8_t gfid[16], char out[37])
{
	static const char digits[] = "0123456789abcdef";

	for (unsigned int i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*out++ = '-';
		*out++ = digits[gfid[i] >> 4];
		*out++ = digits[gfid[i] & 15];
	}
	*out = '\0';
}
