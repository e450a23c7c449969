/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gfapi_client - try every call of libgfapi and print what came back.
 *
 * usage: gfapi_client VOLFILE LOGFILE DIR
 *
 * The volfile is loaded from a file, so that no management plane is needed. DIR
 * is made on the volume. One line for each call, result or errno, nothing that
 * differs between two runs: the outputs of a direct client and of one through
 * the proxy are compared with diff.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <glusterfs/api/glfs-handles.h>
#include <glusterfs/api/glfs.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { BLOCK = 1 << 20 };

struct client {
	glfs_t *fs;
	char dir[256];
	char path[512];		/* of the last under() */
	char other[512];	/* of the last beside() */
	unsigned char *block;	/* BLOCK bytes with a pattern */
	unsigned char *back;	/* twice as many, to read into */
};

static void show(const char *what, long long result)
{
	if (result < 0)
		printf("%s: %s\n", what, strerrorname_np(errno));
	else
		printf("%s: %lld\n", what, result);
	fflush(stdout);
}

static void show_bytes(const char *what, long long count, const void *bytes)
{
	const unsigned char *p = bytes;
	unsigned long sum = 5381;

	for (long long i = 0; i < count; i++)
		sum = sum * 33 + p[i];
	show(what, count);
	if (count >= 0)
		printf("  hash %lx\n", sum);
}

static void show_stat(const char *what, int rc, const struct stat *st)
{
	show(what, rc);
	if (rc == 0)
		printf("  mode %o nlink %lu %u:%u size %lld\n", st->st_mode,
		       (unsigned long)st->st_nlink, st->st_uid, st->st_gid,
		       S_ISDIR(st->st_mode) ? -1 : (long long)st->st_size);
}

static const char *under(struct client *c, const char *name)
{
	snprintf(c->path, sizeof(c->path), "%s/%s", c->dir, name);
	return c->path;
}

static const char *beside(struct client *c, const char *name)
{
	snprintf(c->other, sizeof(c->other), "%s/%s", c->dir, name);
	return c->other;
}

static void try_names(struct client *c)
{
	struct stat st;
	char target[PATH_MAX];
	glfs_fd_t *fd;

	fd = glfs_creat(c->fs, under(c, "file"), O_RDWR | O_EXCL, 0640);
	show("creat", fd == NULL ? -1 : 0);
	if (fd != NULL)
		show("close", glfs_close(fd));
	fd = glfs_creat(c->fs, under(c, "file"), O_RDWR | O_EXCL, 0640);
	show("creat again", fd == NULL ? -1 : 0);
	show("mkdir", glfs_mkdir(c->fs, under(c, "dir"), 0751));
	show("mkdir again", glfs_mkdir(c->fs, under(c, "dir"), 0751));
	show("mknod", glfs_mknod(c->fs, under(c, "fifo"), S_IFIFO | 0604, 0));
	show("link", glfs_link(c->fs, under(c, "file"), beside(c, "link")));
	show("symlink", glfs_symlink(c->fs, "file", under(c, "sym")));
	show_bytes("readlink", glfs_readlink(c->fs, under(c, "sym"), target,
					     sizeof(target)), target);
	show("rename", glfs_rename(c->fs, under(c, "link"),
				   beside(c, "moved")));
	show("rename of nothing", glfs_rename(c->fs, under(c, "link"),
					      beside(c, "moved")));
	show_stat("stat", glfs_stat(c->fs, under(c, "sym"), &st), &st);
	show_stat("lstat", glfs_lstat(c->fs, under(c, "sym"), &st), &st);
	show_stat("stat of nothing", glfs_stat(c->fs, under(c, "no"), &st),
		  &st);
	show("access", glfs_access(c->fs, under(c, "file"), R_OK));
	show("rmdir of a file", glfs_rmdir(c->fs, under(c, "file")));
	show("unlink of a directory", glfs_unlink(c->fs, under(c, "dir")));
	show("rmdir", glfs_rmdir(c->fs, under(c, "dir")));
	show("unlink", glfs_unlink(c->fs, under(c, "moved")));
	show("unlink again", glfs_unlink(c->fs, under(c, "moved")));
	show("chdir", glfs_chdir(c->fs, c->dir));
	show("chdir back", glfs_chdir(c->fs, "/"));
}

static void try_attributes(struct client *c)
{
	const struct timespec times[2] = { { 1, 2 }, { 1234567890, 123456789 } };
	const char *path = under(c, "file");
	struct statvfs vfs;
	struct stat st;
	glfs_fd_t *fd;

	show("chmod", glfs_chmod(c->fs, path, 04711));
	show_stat("is", glfs_stat(c->fs, path, &st), &st);
	show("chown", glfs_chown(c->fs, path, 12, 34));
	show("lchown", glfs_lchown(c->fs, path, 56, UINT_MAX));
	show_stat("is", glfs_stat(c->fs, path, &st), &st);
	show("utimens", glfs_utimens(c->fs, path, times));
	show("lutimens", glfs_lutimens(c->fs, path, times));
	if (glfs_stat(c->fs, path, &st) == 0)
		/* not the value: features/shard shows the present */
		show("mtime is set",
		     st.st_mtim.tv_sec == times[1].tv_sec);
	show("truncate", glfs_truncate(c->fs, path, 12345));
	show("truncate -1", glfs_truncate(c->fs, path, -1));
	show("statvfs", glfs_statvfs(c->fs, c->dir, &vfs));
	printf("  bsize %lu namemax %lu\n", vfs.f_bsize, vfs.f_namemax);
	fd = glfs_open(c->fs, path, O_RDWR);
	show("fchmod", glfs_fchmod(fd, 0600));
	show("fchown", glfs_fchown(fd, 0, 0));
	show("futimens", glfs_futimens(fd, times));
	show_stat("fstat", glfs_fstat(fd, &st), &st);
	show("close", glfs_close(fd));
}

static void try_blocks(struct client *c, glfs_fd_t *fd)
{
	static const size_t sizes[] = { 0, 1, 3, 4, 5, 4095, 4097, 130047,
					131072, 131073, BLOCK };
	char what[64];

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t n = sizes[i];

		snprintf(what, sizeof(what), "pwrite %zu", n);
		show(what, glfs_pwrite(fd, c->block, n, (off_t)n, 0, NULL,
				       NULL));
		snprintf(what, sizeof(what), "pread %zu", n);
		show_bytes(what, glfs_pread(fd, c->back, n, (off_t)n, 0, NULL),
			   c->back);
		snprintf(what, sizeof(what), "pread across %zu", n);
		show_bytes(what, glfs_pread(fd, c->back, BLOCK, (off_t)(n / 2),
					    0, NULL), c->back);
	}
}

static void try_data(struct client *c)
{
	const char *path = under(c, "data");
	glfs_fd_t *fd = glfs_creat(c->fs, path, O_RDWR | O_TRUNC, 0644);
	glfs_fd_t *to;
	off64_t from_off = 100, to_off = 7;
	struct stat st;

	show("creat", fd == NULL ? -1 : 0);
	try_blocks(c, fd);
	show("write far", glfs_pwrite(fd, "far", 3, (off_t)5 << 30, 0, NULL,
				      NULL));
	show("fsync", glfs_fsync(fd, NULL, NULL));
	show("fdatasync", glfs_fdatasync(fd, NULL, NULL));
	show("SEEK_DATA", glfs_lseek(fd, (off_t)1 << 30, SEEK_DATA));
	show("SEEK_HOLE", glfs_lseek(fd, 0, SEEK_HOLE));
	show("SEEK_DATA at the end", glfs_lseek(fd, (off_t)6 << 30, SEEK_DATA));
	show("discard", glfs_discard(fd, 4096, 8192));
	show("zerofill", glfs_zerofill(fd, 20000, 30000));
	show("fallocate", glfs_fallocate(fd, 1, 0, 3 * BLOCK));
	show("fallocate", glfs_fallocate(fd, 0, 0, 3 * BLOCK));
	show("fallocate of nothing", glfs_fallocate(fd, 0, 0, 0));
	show("ftruncate", glfs_ftruncate(fd, 2 * BLOCK, NULL, NULL));
	show_stat("fstat", glfs_fstat(fd, &st), &st);
	show_bytes("pread", glfs_pread(fd, c->back, 2 * BLOCK, 0, 0, NULL),
		   c->back);
	to = glfs_creat(c->fs, beside(c, "copy"), O_RDWR, 0644);
	show("copy_file_range", glfs_copy_file_range(fd, &from_off, to, &to_off,
						     5000, 0, NULL, NULL,
						     NULL));
	show_bytes("pread", glfs_pread(to, c->back, BLOCK, 0, 0, NULL),
		   c->back);
	show("close", glfs_close(to));
	show("unlink while open", glfs_unlink(c->fs, path));
	show("pwrite", glfs_pwrite(fd, "still", 5, 0, 0, NULL, NULL));
	show_bytes("pread", glfs_pread(fd, c->back, 10, 0, 0, NULL), c->back);
	show("close", glfs_close(fd));
	fd = glfs_open(c->fs, beside(c, "copy"), O_RDONLY);
	show("pwrite on a read-only fd", glfs_pwrite(fd, "x", 1, 0, 0, NULL,
						     NULL));
	show("close", glfs_close(fd));
}

static void try_xattrs(struct client *c)
{
	const char *path = under(c, "file");
	char value[256];
	glfs_fd_t *fd;

	show("setxattr", glfs_setxattr(c->fs, path, "user.a", "one", 3, 0));
	show("setxattr again", glfs_setxattr(c->fs, path, "user.a", "two", 3,
					     1 /* create only */));
	show_bytes("getxattr", glfs_getxattr(c->fs, path, "user.a", value,
					     sizeof(value)), value);
	show("getxattr of none", glfs_getxattr(c->fs, path, "user.b", value,
					       sizeof(value)));
	show("too short", glfs_getxattr(c->fs, path, "user.a", value, 1));
	show("64 KiB", glfs_setxattr(c->fs, path, "user.big", c->block, 65536,
				     0));
	show_bytes("back", glfs_getxattr(c->fs, path, "user.big", c->back,
					 BLOCK), c->back);
	show("listxattr", glfs_listxattr(c->fs, path, NULL, 0));
	show("lsetxattr", glfs_lsetxattr(c->fs, under(c, "sym"), "trusted.l",
					 "l", 1, 0));
	show("llistxattr", glfs_llistxattr(c->fs, under(c, "sym"), NULL, 0));
	show("lremovexattr", glfs_lremovexattr(c->fs, under(c, "sym"),
					       "trusted.l"));
	fd = glfs_open(c->fs, under(c, "file"), O_RDWR);
	show("fsetxattr", glfs_fsetxattr(fd, "user.f", "fd", 2, 0));
	show_bytes("fgetxattr", glfs_fgetxattr(fd, "user.f", value,
					       sizeof(value)), value);
	show("flistxattr", glfs_flistxattr(fd, NULL, 0));
	show("fremovexattr", glfs_fremovexattr(fd, "user.f"));
	show("close", glfs_close(fd));
	show("removexattr", glfs_removexattr(c->fs, c->path, "user.a"));
	show("removexattr again", glfs_removexattr(c->fs, c->path, "user.a"));
}

static int lock(glfs_fd_t *fd, int cmd, short type, off_t start, off_t len)
{
	struct flock f = { .l_type = type, .l_whence = SEEK_SET,
			   .l_start = start, .l_len = len };
	int rc = glfs_posix_lock(fd, cmd, &f);

	if (cmd == F_GETLK && rc == 0)
		printf("  holds type %d %lld+%lld\n", f.l_type,
		       f.l_type == F_UNLCK ? 0LL : (long long)f.l_start,
		       f.l_type == F_UNLCK ? 0LL : (long long)f.l_len);
	return rc;
}

static void try_locks(struct client *c)
{
	struct flock mandatory = { .l_type = F_WRLCK, .l_whence = SEEK_SET,
				   .l_start = 500, .l_len = 10 };
	glfs_fd_t *one = glfs_open(c->fs, under(c, "file"), O_RDWR);
	glfs_fd_t *two = glfs_open(c->fs, under(c, "file"), O_RDWR);
	char owner_one[] = "owner-1", owner_two[] = "owner-2";

	show("owner", glfs_fd_set_lkowner(one, owner_one, sizeof(owner_one)));
	show("owner", glfs_fd_set_lkowner(two, owner_two, sizeof(owner_two)));
	show("exclusive", lock(one, F_SETLK, F_WRLCK, 10, 20));
	show("against it", lock(two, F_SETLK, F_WRLCK, 15, 1));
	show("beside it", lock(two, F_SETLK, F_RDLCK, 30, 0));
	show("who", lock(two, F_GETLK, F_WRLCK, 0, 100));
	show("release", lock(one, F_SETLK, F_UNLCK, 0, 0));
	show("now", lock(two, F_SETLKW, F_WRLCK, 15, 1));
	show("mandatory", glfs_file_lock(one, F_SETLK, &mandatory,
					 GLFS_LK_MANDATORY));
	show("close", glfs_close(one));
	show("close", glfs_close(two));
}

static void try_lease(struct client *c, glfs_fd_t *fd, const char *word,
		      int cmd, int type)
{
	struct glfs_lease lease;

	memset(&lease, 0, sizeof(lease));
	lease.cmd = cmd;
	lease.lease_type = type;
	memcpy(lease.lease_id, "0123456789abcdef", sizeof(lease.lease_id));
	show(word, glfs_lease(fd, &lease, NULL, c));
}

static void try_leases(struct client *c)
{
	char id[] = "0123456789abcdef";
	glfs_fd_t *fd;

	show("lease id", glfs_setfsleaseid(id));
	fd = glfs_open(c->fs, under(c, "file"), O_RDONLY);
	try_lease(c, fd, "lease get", GLFS_GET_LEASE, GLFS_RD_LEASE);
	try_lease(c, fd, "lease set", GLFS_SET_LEASE, GLFS_RD_LEASE);
	try_lease(c, fd, "lease get", GLFS_GET_LEASE, GLFS_RD_LEASE);
	try_lease(c, fd, "lease release", GLFS_UNLK_LEASE, GLFS_RD_LEASE);
	show("close", glfs_close(fd));
	fd = glfs_open(c->fs, under(c, "file"), O_RDWR);
	try_lease(c, fd, "lease set", GLFS_SET_LEASE, GLFS_RW_LEASE);
	try_lease(c, fd, "lease release", GLFS_UNLK_LEASE, GLFS_RW_LEASE);
	show("close", glfs_close(fd));
	show("lease id", glfs_setfsleaseid(NULL));
}

static void try_directory(struct client *c)
{
	struct dirent entry, *result = &entry;
	struct stat st;
	char name[32];
	glfs_fd_t *fd;
	int plain = 0, plus = 0, extended = 0, rc;
	struct glfs_xreaddirp_stat *more = NULL;

	for (int i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "entry%d", i);
		fd = glfs_creat(c->fs, under(c, name), O_RDWR, 0600);
		if (fd != NULL)
			glfs_close(fd);
	}
	fd = glfs_opendir(c->fs, c->dir);
	show("opendir", fd == NULL ? -1 : 0);
	while (glfs_readdir_r(fd, &entry, &result) == 0 && result != NULL)
		plain++;
	glfs_seekdir(fd, 0);
	while (glfs_readdirplus_r(fd, &st, &entry, &result) == 0 &&
	       result != NULL)
		plus++;
	glfs_seekdir(fd, 0);
	while (true) {
		more = NULL;
		rc = glfs_xreaddirplus_r(fd, GFAPI_XREADDIRP_STAT, &more,
					 &entry, &result);
		glfs_free(more);
		if (rc < 0 || result == NULL)
			break;
		extended++;
	}
	printf("readdir %d, readdirplus %d, xreaddirplus %d\n", plain, plus,
	       extended);
	show("fsync of a directory", glfs_fsync(fd, NULL, NULL));
	show("closedir", glfs_closedir(fd));
	show("rmdir of a full one", glfs_rmdir(c->fs, c->dir));
}

static void try_handles(struct client *c)
{
	unsigned char handle[GFAPI_HANDLE_LENGTH];
	char value[16];
	struct glfs_object *dir, *file, *made;
	struct stat st;
	glfs_fd_t *fd;

	dir = glfs_h_lookupat(c->fs, NULL, c->dir, &st, 0);
	show_stat("h_lookupat", dir == NULL ? -1 : 0, &st);
	file = glfs_h_creat(c->fs, dir, "handled", O_RDWR, 0644, &st);
	show_stat("h_creat", file == NULL ? -1 : 0, &st);
	show("h_extract_handle", glfs_h_extract_handle(file, handle,
						       sizeof(handle)));
	fd = glfs_h_open(c->fs, file, O_RDWR);
	show("h_open", fd == NULL ? -1 : 0);
	show("pwrite", glfs_pwrite(fd, "by handle", 9, 0, 0, NULL, NULL));
	show("close", glfs_close(fd));
	show_bytes("h_anonymous_read", glfs_h_anonymous_read(
			c->fs, file, c->back, 100, 3), c->back);
	show("h_anonymous_write", (ssize_t)glfs_h_anonymous_write(
			c->fs, file, "BY", 2, 0));
	show("h_truncate", glfs_h_truncate(c->fs, file, 5));
	show_stat("h_stat", glfs_h_stat(c->fs, file, &st), &st);
	show_stat("h_getattrs", glfs_h_getattrs(c->fs, file, &st), &st);
	st.st_mode = 0640;
	show("h_setattrs", glfs_h_setattrs(c->fs, file, &st, 1 /* mode */));
	show("h_setxattrs", glfs_h_setxattrs(c->fs, file, "user.h", "v", 1, 0));
	show("h_getxattrs", glfs_h_getxattrs(c->fs, file, "user.h", value,
					    sizeof(value)));
	show("h_removexattrs", glfs_h_removexattrs(c->fs, file, "user.h"));
	show("h_access", glfs_h_access(c->fs, file, R_OK));
	made = glfs_h_mkdir(c->fs, dir, "h-dir", 0700, &st);
	show_stat("h_mkdir", made == NULL ? -1 : 0, &st);
	show("h_link", glfs_h_link(c->fs, file, made, "h-link"));
	show("h_rename", glfs_h_rename(c->fs, made, "h-link", dir, "h-new"));
	show("h_unlink", glfs_h_unlink(c->fs, dir, "h-new"));
	show("h_close", glfs_h_close(made));
	made = glfs_h_symlink(c->fs, dir, "h-sym", "handled", &st);
	show_stat("h_symlink", made == NULL ? -1 : 0, &st);
	show("h_readlink", glfs_h_readlink(c->fs, made, (char *)c->back, 100));
	show("h_close", glfs_h_close(made));
	show("h_close", glfs_h_close(file));
	file = glfs_h_create_from_handle(c->fs, handle, sizeof(handle), &st);
	show_stat("h_create_from_handle", file == NULL ? -1 : 0, &st);
	if (file != NULL)
		glfs_h_close(file);
	glfs_h_close(dir);
}

static void try_as_nobody(struct client *c)
{
	struct stat st;

	show("fsgid", glfs_setfsgid(65534));
	show("fsuid", glfs_setfsuid(65534));
	show("open", glfs_open(c->fs, under(c, "file"), O_RDWR) ? 0 : -1);
	show("creat", glfs_creat(c->fs, under(c, "no"), O_RDWR, 0600) ? 0 : -1);
	show("chmod", glfs_chmod(c->fs, under(c, "file"), 0777));
	show("unlink", glfs_unlink(c->fs, under(c, "file")));
	show_stat("stat", glfs_stat(c->fs, under(c, "file"), &st), &st);
	glfs_setfsuid(0);
	glfs_setfsgid(0);
}

static const struct {
	const char *name;
	void (*run)(struct client *c);
} parts[] = {
	{ "names", try_names },
	{ "attributes", try_attributes },
	{ "data", try_data },
	{ "xattrs", try_xattrs },
	{ "locks", try_locks },
	{ "leases", try_leases },
	{ "directory", try_directory },
	{ "handles", try_handles },
	{ "nobody", try_as_nobody },
};

static bool connect_volume(struct client *c, char **argv)
{
	c->fs = glfs_new("vol");
	if (c->fs == NULL || glfs_set_volfile(c->fs, argv[1]) < 0 ||
	    glfs_set_logging(c->fs, argv[2], 7) < 0 || glfs_init(c->fs) < 0) {
		perror("gfapi_client");
		return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	struct client c = { .fs = NULL };

	if (argc != 4) {
		fputs("usage: gfapi_client VOLFILE LOGFILE DIR\n", stderr);
		return 64;
	}
	c.block = malloc(BLOCK);
	c.back = calloc(2, BLOCK);
	if (c.block == NULL || c.back == NULL || !connect_volume(&c, argv))
		return 1;
	for (size_t i = 0; i < BLOCK; i++)
		c.block[i] = (unsigned char)((i * 2654435761u) >> 13);
	snprintf(c.dir, sizeof(c.dir), "/%s", argv[3]);
	show("mkdir", glfs_mkdir(c.fs, c.dir, 0755));
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		printf("== %s\n", parts[i].name);
		parts[i].run(&c);
	}
	show("fini", glfs_fini(c.fs));
	free(c.block);
	free(c.back);
	return 0;
}
