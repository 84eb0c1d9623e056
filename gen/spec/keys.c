#include "spec/keys.h"
#include "spec/syntax.h"

#define NONE WS_NO_OFFSET
#define AT(type, member) offsetof(struct type, member)
#define KEYS(table) table, sizeof(table) / sizeof *(table)
#define WORDS(...) (const char *const[]) { __VA_ARGS__, NULL }

static const struct ws_key param_keys[] = {
    {"type", WS_K_WORD, true, AT(ws_param, type), NONE, AT(ws_param, type_pos), WORDS("int", "float", "bool", "type", "name"), NULL, NULL,
     "What the parameter holds: a number, true or false, an element type, or a word."},
    {"choices", WS_K_LIST, false, AT(ws_param, choices), AT(ws_param, nchoices), NONE, NULL, NULL, NULL,
     "The values that it may have."},
    {"default", WS_K_EXPR, true, AT(ws_param, value), NONE, NONE, NULL, NULL, NULL, "Its value unless -D NAME=value gives another."},
};
static const struct ws_record param = {"parameter", KEYS(param_keys), sizeof(struct ws_param), AT(ws_param, pos), NONE, AT(ws_param, value)};

static const struct ws_key work_keys[] = {
    {"tile", WS_K_PAIRS, true, AT(ws_work, tile), AT(ws_work, ntile), NONE, NULL, NULL, NULL,
     "Extent of a work tile by index space, such as queries: 128; `all` is the whole extent."},
    {"blocks", WS_K_PAIRS, false, AT(ws_work, blocks), AT(ws_work, nblocks), NONE, NULL, NULL, NULL,
     "Step of the inner lists by index space, such as keys: 64."},
    {"order", WS_K_PAIRS, false, AT(ws_work, order), AT(ws_work, norder), NONE, WORDS("ascending", "descending"), NULL, NULL,
     "Direction of the inner lists by index space; ascending if not given."},
    {"launch", WS_K_EXPR, false, AT(ws_work, launch), NONE, NONE, WORDS("single", "persistent"), NULL, NULL,
     "One CTA a tile, or as many CTAs as fit that take tiles in turn; single if not given."},
    {"sort", WS_K_EXPR, false, AT(ws_work, sort), NONE, NONE, WORDS("longest"), NULL, NULL, "Tiles with the most blocks first."},
    {"cluster", WS_K_EXPR, false, AT(ws_work, cluster), NONE, NONE, WORDS("pair"), NULL, NULL, "Two CTAs work on one tile; `rank` tells them apart."},
    {"ctas", WS_K_EXPR, false, AT(ws_work, ctas), NONE, NONE, NULL, NULL, NULL, "CTAs that shall fit on one SM."},
};
static const struct ws_record work = {"work section", KEYS(work_keys), sizeof(struct ws_work), AT(ws_work, pos), NONE, NONE};

static const struct ws_key rule_keys[] = {
    {"score", WS_K_EXPR, false, AT(ws_rule_decl, score), NONE, NONE, NULL, NULL, NULL,
     "The score of query `row` and key `col`, from s = scale * q.k; the problem's is s."},
    {"visible", WS_K_EXPR, false, AT(ws_rule_decl, visible), NONE, NONE, NULL, NULL, NULL,
     "Whether query `row` sees key `col`; the problem's follows its parameters."},
    {"weight", WS_K_EXPR, false, AT(ws_rule_decl, weight), NONE, NONE, WORDS("softmax", "sigmoid"), NULL, NULL,
     "How scores become weights; softmax if not given."},
    {"sink", WS_K_EXPR, false, AT(ws_rule_decl, sink), NONE, NONE, NULL, NULL, NULL,
     "One more score in the denominator of a row, without a value."},
};
static const struct ws_record rule = {"reference", KEYS(rule_keys), sizeof(struct ws_rule_decl), AT(ws_rule_decl, pos), NONE, NONE};

static const struct ws_key tensor_keys[] = {
    {"dims", WS_K_LIST, true, AT(ws_tensor_decl, dims), AT(ws_tensor_decl, ndims), NONE, NULL, NULL, NULL,
     "Its dimensions, outermost first; the last two are the rows and columns of a tile."},
    {"type", WS_K_EXPR, true, AT(ws_tensor_decl, type), NONE, NONE, NULL, NULL, NULL, "Its element type."},
    {"input", WS_K_EXPR, false, AT(ws_tensor_decl, input), NONE, NONE, WORDS("true", "false"), NULL, NULL,
     "true: the caller fills it, as the problem's own inputs; a workspace if not given."},
};
static const struct ws_record tensor = {"tensor", KEYS(tensor_keys), sizeof(struct ws_tensor_decl), AT(ws_tensor_decl, pos), NONE, NONE};

static const struct ws_key role_keys[] = {
    {"warps", WS_K_EXPR, true, AT(ws_role, warps), NONE, NONE, NULL, NULL, NULL, "Warps of one instance."},
    {"registers", WS_K_EXPR, false, AT(ws_role, registers), NONE, NONE, NULL, NULL, NULL,
     "Registers of a thread (setmaxnreg); one value a warpgroup."},
    {"threads", WS_K_EXPR, false, AT(ws_role, threads), NONE, NONE, NULL, NULL, NULL, "1: one elected lane of the first warp runs the program."},
    {"code", WS_K_EXPR, false, AT(ws_role, code), NONE, NONE, WORDS("separate"), NULL, NULL,
     "Each instance has code of its own: its index is static."},
};
static const struct ws_record role = {"role", KEYS(role_keys), sizeof(struct ws_role), AT(ws_role, name.pos), AT(ws_role, name.count), NONE};

static const struct ws_key buffer_keys[] = {
    {"space", WS_K_EXPR, true, AT(ws_buffer, space), NONE, NONE, WORDS("smem", "tmem"), NULL, NULL, "Shared memory or tensor memory."},
    {"tile", WS_K_TILE, true, AT(ws_buffer, rows), AT(ws_buffer, cols), AT(ws_buffer, tile_pos), NULL, NULL, NULL,
     "Rows and columns of one tile."},
    {"type", WS_K_EXPR, true, AT(ws_buffer, type), NONE, NONE, NULL, NULL, NULL, "Its element type."},
    {"stages", WS_K_EXPR, false, AT(ws_buffer, stages), NONE, NONE, NULL, NULL, NULL, "Slots of the ring; 1 if not given."},
    {"at", WS_K_EXPRS, false, AT(ws_buffer, at), AT(ws_buffer, nat), NONE, NULL, NULL, NULL,
     "Its place: a TMEM column, one for each element or stage, or a buffer that it overlays, as in S + 64."},
    {"order", WS_K_EXPR, false, AT(ws_buffer, order), NONE, NONE, WORDS("panels", "rows8", "acc8"), NULL, NULL,
     "panels: one behind the other, as high as the tile (the default); rows8: every 8 rows with all their panels together, by one copy of TMA; "
     "acc8: every 32 keys stand as an accumulator cast to 8 bits holds them."},
    {"swizzle", WS_K_EXPR, false, AT(ws_buffer, swizzle), NONE, NONE, NULL, NULL, NULL,
     "Bytes of the shared memory swizzle: 0, 32, 64 or 128; chosen by the tool if not given."},
};
static const struct ws_record buffer = {"buffer", KEYS(buffer_keys), sizeof(struct ws_buffer), AT(ws_buffer, name.pos), AT(ws_buffer, name.count), NONE};

static const struct ws_key pipeline_keys[] = {
    {"buffer", WS_K_NAME, true, AT(ws_pipeline, buffer), NONE, AT(ws_pipeline, buffer_pos), NULL, NULL, NULL,
     "The buffer whose stages are the ring's slots."},
    {"by", WS_K_WORD, false, AT(ws_pipeline, by), NONE, AT(ws_pipeline, by_pos), WORDS("tma", "cp.async"), NULL, NULL,
     "Who fills it: TMA or cp.async; threads or products if not given."},
    {"from", WS_K_ENDS, true, AT(ws_pipeline, from), AT(ws_pipeline, nfrom), NONE, WORDS("thread", "warp", "one"), NULL, NULL,
     "The roles that fill it, with the unit in which they arrive."},
    {"to", WS_K_ENDS, true, AT(ws_pipeline, to), AT(ws_pipeline, nto), NONE, WORDS("thread", "warp", "one"), NULL, NULL,
     "The roles that empty it, with the unit in which they release."},
    {"full", WS_K_WORD, false, AT(ws_pipeline, full), NONE, AT(ws_pipeline, full_pos), WORDS("cta", "leader", "pair", "peer"), NULL, NULL,
     "Scope of the full side in a pair of CTAs; cta if not given."},
    {"empty", WS_K_WORD, false, AT(ws_pipeline, empty), NONE, AT(ws_pipeline, empty_pos), WORDS("cta", "leader", "pair", "peer", "none"), NULL, NULL,
     "Scope of the empty side; none: other synchronisation orders the reuse."},
};
static const struct ws_record pipeline = {"pipeline", KEYS(pipeline_keys), sizeof(struct ws_pipeline), AT(ws_pipeline, name.pos), AT(ws_pipeline, name.count), NONE};

static const struct ws_key barrier_keys[] = {
    {"kind", WS_K_FLAG, false, AT(ws_barrier, named), NONE, NONE, WORDS("mbarrier", "named"), NULL, NULL,
     "An mbarrier in shared memory, or one of the 16 named barriers; mbarrier if not given."},
    {"from", WS_K_ENDS, true, AT(ws_barrier, from), AT(ws_barrier, nfrom), NONE, WORDS("thread", "warp", "one"), NULL, NULL,
     "The roles that arrive, with their unit."},
    {"to", WS_K_ENDS, true, AT(ws_barrier, to), AT(ws_barrier, nto), NONE, WORDS("thread", "warp", "one"), NULL, NULL, "The roles that wait."},
    {"scope", WS_K_WORD, false, AT(ws_barrier, scope), NONE, AT(ws_barrier, scope_pos), WORDS("cta", "leader", "pair", "peer"), NULL, "mbarrier",
     "Scope in a pair of CTAs; cta if not given."},
    {"open", WS_K_EXPR, false, AT(ws_barrier, open), NONE, NONE, WORDS("true", "false"), NULL, "mbarrier", "true: the first wait passes."},
    {"count", WS_K_EXPR, false, AT(ws_barrier, count), NONE, NONE, NULL, NULL, "mbarrier", "Arrivals of a phase, where they are not one from each of `from`."},
    {"stages", WS_K_EXPR, false, AT(ws_barrier, stages), NONE, NONE, NULL, NULL, "mbarrier", "Barriers used in turn; 1 if not given."},
    {"manual", WS_K_EXPR, false, AT(ws_barrier, manual), NONE, NONE, WORDS("true", "false"), NULL, "mbarrier",
     "true: explicit forms (phase, expect, init, inval) may be used with it."},
    {"per", WS_K_WORD, false, AT(ws_barrier, per), NONE, NONE, WORDS("warp"), NULL, "named", "warp: one barrier for each pair of warps."},
};
static const struct ws_record barrier = {"barrier", KEYS(barrier_keys), sizeof(struct ws_barrier), AT(ws_barrier, name.pos), AT(ws_barrier, name.count), NONE};

static const struct ws_key document_keys[] = {
    {"schedule", WS_K_NAME, true, AT(ws_document, schedule), NONE, AT(ws_document, schedule_pos), NULL, NULL, NULL, "The kernel's name."},
    {"target", WS_K_NAMES, true, AT(ws_document, targets), AT(ws_document, ntargets), AT(ws_document, target_pos), NULL, NULL, NULL,
     "The target architecture, or a list of those that the schedule fits."},
    {"problem", WS_K_DOTTED, true, AT(ws_document, problem), NONE, AT(ws_document, problem_pos), NULL, NULL, NULL,
     "What is computed: it brings tensors, scalars, lists, masks and the reference."},
    {"params", WS_K_TABLE, false, AT(ws_document, params), AT(ws_document, nparams), NONE, NULL, &param, NULL, "Values fixed at generation."},
    {"work", WS_K_SECTION, true, AT(ws_document, work), NONE, NONE, NULL, &work, NULL, "How the problem is cut into tiles, and how they are launched."},
    {"reference", WS_K_SECTION, false, AT(ws_document, reference), NONE, NONE, NULL, &rule, NULL,
     "What the kernel computes, where it is not the problem's own mathematics: `run` judges by it."},
    {"tensors", WS_K_TABLE, false, AT(ws_document, tensors), AT(ws_document, ntensors), NONE, NULL, &tensor, NULL, "Workspaces in global memory, and inputs of the schedule's own."},
    {"roles", WS_K_TABLE, true, AT(ws_document, roles), AT(ws_document, nroles), NONE, NULL, &role, NULL, "Groups of warps, in warp order."},
    {"buffers", WS_K_TABLE, false, AT(ws_document, buffers), AT(ws_document, nbuffers), NONE, NULL, &buffer, NULL, "Tiles in shared and tensor memory."},
    {"pipelines", WS_K_TABLE, false, AT(ws_document, pipelines), AT(ws_document, npipelines), NONE, NULL, &pipeline, NULL, "Rings with a full and an empty side."},
    {"barriers", WS_K_TABLE, false, AT(ws_document, barriers), AT(ws_document, nbarriers), NONE, NULL, &barrier, NULL, "Barriers used by hand."},
    {"programs", WS_K_PROGRAMS, true, AT(ws_document, programs), AT(ws_document, nprograms), NONE, NULL, NULL, NULL, "What each role executes."},
};
const struct ws_record ws_document_record = {"document", KEYS(document_keys), sizeof(struct ws_document), AT(ws_document, pos), NONE, NONE};
