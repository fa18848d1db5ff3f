/* A CUDA driver without a GPU, for tests: memory of the device is this process', kernels do nothing, or what FAKE_CUDA_ARRAYS
 * says: array N becomes what FAKE_CUDA_ARRAYS/N.bin has, if there is such a file. FAKE_CUDA says what the driver is like: "partial"
 * (without streams), "old" (for CUDA 11.2), "12.0" (for that version), "ptx" (it refuses cubins), "none" (no GPU), "uncounted" (it does
 * not count its GPUs), "silent" (it tells no properties of them), "small" (of an architecture before sm_80), "a100" (of sm_80), "narrow"
 * (with little shared memory), "two" (GPUs, of which the first has no memory), "full" (no memory), "tight" (1 MiB at once), "faulty"
 * (kernels fault), "later" (kernels fault, except the first), "hanging" (kernels never end), "ending" (kernels end the process), "crowded"
 * (kernels do not fit), "early" (kernels end early), "endless" (kernels use up their rounds), "printing" (kernels want to print more), else
 * one that works. With FAKE_CUDA_LOADS, the kind of code that it loads is printed to the error stream. Compiled with OLD, it is of
 * before CUDA 11.3. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int is(const char *what) {
  const char *mode = getenv("FAKE_CUDA");
  return mode && !strcmp(mode, what);
}

/* As a driver does, it reserves more address space than the machine has memory, and serves only the process that started it. */
static pid_t starter;
static int init(unsigned flags) {
  void *reserved = mmap(NULL, (size_t)1 << 38, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) return 2;
  return starter = getpid(), (int)flags;
}
static int version(int *v) { return *v = is("old") ? 11020 : is("12.0") ? 12000 : 12040, 0; }
static int count(int *n) { return *n = is("none") ? 0 : is("two") ? 2 : 1, is("uncounted") ? 802 : 0; }
static int device(int *d, int i) { return *d = i, 0; }
static int named(char *name, int bytes, int d) { return (void)d, strncpy(name, "a fake", (size_t)bytes), 0; }
static int attribute(int *v, int which, int d) {
  *v = which == 75   ? (is("small") ? 7 : is("a100") ? 8 : 9)
       : which == 76 ? 0
       : which == 97 ? (is("narrow") ? 1024 : 232448)
       : which == 13 ? 1980000
       : which == 36 ? 2619000
       : which == 38 ? 50 << 20
                     : 4;
  return (void)d, is("silent") ? 1 : 0;
}
/* A context is the number of its GPU, counted from 1. */
static _Thread_local uintptr_t current;
static int retain(void **context, int d) { return *context = (void *)(uintptr_t)(d + 1), getpid() == starter ? 0 : 3; }
static int set(void *context) { return current = (uintptr_t)context, 0; }
static int get(void **context) { return *context = (void *)current, 0; }
/* For tests, in the same process: which GPU is current, counted from 1 (0: none), and to have work on the GPUs. */
int fake_current(void) { return (int)current; }
void fake_use(int gpu) { current = (uintptr_t)gpu; }
static volatile int busy;
void fake_begin_work(void) { busy = 1; }
void fake_end_work(void) { busy = 0; }
/* Returns when the GPUs have no work, or says that it has none for ten seconds. */
static int settle(void) {
  for (int i = 0; busy && i < 1000; ++i) usleep(10000);
  if (busy) fprintf(stderr, "the work on the GPU never ends\n"), busy = 0;
  return 0;
}
static int synchronize(void) {
  static int calls;
  return settle(), is("faulty") || (is("later") && calls++ > 0) ? 700 : 0;
}
static int load(void **module, const void *code, unsigned n, int *options, void **values) {
  const int isCubin = !memcmp(code, "\x7f" "ELF", 4);
  if (getenv("FAKE_CUDA_LOADS")) fprintf(stderr, "load %s\n", isCubin ? "a cubin" : "PTX");
  (void)n, (void)options, (void)values, *module = (void *)code;
  return isCubin ? (is("12.0") ? 200 : is("ptx") ? 209 : 0) : strstr(code, ".entry smalti_kernel") ? 0 : 218;
}
static int unload(void *module) { return (void)module, settle(); }
static int function(void **f, void *module, const char *name) { return *f = module, strcmp(name, "smalti_kernel"); }
static int setFunction(void *f, int which, int value) { return (void)f, (void)which, value < 0; }
static int occupancy(int *blocks, void *f, int threads, size_t shared) {
  return (void)f, (void)threads, (void)shared, *blocks = 2, 0;
}
static int allocate(unsigned long long *at, size_t bytes) {
  bytes = (bytes + 255) / 256 * 256; /* as the driver aligns memory */
  return is("full") || (is("two") && current != 2) || (is("tight") && bytes > 1 << 20) ? 2 : (*at = (uintptr_t)memset(aligned_alloc(256, bytes), 0, bytes), 0);
}
static int release(unsigned long long at) { return settle(), free((void *)(uintptr_t)at), 0; }
static int in(unsigned long long to, const void *from, size_t n) { return memcpy((void *)(uintptr_t)to, from, n), 0; }
static int out(void *to, unsigned long long from, size_t n) { return memcpy(to, (void *)(uintptr_t)from, n), 0; }
/* What streams execute at once, a stream that captures keeps for its graph. */
struct Work {
  unsigned long long to, from;
  size_t bytes;
  int32_t *ended;
};
struct Graph {
  struct Work work[64];
  int n;
};
static struct Graph *captured;
static void *capturing;
static int execute(struct Work w) {
  if (w.bytes) memcpy((void *)(uintptr_t)w.to, (void *)(uintptr_t)w.from, w.bytes);
  if (w.ended) *w.ended = is("early") ? 1 : is("endless") ? 3 : is("printing") ? 5 : 0;
  return 0;
}
static int add(void *stream, struct Work w) {
  if (!stream || stream != capturing) return execute(w);
  return captured->n == 64 ? 1 : (captured->work[captured->n++] = w, 0);
}
static int onDevice(unsigned long long to, unsigned long long from, size_t n, void *stream) {
  return add(stream, (struct Work){.to = to, .from = from, .bytes = n});
}
static int fill8(unsigned long long at, unsigned char bits, size_t n, void *stream) {
  return (void)stream, memset((void *)(uintptr_t)at, bits, n), 0;
}
static int fill16(unsigned long long at, unsigned short bits, size_t n, void *stream) {
  for (size_t i = 0; i < n; ++i) ((unsigned short *)(uintptr_t)at)[i] = bits;
  return (void)stream, 0;
}
static int fill32(unsigned long long at, unsigned bits, size_t n, void *stream) {
  for (size_t i = 0; i < n; ++i) ((unsigned *)(uintptr_t)at)[i] = bits;
  return (void)stream, 0;
}
static int newStream(void **stream, unsigned flags) { return (void)flags, *stream = malloc(1), 0; }
static int freeHandle(void *handle) { return free(handle), 0; }
/* With FAKE_CUDA_TRACE, the order of streams is printed to the error stream: "order EARLIER LATER"; and so are tensor maps. */
static int newEvent(void **event, unsigned flags) { return (void)flags, *event = calloc(1, sizeof(void *)), 0; }
static int record(void *event, void *stream) { return *(void **)event = stream, 0; }
static int query(void *event) { return (void)event, is("hanging") ? 600 : synchronize(); }
static int elapsed(float *ms, void *from, void *to) { return (void)from, (void)to, *ms = 1, 0; }
static int waitEvent(void *stream, void *event, unsigned flags) {
  if (getenv("FAKE_CUDA_TRACE")) fprintf(stderr, "order %zu %zu\n", (size_t)*(void **)event, (size_t)stream);
  return (void)flags, 0;
}
/* The stream records a graph, as far as the driver tells. */
void fake_capture(void *stream) { capturing = stream; }
static int isCapturing(void *stream, int *yes) { return *yes = stream && stream == capturing, 0; }
static int beginCapture(void *stream, int mode) {
  return (void)mode, capturing = stream, captured = calloc(1, sizeof *captured), 0;
}
static int endCapture(void *stream, void **graph) { return *graph = captured, capturing = NULL, stream == NULL; }
static int instantiate(void **made, void *graph, unsigned long long flags) {
  struct Graph *copy = malloc(sizeof *copy);
  return (void)flags, *copy = *(struct Graph *)graph, *made = copy, 0;
}
static int launchGraph(void *made, void *stream) {
  const struct Graph *graph = made;
  for (int i = 0; i < graph->n; ++i) execute(graph->work[i]);
  return (void)stream, 0;
}

/* What the kernel is to have computed. */
static void giveArrays(const unsigned long long *at) {
  const char *folder = getenv("FAKE_CUDA_ARRAYS");
  char path[4096];
  for (int i = 0; folder && i < 16; ++i) {
    snprintf(path, sizeof path, "%s/%d.bin", folder, i);
    FILE *file = fopen(path, "rb");
    if (!file) continue;
    fseek(file, 0, SEEK_END);
    const size_t bytes = (size_t)ftell(file);
    rewind(file);
    if (fread((void *)(uintptr_t)at[i], 1, bytes, file) != bytes) abort();
    fclose(file);
  }
}

static int launch(void *f, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned ty, unsigned tz, unsigned shared,
                  void *stream, void **arguments, void **extra) {
  const unsigned long long status = *(unsigned long long *)arguments[2];
  if (is("crowded")) return 701;
  if (is("ending")) abort();
  giveArrays((const unsigned long long *)(uintptr_t) * (unsigned long long *)arguments[0]);
  return (void)f, (void)shared, (void)extra, add(stream, (struct Work){.ended = (int32_t *)(uintptr_t)status}) ||
         !(x > 0 && y == 1 && z == 1 && threads % 32 == 0 && ty == 1 && tz == 1 && arguments);
}
/* A map holds its arguments; the driver's own conditions (CUDA Driver API, cuTensorMapEncodeTiled) are checked. */
static int encode(void *map, int type, uint32_t rank, void *address, const uint64_t *extents, const uint64_t *strides,
                  const uint32_t *box, const uint32_t *steps, int interleave, int swizzle, int promotion, int fill) {
  static const int bytes[] = {1, 2, 4};
  if ((uintptr_t)map % 64 || (uintptr_t)address % 16 || rank < 1 || rank > 5 || type < 0 || type > 2) return 1;
  for (uint32_t d = 0; d < rank; ++d) {
    if (extents[d] < 1 || extents[d] > (1ull << 32) || box[d] < 1 || box[d] > 256 || steps[d] != 1) return 1;
    if (d + 1 < rank && strides[d] % 16) return 1;
  }
  if (swizzle == 3 && box[0] * (uint32_t)bytes[type] > 128) return 1;
  if (getenv("FAKE_CUDA_TRACE")) {
    fprintf(stderr, "map %d %u %d %d %d %d", type, rank, interleave, swizzle, promotion, fill);
    for (uint32_t d = 0; d < rank; ++d)
      fprintf(stderr, " %llu:%llu:%u", (unsigned long long)extents[d], (unsigned long long)(d + 1 < rank ? strides[d] : 0), box[d]);
    fprintf(stderr, "\n");
  }
  return memcpy(map, &address, sizeof address), 0;
}
static int text(int error, const char **t) {
  return *t = error == 3 ? "initialization error" : error == 2 ? "out of memory" : error == 700 ? "an illegal memory access was encountered" :
              error == 701 ? "too many resources requested for launch" : error == 802 ? "system not yet initialized" : "no", 0;
}

int cuDriverGetVersion(int *v) { return version(v); }
#ifndef OLD
int cuGetProcAddress_v2(const char *name, void **address, int v, uint64_t flags, int *status) {
  static const struct {
    const char *name;
    void *function;
  } all[] = {{"cuInit", init}, {"cuDriverGetVersion", version}, {"cuDeviceGetCount", count}, {"cuDeviceGet", device},
             {"cuDeviceGetName", named}, {"cuDeviceGetAttribute", attribute}, {"cuDevicePrimaryCtxRetain", retain},
             {"cuCtxSetCurrent", set}, {"cuCtxGetCurrent", get}, {"cuCtxSynchronize", synchronize}, {"cuModuleLoadDataEx", load},
             {"cuModuleUnload", unload}, {"cuModuleGetFunction", function}, {"cuFuncSetAttribute", setFunction},
             {"cuOccupancyMaxActiveBlocksPerMultiprocessor", occupancy}, {"cuMemAlloc", allocate}, {"cuMemFree", release},
             {"cuMemcpyHtoD", in}, {"cuMemcpyDtoH", out}, {"cuLaunchKernel", launch}, {"cuGetErrorString", text},
             {"cuMemcpyDtoDAsync", onDevice}, {"cuMemsetD8Async", fill8}, {"cuMemsetD16Async", fill16},
             {"cuMemsetD32Async", fill32}, {"cuStreamCreate", newStream}, {"cuStreamDestroy", freeHandle},
             {"cuStreamWaitEvent", waitEvent}, {"cuEventCreate", newEvent}, {"cuEventRecord", record},
             {"cuEventDestroy", freeHandle}, {"cuStreamBeginCapture", beginCapture}, {"cuStreamEndCapture", endCapture},
             {"cuGraphInstantiateWithFlags", instantiate}, {"cuGraphLaunch", launchGraph}, {"cuGraphDestroy", freeHandle},
             {"cuGraphExecDestroy", freeHandle}, {"cuStreamIsCapturing", isCapturing}, {"cuTensorMapEncodeTiled", encode}};
  (void)v, (void)flags, (void)status;
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
    if (!strcmp(all[i].name, name) && !(is("partial") && !strcmp(name, "cuStreamCreate"))) return *address = all[i].function, 0;
  return 500;
}
#endif

/* The same under the names that a linker sees. */
#define EXPORT(name, function) extern __typeof__(function) name __attribute__((alias(#function)))
EXPORT(cuInit, init);
EXPORT(cuDeviceGet, device);
EXPORT(cuDeviceGetName, named);
EXPORT(cuDeviceGetAttribute, attribute);
EXPORT(cuDevicePrimaryCtxRetain, retain);
EXPORT(cuCtxSetCurrent, set);
EXPORT(cuModuleLoadDataEx, load);
EXPORT(cuModuleUnload, unload);
EXPORT(cuModuleGetFunction, function);
EXPORT(cuFuncSetAttribute, setFunction);
EXPORT(cuOccupancyMaxActiveBlocksPerMultiprocessor, occupancy);
EXPORT(cuMemAlloc_v2, allocate);
EXPORT(cuMemFree_v2, release);
EXPORT(cuMemcpyHtoD_v2, in);
EXPORT(cuMemcpyDtoH_v2, out);
EXPORT(cuMemcpyDtoDAsync_v2, onDevice);
EXPORT(cuMemsetD8Async, fill8);
EXPORT(cuLaunchKernel, launch);
EXPORT(cuEventCreate, newEvent);
EXPORT(cuEventDestroy_v2, freeHandle);
EXPORT(cuEventRecord, record);
EXPORT(cuEventQuery, query);
EXPORT(cuEventElapsedTime, elapsed);
EXPORT(cuGetErrorString, text);
EXPORT(cuTensorMapEncodeTiled, encode);
