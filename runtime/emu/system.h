/* Functions of the system that kernels call: printf and assert (system.c). */
#ifndef WS_EMU_SYSTEM_H
#define WS_EMU_SYSTEM_H
#include "engine.h"

/* The addresses are generic ones of the thread. Returns the number of characters printed. */
int32_t ws_emu_vprintf(struct who who, uint64_t format, uint64_t args);
int ws_emu_assertfail(struct who who, uint64_t message, uint64_t file, uint32_t line); /* an EV_ */
#endif
