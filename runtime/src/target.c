/* Which kernel runs where: targets against compute capabilities, PTX versions against drivers. */
#include "runtime.h"
#include <stdio.h>
#include <string.h>

static void say(char *out, size_t size, const char *fmt, int major, int minor) {
  if (out) snprintf(out, size, fmt, major, minor);
}

/* PTX ISA, PTX Module Directives: .target. sm_XY runs on X.Y and later, sm_XYa on X.Y alone, sm_XYf on X.Y and later
 * members of the same family. A word that is no target leaves reason empty. */
bool ws_rt_target_runs(const char *target, int major, int minor, char *reason, size_t size) {
  if (reason && size) *reason = 0;
  size_t n = strlen(target);
  if (n < 5 || n > 7 || memcmp(target, "sm_", 3)) return false;
  char suffix = target[n - 1];
  if (suffix == 'a' || suffix == 'f')
    n--;
  else
    suffix = 0;
  int number = 0;
  for (size_t i = 3; i < n; i++) {
    if (target[i] < '0' || target[i] > '9') return false;
    number = number * 10 + (target[i] - '0');
  }
  if (number < 10) return false;
  int x = number / 10, y = number % 10;
  if (suffix == 'a') {
    say(reason, size, "compute capability %d.%d exactly", x, y);
    return major == x && minor == y;
  }
  if (suffix == 'f') {
    say(reason, size, "compute capability %d.%d or a later one of the same family", x, y);
    return major == x && minor >= y;
  }
  say(reason, size, "compute capability %d.%d or later", x, y);
  return major > x || (major == x && minor >= y);
}

/* CUDA version of the driver -> newest PTX version (PTX ISA, Release Notes). */
static const struct {
  int cuda, ptx;
} newest[] = {
    {11000, 70}, {11010, 71}, {11020, 72}, {11030, 73}, {11040, 74}, {11050, 75}, {11060, 76},
    {11070, 77}, {11080, 78}, {12000, 80}, {12010, 81}, {12020, 82}, {12030, 83}, {12040, 84},
    {12050, 85}, {12060, 85}, {12070, 86}, {12080, 87}, {12090, 88}, {13000, 90}, {13010, 91},
};
enum { NNEWEST = sizeof newest / sizeof *newest };

int ws_rt_ptx_of_driver(int driver_version) {
  for (int i = 0; i < NNEWEST; i++)
    if (newest[i].cuda == driver_version / 10 * 10) return newest[i].ptx;
  return 0; /* older than 11.0 or newer than the table: the driver itself will tell */
}

enum ws_status ws_rt_check_ptx_version(const struct ws_kernel_info *k, int driver_version, struct ws_error_info *err) {
  int known = ws_rt_ptx_of_driver(driver_version), wanted = (int)(k->ptx_major * 10 + k->ptx_minor);
  if (!known || wanted <= known) return WS_OK;
  return ws_rt_fail(err, WS_ERR_UNSUPPORTED,
                    "kernel %s: PTX version %u.%u found, but this driver (CUDA %d.%d) compiles up to %d.%d: update the "
                    "driver, or assemble with ptxas and load the cubin",
                    k->entry, k->ptx_major, k->ptx_minor, driver_version / 1000, driver_version % 1000 / 10, known / 10,
                    known % 10);
}
