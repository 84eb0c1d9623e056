/* Prints the emulator's instruction table as Markdown. */
#include "isa.h"
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  size_t n = ws_emu_isa_list(NULL, 0);
  char *text = malloc(n + 1);
  if (!text) return 1;
  ws_emu_isa_list(text, n + 1);
  fputs(text, stdout);
  free(text);
  return 0;
}
