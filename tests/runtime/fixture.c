#include "fixture.h"
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct fake_driver *fake;
char *copy_ptx;
size_t copy_length;
static void *library;

int fixture_begin(void) {
  library = dlopen(WS_FAKE_DRIVER, RTLD_NOW);
  fake_driver_function *get = NULL;
  void *symbol = library ? dlsym(library, FAKE_DRIVER_SYMBOL) : NULL;
  memcpy(&get, &symbol, sizeof get);
  if (!get) return 99;
  fake = get();
  copy_ptx = test_read("copy.ptx", &copy_length);
  return 0;
}

void fixture_end(void) {
  fake->sweep();
  free(copy_ptx);
  dlclose(library);
}

int fixture_reset(void **state) {
  (void)state;
  void (*sweep)(void) = fake->sweep;
  sweep();
  memset(fake, 0, sizeof *fake);
  fake->sweep = sweep;
  fake->devices = 1;
  fake->version = 12040;
  fake->device[0].major = 8;
  for (int i = 0; i < 4; i++) fake->device[i].multiprocessors = 108, fake->device[i].shared = 166912;
  fake->threads_per_block = 1024;
  fake->fail_result = 999;
  fake->nparams = 24;
  return 0;
}

void fixture_nothing_is_left(void) {
  assert_int_equal(fake->contexts, 0);
  assert_int_equal(fake->modules, 0);
  assert_int_equal(fake->allocations, 0);
  assert_int_equal(fake->streams, 0);
  assert_int_equal(fake->events, 0);
  assert_int_equal(fake->links, 0);
}

struct ws_kernel *fixture_load(char *text, struct ws_device **device) {
  static const struct ws_device_options options = {.driver_path = WS_FAKE_DRIVER};
  struct ws_error_info err;
  struct ws_kernel *k;
  if (ws_device_open("cuda:0", NULL, &options, device, &err)) fail_msg("%s", err.message);
  if (ws_kernel_load_text(*device, text, strlen(text), &k, &err)) fail_msg("%s", err.message);
  free(text);
  return k;
}

void fixture_unload(struct ws_kernel *k, struct ws_device *device) {
  ws_kernel_free(k);
  ws_device_close(device);
  fixture_nothing_is_left();
}

char *fixture_folder(void) {
  const char *base = getenv("TMPDIR");
  char *path = malloc(512);
  snprintf(path, 512, "%.400s/warpscore-test-XXXXXX", base && *base ? base : "/tmp");
  if (!mkdtemp(path)) fail_msg("no temporary folder %s", path);
  return path;
}

int fixture_files(const char *folder, char *last, size_t size) {
  int n = 0;
  DIR *d = opendir(folder);
  for (struct dirent *e; d && (e = readdir(d));) {
    if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
    if (last) snprintf(last, size, "%s/%s", folder, e->d_name);
    n++;
  }
  if (d) closedir(d);
  return n;
}

void fixture_remove(char *folder) {
  char path[1024];
  while (fixture_files(folder, path, sizeof path) && !unlink(path)) {
  }
  rmdir(folder);
  free(folder);
}
