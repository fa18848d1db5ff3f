/* A CUDA driver without a GPU, for tests: memory of the device is this process', kernels do nothing. FAKE_CUDA says what it
 * is like: "old" (a driver for CUDA 11.2), "none" (no GPU), "small" (of an architecture before sm_80), "two" (GPUs, of which the first
 * has no memory), "full" (no memory), "faulty" (kernels fault), "early" (kernels end early), "endless" (kernels use up their
 * rounds), else one that works. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int is(const char *what) {
  const char *mode = getenv("FAKE_CUDA");
  return mode && !strcmp(mode, what);
}

static int init(unsigned flags) { return (int)flags; }
static int version(int *v) { return *v = is("old") ? 11020 : 12040, 0; }
static int count(int *n) { return *n = is("none") ? 0 : is("two") ? 2 : 1, 0; }
static int device(int *d, int i) { return *d = i, 0; }
static int named(char *name, int bytes, int d) { return (void)d, strncpy(name, "a fake", (size_t)bytes), 0; }
static int attribute(int *v, int which, int d) { return (void)d, *v = which == 75 ? (is("small") ? 7 : 9) : which == 76 ? 0 : 4, 0; }
/* A context is the number of its GPU, counted from 1. */
static _Thread_local uintptr_t current;
static int retain(void **context, int d) { return *context = (void *)(uintptr_t)(d + 1), 0; }
static int set(void *context) { return current = (uintptr_t)context, 0; }
static int synchronize(void) { return is("faulty") ? 700 : 0; }
static int load(void **module, const void *ptx, unsigned n, int *options, void **values) {
  return (void)n, (void)options, (void)values, *module = (void *)ptx, strstr(ptx, ".entry smalti_kernel") ? 0 : 218;
}
static int unload(void *module) { return (void)module, 0; }
static int function(void **f, void *module, const char *name) { return *f = module, strcmp(name, "smalti_kernel"); }
static int setFunction(void *f, int which, int value) { return (void)f, (void)which, value < 0; }
static int occupancy(int *blocks, void *f, int threads, size_t shared) {
  return (void)f, (void)threads, (void)shared, *blocks = 2, 0;
}
static int allocate(unsigned long long *at, size_t bytes) {
  return is("full") || (is("two") && current != 2) ? 2 : (*at = (uintptr_t)calloc(1, bytes), 0);
}
static int release(unsigned long long at) { return free((void *)(uintptr_t)at), 0; }
static int in(unsigned long long to, const void *from, size_t n) { return memcpy((void *)(uintptr_t)to, from, n), 0; }
static int out(void *to, unsigned long long from, size_t n) { return memcpy(to, (void *)(uintptr_t)from, n), 0; }
static int launch(void *f, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned ty, unsigned tz, unsigned shared,
                  void *stream, void **arguments, void **extra) {
  const unsigned long long status = *(unsigned long long *)arguments[2];
  *(int32_t *)(uintptr_t)status = is("early") ? 1 : is("endless") ? 3 : 0;
  return (void)f, (void)shared, (void)stream, (void)extra,
         !(x > 0 && y == 1 && z == 1 && threads % 32 == 0 && ty == 1 && tz == 1 && arguments);
}
static int text(int error, const char **t) {
  return *t = error == 2 ? "out of memory" : error == 700 ? "an illegal memory access was encountered" : "no", 0;
}

int cuGetProcAddress_v2(const char *name, void **address, int v, uint64_t flags, int *status) {
  static const struct {
    const char *name;
    void *function;
  } all[] = {{"cuInit", init}, {"cuDriverGetVersion", version}, {"cuDeviceGetCount", count}, {"cuDeviceGet", device},
             {"cuDeviceGetName", named}, {"cuDeviceGetAttribute", attribute}, {"cuDevicePrimaryCtxRetain", retain},
             {"cuCtxSetCurrent", set}, {"cuCtxSynchronize", synchronize}, {"cuModuleLoadDataEx", load},
             {"cuModuleUnload", unload}, {"cuModuleGetFunction", function}, {"cuFuncSetAttribute", setFunction},
             {"cuOccupancyMaxActiveBlocksPerMultiprocessor", occupancy}, {"cuMemAlloc", allocate}, {"cuMemFree", release},
             {"cuMemcpyHtoD", in}, {"cuMemcpyDtoH", out}, {"cuLaunchKernel", launch}, {"cuGetErrorString", text}};
  (void)v, (void)flags, (void)status;
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
    if (!strcmp(all[i].name, name)) return *address = all[i].function, 0;
  return 500;
}
