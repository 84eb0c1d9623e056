#include "tma_kernels.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The wait gives up after a while: bytes that never come must not hang a GPU. */
static const char head[] =
    ".version 8.3\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 dsm[];\n"
    ".visible .entry k(.param .align 64 .b8 tm[128], .param .u64 p_image, .param .u32 p_offset, .param .u32 p_bytes, .param .u32 p_smem,\n"
    "  .param .u32 p0, .param .u32 p1, .param .u32 p2, .param .u32 p3, .param .u32 p4)\n.reqntid 128, 1, 1\n{\n"
    ".reg .pred p, q;\n.reg .b32 tid, i, v, sa, bar, smem, offset, bytes, tries, flag, c<5>;\n.reg .b64 image, at, map;\n"
    "ld.param.u64 image, [p_image];\ncvta.to.global.u64 image, image;\nld.param.u32 offset, [p_offset];\nld.param.u32 bytes, [p_bytes];\n"
    "ld.param.u32 smem, [p_smem];\nld.param.u32 c0, [p0];\nld.param.u32 c1, [p1];\nld.param.u32 c2, [p2];\nld.param.u32 c3, [p3];\n"
    "ld.param.u32 c4, [p4];\nmov.b64 map, tm;\ncvta.param.u64 map, map;\n"
    "mov.u32 tid, %tid.x;\nmov.u32 bar, dsm;\nmov.u32 flag, 0;\nmov.u32 tries, 0;\n"
    "shl.b32 i, tid, 2;\n"
    "FILL: setp.ge.u32 p, i, smem;\n@p bra FILLED;\ncvt.u64.u32 at, i;\nadd.u64 at, image, at;\nld.global.u32 v, [at];\n"
    "add.u32 sa, bar, i;\nst.shared.u32 [sa+1024], v;\nadd.u32 i, i, 512;\nbra FILL;\nFILLED:\n"
    "setp.ne.u32 q, tid, 0;\n@q bra READY;\nmbarrier.init.shared::cta.b64 [bar], 1;\nfence.mbarrier_init.release.cluster;\nREADY:\n"
    "fence.proxy.async.shared::cta;\nbar.sync 0;\nadd.u32 sa, bar, offset;\nadd.u32 sa, sa, 1024;\n@q bra ISSUED;\n";
static const char load[] =
    "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], bytes;\n"
    "cp.async.bulk.tensor.%dd.shared::cluster.global.tile.mbarrier::complete_tx::bytes [sa], [map, {%s}], [bar];\n"
    "ISSUED:\nWAIT: mbarrier.try_wait.parity.shared::cta.b64 p, [bar], 0;\n@p bra DONE;\nadd.u32 tries, tries, 1;\n"
    "setp.lt.u32 p, tries, 2000;\n@p bra WAIT;\nmov.u32 flag, 1;\nDONE:\n";
static const char store[] =
    "cp%s.async.bulk.tensor.%dd.global.shared::cta%s%s.tile.bulk_group [map, {%s}], [sa];\n"
    "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\nISSUED:\n";
static const char tail[] =
    "bar.sync 0;\nshl.b32 i, tid, 2;\n"
    "DUMP: setp.ge.u32 p, i, smem;\n@p bra DUMPED;\nadd.u32 sa, bar, i;\nld.shared.u32 v, [sa+1024];\ncvt.u64.u32 at, i;\n"
    "add.u64 at, image, at;\nst.global.u32 [at], v;\nadd.u32 i, i, 512;\nbra DUMP;\nDUMPED:\n"
    "cvt.u64.u32 at, smem;\nadd.u64 at, image, at;\n@!q st.global.u32 [at], flag;\nret;\n}\n";

char *tma_kernel(int rank, const char *op) {
  static const char *const coordinates[] = {"c0", "c0, c1", "c0, c1, c2", "c0, c1, c2, c3", "c0, c1, c2, c3, c4"};
  size_t size = sizeof head + sizeof load + sizeof store + sizeof tail + 256, n;
  char *text = malloc(size);
  if (!text) return NULL;
  strcpy(text, head);
  n = strlen(text);
  if (!op) n += (size_t)snprintf(text + n, size - n, load, rank, coordinates[rank - 1]);
  else n += (size_t)snprintf(text + n, size - n, store, *op ? ".reduce" : "", rank, *op ? "." : "", op, coordinates[rank - 1]);
  snprintf(text + n, size - n, "%s", tail);
  return text;
}
