/* The public header stands alone: this file compiles as C11 and, through header.cpp, as C++17, both without warnings.
 */
#include "warpscore.h"

int main(void) {
  struct ws_error_info err;
  const enum ws_status status = ws_manifest_read(0, 0, &err);
  return status == WS_ERR_ARGUMENT && ws_device_open("none", 0, 0, 0, &err) == WS_ERR_ARGUMENT ? 0 : 1;
}
