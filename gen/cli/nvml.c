/* The GPU's clocks through the management library that comes with the driver, opened at run time. */
#include "cli.h"
#include <dlfcn.h>
#include <string.h>

struct nvmlDevice_st;
enum { CLOCK_SM = 1, CLOCK_MEMORY = 2 };

static void load(void *library, const char *name, void *function) {
  void *symbol = dlsym(library, name);
  memcpy(function, &symbol, sizeof symbol);
}

struct ws_cli_clocks ws_cli_read_clocks(const char *pci_bus_id) {
  struct ws_cli_clocks c = {.known = false};
  int (*init)(void), (*shutdown)(void), (*by_bus)(const char *, struct nvmlDevice_st **);
  int (*clock)(struct nvmlDevice_st *, unsigned, unsigned *), (*power)(struct nvmlDevice_st *, unsigned *);
  void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return c;
  load(library, "nvmlInit_v2", &init);
  load(library, "nvmlShutdown", &shutdown);
  load(library, "nvmlDeviceGetHandleByPciBusId_v2", &by_bus);
  load(library, "nvmlDeviceGetClockInfo", &clock);
  load(library, "nvmlDeviceGetPowerUsage", &power);
  if (init && shutdown && by_bus && clock && power && !init()) {
    struct nvmlDevice_st *device;
    unsigned milliwatts = 0;
    c.known =
        !by_bus(pci_bus_id, &device) && !clock(device, CLOCK_SM, &c.sm) && !clock(device, CLOCK_MEMORY, &c.memory);
    if (c.known && !power(device, &milliwatts)) c.power = milliwatts / 1000;
    shutdown();
  }
  dlclose(library);
  return c;
}
