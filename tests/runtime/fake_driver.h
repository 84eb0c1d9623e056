/* A CUDA driver that runs nothing but watches everything: which calls came, what is still alive, what a launch passed.
 * Any call can be made to fail. tests load it as the driver, then reach its state through fake_driver(). Device memory is
 * host memory. Not thread-safe beyond atomics on the counters that the thread test reads. */
#ifndef WS_FAKE_DRIVER_H
#define WS_FAKE_DRIVER_H
#include <stdatomic.h>
#include <stdint.h>

struct fake_driver {
  /* set by tests */
  int devices, version;
  struct {
    int major, minor, multiprocessors, shared;
  } device[4];
  const char *fail_name;    /* this call fails ... */
  int fail_nth;             /* ... or the n-th of any, from 1; 0 = none */
  unsigned int fail_result;
  int line_info;         /* modules that were loaded with the .loc lines */
  const char *jit_log;      /* loading a module fails with this log */
  int threads_per_block;    /* what the compiled code allows */
  int nparams;              /* how many parameters a launch has */
  int pending;              /* how often a stream answers that it is still at work */
  const char *bad_image;    /* loading a module from an image that begins so fails as an invalid image */
  /* seen by tests */
  atomic_int calls, launches;
  const char *failed;       /* the call that was made to fail */
  int contexts, modules, allocations, streams, events, links; /* alive */
  atomic_int compiled, linked; /* modules made of PTX, machine code made of PTX */
  unsigned int grid, block, shared;
  int max_dynamic_shared;   /* set through the function's attribute */
  void *stream;
  uint64_t params[128];
  void (*sweep)(void);      /* frees what is still alive */
  void *current;            /* this thread's context at the last launch */
  unsigned int cluster;     /* of the last launch; 0 = asked for none */
  int portable_only;        /* 0 once a larger cluster was allowed through the function's attribute */
  atomic_int maps;          /* tensor maps made so far; the number of each stands in its first 8 bytes */
  struct fake_map {
    unsigned int type, rank, interleave, swizzle, l2, fill;
    uint64_t address, extents[5], strides[5];
    uint32_t box[5], steps[5];
  } map[16];
};
#define FAKE_DRIVER_SYMBOL "fake_driver"
typedef struct fake_driver *fake_driver_function(void);
#endif
