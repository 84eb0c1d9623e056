/* Compiled kernels in a folder that the caller names, one file each:
 *
 *   a head of HEAD bytes of text, filled up with blanks: what the entry was made from, the sizes, a checksum
 *   the PTX text, filled up to a multiple of ALIGN
 *   the machine code
 *
 * The file's name is a hash, but an entry is taken only when its head and its whole PTX text equal what is asked for and the
 * machine code fits its checksum: two kernels of one hash, a half-written or damaged file cost a compilation, nothing else.
 * Files are written under a name of their own and renamed, so that a reader in another process finds all or nothing. */
#define _POSIX_C_SOURCE 200809L
#include "runtime.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEAD = 256, ALIGN = 64 };

/* Eight bytes at a time: multiply and fold. Tells contents apart; no protection against somebody who forges files. */
static uint64_t hash(uint64_t h, const void *data, size_t n) {
  const unsigned char *p = data;
  for (; n; p += n < 8 ? n : 8, n -= n < 8 ? n : 8) {
    uint64_t w = 0;
    memcpy(&w, p, n < 8 ? n : 8);
    h = (h ^ w ^ n) * UINT64_C(0x9e3779b97f4a7c15);
    h ^= h >> 32;
  }
  return h;
}

static size_t padded(size_t n) { return (n + ALIGN - 1) / ALIGN * ALIGN; }

/* The part of the head that is known before the kernel is compiled. */
static int identity(const struct ws_rt_cache_key *key, char *out, size_t size) {
  return snprintf(out, size, "warpscore cubin 1\ntarget %.16s\ndriver %d\ndevice %d.%d\nptx %zu\n", key->target,
                  key->driver_version, key->major, key->minor, key->length);
}

static bool entry_path(const char *folder, const struct ws_rt_cache_key *key, char *out, size_t size) {
  char who[HEAD];
  int n = identity(key, who, sizeof who);
  uint64_t a = hash(hash(1, who, (size_t)n), key->ptx, key->length), b = hash(a, who, (size_t)n);
  int written = snprintf(out, size, "%s/%016llx%016llx.wscubin", folder, (unsigned long long)a, (unsigned long long)b);
  return written > 0 && (size_t)written < size;
}

static int make_head(const struct ws_rt_cache_key *key, const void *cubin, size_t length, char *out) {
  int n = identity(key, out, HEAD);
  n += snprintf(out + n, (size_t)(HEAD - n), "cubin %zu\ncheck %016llx\n", length,
                (unsigned long long)hash(length, cubin, length));
  memset(out + n, ' ', (size_t)(HEAD - n));
  out[HEAD - 1] = '\n';
  return n;
}

/* Why a file is not the entry that is asked for; NULL = it is. */
static const char *check(const struct ws_rt_cache_key *key, const char *file, size_t n, struct ws_rt_cache_entry *entry) {
  size_t code = HEAD + padded(key->length);
  char head[HEAD];
  if (n <= code) return "is cut short";
  entry->cubin = file + code;
  entry->cubin_length = n - code;
  make_head(key, entry->cubin, entry->cubin_length, head);
  if (memcmp(head, file, HEAD)) return "is damaged or of another kernel";
  if (memcmp(file + HEAD, key->ptx, key->length)) return "is of another kernel";
  return ws_rt_whole_elf(entry->cubin, entry->cubin_length) ? NULL : "is damaged";
}

bool ws_rt_cache_find(const char *folder, const struct ws_rt_cache_key *key, struct ws_rt_cache_entry *entry, char *note,
                      size_t size) {
  char path[PATH_MAX];
  struct ws_error_info err;
  size_t n;
  *note = 0;
  if (!entry_path(folder, key, path, sizeof path)) return false;
  if (ws_rt_read_file(path, &entry->file, &n, &err)) return false;
  const char *why = check(key, entry->file, n, entry);
  if (why) {
    snprintf(note, size, "; the entry there %s", why);
    free(entry->file);
    return false;
  }
  snprintf(note, size, "taken from %.400s", path);
  return true;
}

static bool write_all(int fd, const void *data, size_t n) {
  const char *p = data;
  while (n) {
    ssize_t done = write(fd, p, n);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) {
      if (!done) errno = ENOSPC;
      return false;
    }
    p += done;
    n -= (size_t)done;
  }
  return true;
}

static bool write_entry(int fd, const struct ws_rt_cache_key *key, const void *cubin, size_t length) {
  static const char zeros[ALIGN] = {0};
  char head[HEAD];
  make_head(key, cubin, length, head);
  return write_all(fd, head, HEAD) && write_all(fd, key->ptx, key->length) &&
         write_all(fd, zeros, padded(key->length) - key->length) && write_all(fd, cubin, length);
}

/* Writes a file of its own beside path, then gives it that name. 0, or errno. */
static int replace(const char *path, const struct ws_rt_cache_key *key, const void *cubin, size_t length) {
  char temporary[PATH_MAX];
  int n = snprintf(temporary, sizeof temporary, "%s.XXXXXX", path);
  if (n < 0 || (size_t)n >= sizeof temporary) return ENAMETOOLONG;
  int fd = mkstemp(temporary), reason = 0;
  if (fd < 0) return errno;
  if (!write_entry(fd, key, cubin, length)) reason = errno;
  if (close(fd) && !reason) reason = errno;
  if (!reason && rename(temporary, path)) reason = errno;
  if (reason) unlink(temporary);
  return reason;
}

void ws_rt_cache_store(const char *folder, const struct ws_rt_cache_key *key, const void *cubin, size_t length, char *note,
                       size_t size) {
  char path[PATH_MAX], before[128];
  snprintf(before, sizeof before, "%.127s", *note == ';' ? note : "");
  int reason = ENAMETOOLONG;
  if (entry_path(folder, key, path, sizeof path)) {
    reason = mkdir(folder, 0777) && errno != EEXIST ? errno : 0;
    if (!reason) reason = replace(path, key, cubin, length);
  }
  if (reason)
    snprintf(note, size, "not stored in %.350s: %s%s", folder, strerror(reason), before);
  else
    snprintf(note, size, "stored in %.350s%s", path, before);
}
