#include "launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "fail.h"
#include "file.h"
#include "generate.h"
#include "types.h"

double secondsForKernels = 20;

/* Code for one architecture alone is for this one, other code for this one or an older one; the newest is the fastest.
 */
static const struct Code* chooseCode(const struct Call* call) {
  const struct Code* best = NULL;
  for (int i = 0; i < call->codes; ++i) {
    const struct Code* c = &call->code[i];
    if (c->isExact ? c->capability != device.capability : c->capability > device.capability) continue;
    if (!best || c->capability > best->capability || (c->capability == best->capability && c->isExact)) best = c;
  }
  if (!best)
    fail("call.txt: no code for compute capability %d.%d; the first is for %s", device.capability / 10,
         device.capability % 10, call->code[0].architecture);
  return best;
}

/* A cubin also runs on GPUs of the same major version. A driver that is older than the assembler may refuse it; it then
 * assembles the PTX. */
static int loadCode(const char* folder, struct Launch* l) {
  const struct Code* code = l->code;
  char file[64], why[64] = "";
  long long bytes = 0;
  if (code->hasCubin && code->capability / 10 == device.capability / 10) {
    snprintf(file, sizeof file, "kernel.%s.cubin", code->architecture);
    char* cubin = readFile(folder, file, &bytes);
    if (!cubin) return 0;
    const int result = bytes ? cu.moduleLoad(&l->module, cubin, 0, NULL, NULL) : 0;
    free(cubin);
    if (!bytes) return fail("%s: empty", file);
    snprintf(l->codeName, sizeof l->codeName, "cubin %s", code->architecture);
    if (result == 0) return 1;
    if (!code->hasPtx) return check(result, "load the cubin");
    snprintf(why, sizeof why, " (cubin refused: error %d)", result);
  }
  if (!code->hasPtx) return fail("call.txt: only a cubin for %s", code->architecture);
  snprintf(file, sizeof file, "kernel.%s.ptx", code->architecture);
  char *ptx = readFile(folder, file, &bytes), log[1024] = "";
  if (!ptx) return 0;
  int options[] = {5, 6}; /* CU_JIT_ERROR_LOG_BUFFER and its size */
  void* values[] = {log, (void*)(uintptr_t)sizeof log};
  const int result = cu.moduleLoad(&l->module, ptx, 2, options, values);
  free(ptx);
  log[strcspn(log, "\n")] = 0;
  snprintf(l->codeName, sizeof l->codeName, "PTX %s%s", code->architecture, why);
  if (result == 0) return 1;
  check(result, "assemble the kernel");
  char said[600];
  snprintf(said, sizeof said, "%s", reason());
  forget();
  return fail("%s: %s%s%s", file, said, *log ? ": " : "", log);
}

/* As CUtensorMap. Rows are swizzled by 128 bytes, fetched by 256; what is outside is 0. */
static int encode(const struct Map* map, Address at, void* to) {
  uint64_t extents[kDimensions], strides[kDimensions], stride = (uint64_t)map->bytes;
  uint32_t box[kDimensions], steps[kDimensions];
  for (int d = 0; d < map->rank; ++d) {
    extents[d] = (uint64_t)map->extents[d], box[d] = (uint32_t)map->box[d], steps[d] = 1;
    strides[d] = stride *= extents[d];
  }
  if (!cu.encodeMap) return fail("the driver has no cuTensorMapEncodeTiled: it is older than CUDA 12");
  return check(cu.encodeMap(to,
                            map->bytes == 1   ? 0
                            : map->bytes == 2 ? 1
                                              : 2,
                            (uint32_t)map->rank, (void*)(uintptr_t)at, extents, strides, box, steps, 0, 3, 3, 0),
               "describe an array");
}

static int arrayFromFile(const char* folder, const char* file, Address* at, long long bytes) {
  char* data = readExactly(folder, file, bytes);
  const int ok = data && check(cu.allocate(at, (size_t)bytes + 1), "allot memory") &&
                 (bytes == 0 || check(cu.copyIn(*at, data, (size_t)bytes), "copy an array to the GPU"));
  free(data);
  return ok;
}

/* One period from here, which the GPU repeats: each copy is a whole number of periods, or the last one. */
static int fillRandom(const struct Array* a, int index, Address at) {
  struct Generator g = {.array = index, .centre = a->centre, .radius = a->radius};
  memcpy(g.type, a->type, sizeof g.type);
  long long have = (long long)kPeriod * bytesOf(a->type);
  if (have > a->bytes) have = a->bytes;
  char* period = onePeriod(&g);
  int ok = period && check(cu.copyIn(at, period, (size_t)have), "copy an array to the GPU");
  for (long long more; ok && have < a->bytes; have += more) {
    more = have < a->bytes - have ? have : a->bytes - have;
    ok = check(cu.copy(at + (Address)have, at, (size_t)more, NULL), "fill an array");
  }
  free(period);
  return ok;
}

static int makeArray(const char* folder, struct Launch* l, int i) {
  const struct Call* call = l->call;
  const struct Array* a = &call->array[i];
  const int result = i - call->operands;
  char file[64];
  if (a->content == kAlias) return l->at[i] = l->at[call->operands + a->other], 1;
  if (a->content == kSame) return l->at[i] = l->at[a->other], 1;
  if (a->content == kFile) {
    snprintf(file, sizeof file, result < 0 ? "operand%d.bin" : "result%d.before.bin", result < 0 ? i : result);
    return arrayFromFile(folder, file, &l->at[i], a->bytes);
  }
  if (!check(cu.allocate(&l->at[i], (size_t)a->bytes + 1), "allot memory")) return 0;
  if (a->content == kRandom) return fillRandom(a, i, l->at[i]);
  /* Not a number, as long as the kernel does not write it. */
  return a->bytes == 0 || check(cu.fill(l->at[i], 0xff, (size_t)a->bytes, NULL), "fill an array");
}

int makeLaunch(const char* folder, const struct Call* call, struct Launch* l) {
  memset(l, 0, sizeof *l);
  l->call = call;
  const struct Code* code = l->code = chooseCode(call);
  if (!code || !loadCode(folder, l) ||
      !check(cu.getFunction(&l->function, l->module, "smalti_kernel"), "find the kernel") ||
      !check(cu.setFunction(l->function, 8, (int)code->shared), "give the kernel its shared memory"))
    return 0;
  const int arrays = call->operands + call->results;
  for (int i = call->operands; i < arrays; ++i)
    if (!makeArray(folder, l, i)) return 0;
  for (int i = 0; i < call->operands; ++i)
    if (!makeArray(folder, l, i)) return 0;
  for (int i = 0; i < code->maps; ++i)
    if (!encode(&code->map[i], l->at[code->map[i].array], l->maps[i])) return 0;
  /* The buffer for debug prints follows the results: its capacity, the bytes used, the records. */
  const int64_t room[] = {call->printBytes, 0};
  if (call->printBytes > 0 &&
      (!check(cu.allocate(&l->at[arrays], sizeof room + (size_t)call->printBytes), "allot memory") ||
       !check(cu.copyIn(l->at[arrays], room, sizeof room), "copy to the GPU")))
    return 0;
  int perProcessor = 0;
  const int32_t status = 0;
  if (!check(cu.occupancy(&perProcessor, l->function, (int)code->threads, (size_t)code->shared),
             "tell how many blocks fit"))
    return 0;
  l->blocks = (long long)perProcessor * device.processors;
  if (l->blocks > code->points) l->blocks = code->points;
  if (l->blocks < 1) l->blocks = 1;
  l->points = code->points;
  l->iterations = 1LL << 40;
  void* arguments[] = {&l->pointers, &l->workspace, &l->ended, &l->points, &l->iterations, l->maps};
  memcpy(l->arguments, arguments, sizeof arguments);
  return check(cu.allocate(&l->pointers, sizeof l->at), "allot memory") &&
         check(cu.copyIn(l->pointers, l->at, sizeof l->at), "copy addresses to the GPU") &&
         check(cu.allocate(&l->workspace, (size_t)(l->blocks * code->workspace) + 1), "allot memory") &&
         check(cu.allocate(&l->ended, sizeof status), "allot memory") &&
         check(cu.copyIn(l->ended, &status, sizeof status), "copy to the GPU");
}

void freeLaunch(struct Launch* l) {
  if (device.lost) return; /* releasing memory would wait for the kernel */
  for (int i = 0; i < l->call->operands + l->call->results; ++i) {
    const enum Content content = l->call->array[i].content;
    if (l->at[i] && content != kAlias && content != kSame) cu.release(l->at[i]);
  }
  const Address others[] = {l->at[l->call->operands + l->call->results], l->pointers, l->workspace, l->ended};
  for (int i = 0; i < 4; ++i)
    if (others[i]) cu.release(others[i]);
  if (l->module) cu.moduleUnload(l->module);
}

int start(struct Launch* l) {
  return check(cu.launch(l->function, (unsigned)l->blocks, 1, 1, (unsigned)l->code->threads, 1, 1,
                         (unsigned)l->code->shared, NULL, l->arguments, NULL),
               "launch the kernel");
}

/* Asks again and again: waiting would never end with a kernel that hangs. */
int awaitGpu(void) {
  enum { kNotReady = 600 }; /* CUDA_ERROR_NOT_READY */
  static void* event;
  int result = 0;
  if ((!event && !check(cu.newEvent(&event, 0), "make an event")) || !check(cu.record(event, NULL), "record an event"))
    return 0;
  const double begin = secondsNow();
  while ((result = cu.query(event)) == kNotReady)
    if (secondsNow() - begin > secondsForKernels) {
      device.lost = 1;
      return fail("the kernel has not ended after %g s", secondsForKernels);
    }
  return check(result, "run the kernel to its end");
}

int finish(struct Launch* l) {
  int32_t status = 0;
  if (!awaitGpu() || !check(cu.copyOut(&status, l->ended, sizeof status), "read how the kernel ended")) return 0;
  /* Below 0: scalars, or blocks of inputs, from outside their array, which are undefined. */
  return status <= 0 || fail("the kernel ended early: %d", status);
}
