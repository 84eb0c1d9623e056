/* The layout of the public structures as the C compiler sees it, one `STRUCT.MEMBER OFFSET SIZE` a line and `STRUCT SIZE`: what a
 * binding in another language has to agree with. */
#include <stdio.h>
#include "warpscore.h"

#define SIZE(s) printf(#s " %zu\n", sizeof(struct s))
#define MEMBER(s, m) printf(#s "." #m " %zu %zu\n", offsetof(struct s, m), sizeof(((struct s *)0)->m))

int main(void) {
  SIZE(ws_error_info), MEMBER(ws_error_info, status), MEMBER(ws_error_info, driver_result), MEMBER(ws_error_info, message);
  SIZE(ws_kernel_info), MEMBER(ws_kernel_info, entry), MEMBER(ws_kernel_info, target), MEMBER(ws_kernel_info, problem);
  MEMBER(ws_kernel_info, schedule), MEMBER(ws_kernel_info, tool), MEMBER(ws_kernel_info, lse_base);
  MEMBER(ws_kernel_info, checked), MEMBER(ws_kernel_info, grid), MEMBER(ws_kernel_info, persistent);
  MEMBER(ws_kernel_info, block), MEMBER(ws_kernel_info, shared), MEMBER(ws_kernel_info, registers);
  MEMBER(ws_kernel_info, ptx_major), MEMBER(ws_kernel_info, ptx_minor), MEMBER(ws_kernel_info, cluster);
  SIZE(ws_device_options), MEMBER(ws_device_options, driver_path), MEMBER(ws_device_options, emulator_path);
  MEMBER(ws_device_options, context), MEMBER(ws_device_options, cache_folder);
  SIZE(ws_device_info), MEMBER(ws_device_info, name), MEMBER(ws_device_info, model), MEMBER(ws_device_info, choice);
  MEMBER(ws_device_info, emulator), MEMBER(ws_device_info, ordinal), MEMBER(ws_device_info, major);
  MEMBER(ws_device_info, minor), MEMBER(ws_device_info, multiprocessors), MEMBER(ws_device_info, driver_version);
  MEMBER(ws_device_info, memory), MEMBER(ws_device_info, shared_per_cta);
  SIZE(ws_kernel_resources), MEMBER(ws_kernel_resources, registers), MEMBER(ws_kernel_resources, local_bytes);
  MEMBER(ws_kernel_resources, static_shared), MEMBER(ws_kernel_resources, ctas_per_sm);
  SIZE(ws_load_info), MEMBER(ws_load_info, source), MEMBER(ws_load_info, seconds), MEMBER(ws_load_info, cache);
  SIZE(ws_tensor), MEMBER(ws_tensor, name), MEMBER(ws_tensor, data), MEMBER(ws_tensor, type), MEMBER(ws_tensor, rank);
  MEMBER(ws_tensor, shape), MEMBER(ws_tensor, stride);
  SIZE(ws_scalar), MEMBER(ws_scalar, name), MEMBER(ws_scalar, value);
  SIZE(ws_launch), MEMBER(ws_launch, tensors), MEMBER(ws_launch, ntensors), MEMBER(ws_launch, scalars);
  MEMBER(ws_launch, nscalars), MEMBER(ws_launch, stream), MEMBER(ws_launch, workspace);
  MEMBER(ws_launch, workspace_bytes), MEMBER(ws_launch, sm_count), MEMBER(ws_launch, sm_margin);
  SIZE(ws_plan), MEMBER(ws_plan, grid), MEMBER(ws_plan, block), MEMBER(ws_plan, shared), MEMBER(ws_plan, sms);
  MEMBER(ws_plan, workspace_bytes);
  SIZE(ws_need), MEMBER(ws_need, problem), MEMBER(ws_need, type), MEMBER(ws_need, head_dim), MEMBER(ws_need, mask);
  MEMBER(ws_need, queries), MEMBER(ws_need, keys);
  SIZE(ws_choice), MEMBER(ws_choice, file), MEMBER(ws_choice, row), MEMBER(ws_choice, line), MEMBER(ws_choice, reason);
  return 0;
}
