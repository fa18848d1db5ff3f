/* Runs kernels that were recorded with smalti --target cuda-host:FOLDER on the first NVIDIA GPU, and compares what they
 * compute with what this code computed without one. Needs the driver and nothing else:
 *
 *   ./run_calls FOLDER…            every call below the folders (folders with a call.txt), 0: all as they should be
 *
 * Floats may differ by 1e-5 of their size, everything else not at all. The time of a launch is printed beside. */
#include <dirent.h>
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

typedef unsigned long long Address;
static int (*init)(unsigned), (*driverVersion)(int *), (*deviceGet)(int *, int), (*deviceName)(char *, int, int),
    (*attribute)(int *, int, int), (*retain)(void **, int), (*setCurrent)(void *), (*synchronize)(void),
    (*moduleLoad)(void **, const void *, unsigned, int *, void **), (*moduleUnload)(void *),
    (*getFunction)(void **, void *, const char *), (*setFunction)(void *, int, int),
    (*occupancy)(int *, void *, int, size_t), (*allocate)(Address *, size_t), (*release)(Address),
    (*copyIn)(Address, const void *, size_t), (*copyOut)(void *, Address, size_t),
    (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **),
    (*errorText)(int, const char **),
    (*encodeMap)(void *, int, uint32_t, void *, const uint64_t *, const uint64_t *, const uint32_t *, const uint32_t *,
                 int, int, int, int);

static int check(int result, const char *what) {
  if (result == 0) return 1;
  const char *text = "unknown";
  if (errorText) errorText(result, &text);
  printf("  the driver cannot %s: error %d, %s\n", what, result, text);
  return 0;
}

static int loadDriver(void) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library) return printf("there is no NVIDIA driver here: libcuda.so.1 cannot be loaded\n"), 0;
  struct {
    const char *name;
    void **to;
  } wanted[] = {{"cuInit", (void **)&init},
                {"cuDriverGetVersion", (void **)&driverVersion},
                {"cuDeviceGet", (void **)&deviceGet},
                {"cuDeviceGetName", (void **)&deviceName},
                {"cuDeviceGetAttribute", (void **)&attribute},
                {"cuDevicePrimaryCtxRetain", (void **)&retain},
                {"cuCtxSetCurrent", (void **)&setCurrent},
                {"cuCtxSynchronize", (void **)&synchronize},
                {"cuModuleLoadDataEx", (void **)&moduleLoad},
                {"cuModuleUnload", (void **)&moduleUnload},
                {"cuModuleGetFunction", (void **)&getFunction},
                {"cuFuncSetAttribute", (void **)&setFunction},
                {"cuOccupancyMaxActiveBlocksPerMultiprocessor", (void **)&occupancy},
                {"cuMemAlloc_v2", (void **)&allocate},
                {"cuMemFree_v2", (void **)&release},
                {"cuMemcpyHtoD_v2", (void **)&copyIn},
                {"cuMemcpyDtoH_v2", (void **)&copyOut},
                {"cuLaunchKernel", (void **)&launch},
                {"cuGetErrorString", (void **)&errorText}};
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; ++i)
    if (!(*wanted[i].to = dlsym(library, wanted[i].name)))
      return printf("the NVIDIA driver has no %s\n", wanted[i].name), 0;
  *(void **)&encodeMap = dlsym(library, "cuTensorMapEncodeTiled"); /* since CUDA 12 */
  return 1;
}

/* The GPU: its number of processors, its compute capability × 10. */
static int processors, capability;

static int startDevice(void) {
  int device = 0, version = 0, major = 0, minor = 0;
  char name[256] = "";
  void *context = NULL;
  if (!check(init(0), "start") || !check(deviceGet(&device, 0), "find a GPU") ||
      !check(retain(&context, device), "start the GPU") || !check(setCurrent(context), "use the GPU"))
    return 0;
  driverVersion(&version);
  deviceName(name, sizeof name, device);
  attribute(&processors, 16, device);
  attribute(&major, 75, device);
  attribute(&minor, 76, device);
  capability = major * 10 + minor;
  printf("%s, compute capability %d.%d, %d processors, driver for CUDA %d.%d\n", name, major, minor, processors,
         version / 1000, version % 1000 / 10);
  return 1;
}

static char *readAll(const char *folder, const char *file, long *bytes) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, file);
  FILE *f = fopen(path, "rb");
  if (!f) return NULL;
  fseek(f, 0, SEEK_END);
  *bytes = ftell(f);
  rewind(f);
  char *all = malloc((size_t)*bytes + 1);
  if (all && fread(all, 1, (size_t)*bytes, f) != (size_t)*bytes) *bytes = 0;
  if (all) all[*bytes] = 0;
  fclose(f);
  return all;
}

static double asDouble(const char *dtype, const char *at) {
  if (!strcmp(dtype, "f32")) {
    float v;
    memcpy(&v, at, 4);
    return v;
  }
  uint16_t bits;
  memcpy(&bits, at, 2);
  if (!strcmp(dtype, "bf16")) {
    uint32_t wide = (uint32_t)bits << 16;
    float v;
    memcpy(&v, &wide, 4);
    return v;
  }
  const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  double v = exponent == 31 ? (mantissa ? NAN : INFINITY)
             : exponent     ? ldexp(1024 + mantissa, exponent - 25)
                            : ldexp(mantissa, -24);
  return bits >> 15 ? -v : v;
}

/* Elements that are not as they should be. */
static long differing(const char *dtype, const char *got, const char *want, long bytes) {
  const int isFloat = !strcmp(dtype, "f32") || !strcmp(dtype, "bf16") || !strcmp(dtype, "f16");
  const int size = !isFloat ? 1 : !strcmp(dtype, "f32") ? 4 : 2;
  const double tolerance = size == 4 ? 1e-5 : 1e-2;
  long count = 0;
  for (long i = 0; i + size <= bytes; i += size) {
    if (!memcmp(got + i, want + i, (size_t)size)) continue;
    if (isFloat) {
      const double x = asDouble(dtype, got + i), y = asDouble(dtype, want + i);
      if ((isnan(x) && isnan(y)) || fabs(x - y) <= tolerance * fmax(1, fabs(y))) continue;
    }
    ++count;
  }
  return count;
}

enum { kMost = 256, kLaunches = 20, kMostMaps = 32, kDimensions = 5 };

/* An array of which boxes are copied: dimensions of both, the fastest first. */
struct Map {
  long array, bytes, extents[kDimensions], box[kDimensions];
  int rank;
};

static int numbers(const char *text, long *to) {
  int n = 0;
  for (char *end; n < kDimensions; text = end + 1) {
    to[n++] = strtol(text, &end, 10);
    if (*end != ',') break;
  }
  return n;
}

/* "map ARCHITECTURE array N bytes N extents N,N box N,N" */
static int readMap(const char *line, const char *architecture, struct Map *map) {
  char name[32], extents[128], box[128];
  if (sscanf(line, "map %31s array %ld bytes %ld extents %127s box %127s", name, &map->array, &map->bytes, extents, box) != 5 ||
      strcmp(name, architecture))
    return 0;
  map->rank = numbers(extents, map->extents);
  return numbers(box, map->box) == map->rank;
}

/* As CUtensorMap, at `to`: 128 bytes. Rows are swizzled by 128 bytes, fetched by 256; what is outside is 0. */
static int encode(const struct Map *map, Address at, void *to) {
  uint64_t extents[kDimensions], strides[kDimensions], stride = (uint64_t)map->bytes;
  uint32_t box[kDimensions], steps[kDimensions];
  for (int d = 0; d < map->rank; ++d) {
    extents[d] = (uint64_t)map->extents[d], box[d] = (uint32_t)map->box[d], steps[d] = 1;
    strides[d] = stride *= extents[d];
  }
  if (!encodeMap) return printf("  the driver has no cuTensorMapEncodeTiled: it is older than CUDA 12\n"), 0;
  return check(encodeMap(to, map->bytes == 1 ? 0 : map->bytes == 2 ? 1 : 2, (uint32_t)map->rank, (void *)(uintptr_t)at,
                         extents, strides, box, steps, 0, 3, 3, 0),
               "describe an array");
}

static double secondsNow(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* 1: as it should be. */
static int runCall(const char *folder) {
  long bytes = 0, sizes[kMost], points = 1, threads = 0, shared = 0, workspace = 0, printBytes = 0;
  char *plan = readAll(folder, "call.txt", &bytes), types[kMost][32], code[64];
  Address at[kMost + 1] = {0}, pointers = 0, memory = 0, ended = 0;
  /* Code for one architecture with its own instructions runs there alone, the oldest everywhere. */
  const char *architecture = capability == 90 ? "sm_90a" : "sm_80";
  struct Map maps[kMostMaps];
  _Alignas(64) char encoded[kMostMaps][128];
  int aliases[kMost], operands = 0, results = 0, mapCount = 0, ok = plan != NULL;
  for (char *line = ok ? strtok(plan, "\n") : NULL; line; line = strtok(NULL, "\n")) {
    const int n = operands + results;
    if (n >= kMost) return printf("  too many arrays\n"), 0;
    char name[32];
    long plan[3];
    if (sscanf(line, "code %31s threads %ld shared %ld workspace %ld", name, &plan[0], &plan[1], &plan[2]) == 4 &&
        !strcmp(name, architecture))
      threads = plan[0], shared = plan[1], workspace = plan[2];
    sscanf(line, "points %ld", &points);
    if (mapCount < kMostMaps && readMap(line, architecture, &maps[mapCount])) ++mapCount;
    sscanf(line, "prints %ld", &printBytes);
    if (sscanf(line, "alias %d", &aliases[n]) == 1) ++operands;
    else if (sscanf(line, "operand %ld", &sizes[n]) == 1) aliases[n] = -1, ++operands;
    else if (sscanf(line, "result %ld %31s", &sizes[n], types[n]) == 2) ++results;
  }
  free(plan);
  long ptxBytes = 0;
  snprintf(code, sizeof code, "kernel.%s.ptx", architecture);
  char *ptx = readAll(folder, code, &ptxBytes);
  void *module = NULL, *function = NULL;
  char log[4096] = "";
  int options[] = {5, 6};
  void *values[] = {log, (void *)(uintptr_t)sizeof log};
  ok = ok && ptx && check(moduleLoad(&module, ptx, 2, options, values), "assemble the kernel") &&
       check(getFunction(&function, module, "smalti_kernel"), "find the kernel") &&
       check(setFunction(function, 8, (int)shared), "give it its shared memory");
  if (*log) printf("  %s\n", log);
  free(ptx);
  for (int i = operands + results; ok && i-- > 0;) {
    if (i < operands && aliases[i] >= 0) {
      at[i] = at[operands + aliases[i]];
      continue;
    }
    char file[64];
    snprintf(file, sizeof file, i < operands ? "operand%d.bin" : "result%d.before.bin", i < operands ? i : i - operands);
    char *data = readAll(folder, file, &bytes);
    ok = data && bytes == sizes[i] && check(allocate(&at[i], (size_t)bytes + 1), "allot memory") &&
         (bytes == 0 || check(copyIn(at[i], data, (size_t)bytes), "copy an array to the GPU"));
    free(data);
  }
  for (int i = 0; ok && i < mapCount; ++i) ok = encode(&maps[i], at[maps[i].array], encoded[i]);
  /* The buffer for debug prints follows the results: its capacity, the bytes used, the records. */
  const int64_t room[] = {printBytes, 0};
  if (ok && printBytes > 0)
    ok = check(allocate(&at[operands + results], sizeof room + (size_t)printBytes), "allot memory") &&
         check(copyIn(at[operands + results], room, sizeof room), "copy to the GPU");
  int perProcessor = 1, status = 0;
  if (ok) occupancy(&perProcessor, function, (int)threads, (size_t)shared);
  long blocks = (long)perProcessor * processors;
  if (blocks > points) blocks = points;
  if (blocks < 1) blocks = 1;
  long rounds = 1L << 40;
  void *arguments[] = {&pointers, &memory, &ended, &points, &rounds, encoded};
  ok = ok && check(allocate(&pointers, sizeof at), "allot memory") &&
       check(copyIn(pointers, at, sizeof at), "copy addresses to the GPU") &&
       check(allocate(&memory, (size_t)(blocks * workspace) + 1), "allot memory") &&
       check(allocate(&ended, 4), "allot memory") && check(copyIn(ended, &status, 4), "copy to the GPU") &&
       check(launch(function, (unsigned)blocks, 1, 1, (unsigned)threads, 1, 1, (unsigned)shared, NULL, arguments, NULL),
             "launch the kernel") &&
       check(synchronize(), "run the kernel to its end") && check(copyOut(&status, ended, 4), "read how it ended");
  if (ok && status > 0) ok = 0, printf("  the kernel ended early: %d\n", status);
  for (int r = 0; ok && r < results; ++r) {
    char file[64];
    snprintf(file, sizeof file, "result%d.bin", r);
    char *want = readAll(folder, file, &bytes), *got = malloc((size_t)sizes[operands + r] + 1);
    ok = want && got && bytes == sizes[operands + r] &&
         (bytes == 0 || check(copyOut(got, at[operands + r], (size_t)bytes), "copy a result from the GPU"));
    const long wrong = ok ? differing(types[operands + r], got, want, bytes) : 0;
    if (wrong) ok = 0, printf("  result %d: %ld elements differ\n", r, wrong);
    free(want);
    free(got);
  }
  double best = 1e9;
  for (int i = 0; ok && i < kLaunches; ++i) {
    const double begin = secondsNow();
    launch(function, (unsigned)blocks, 1, 1, (unsigned)threads, 1, 1, (unsigned)shared, NULL, arguments, NULL);
    synchronize();
    const double seconds = secondsNow() - begin;
    if (seconds < best) best = seconds;
  }
  printf("%-6s %s", ok ? "ok" : "FAILED", folder);
  if (ok) printf("   %ld blocks of %ld threads, %.1f us", blocks, threads, 1e6 * best);
  printf("\n");
  for (int i = 0; i < operands + results; ++i)
    if (at[i] && !(i < operands && aliases[i] >= 0)) release(at[i]);
  if (at[operands + results]) release(at[operands + results]);
  if (pointers) release(pointers);
  if (memory) release(memory);
  if (ended) release(ended);
  if (module) moduleUnload(module);
  return ok;
}

static int isThere(const char *path) {
  struct stat s;
  return stat(path, &s) == 0;
}

static int byName(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* Calls in the folder and below it. */
static void runAll(const char *folder, int *calls, int *failed) {
  char path[4096], *names[4096];
  int n = 0;
  snprintf(path, sizeof path, "%s/call.txt", folder);
  if (isThere(path)) {
    ++*calls;
    if (!runCall(folder)) ++*failed;
    fflush(stdout);
    return;
  }
  DIR *open = opendir(folder);
  if (!open) return;
  for (struct dirent *e; (e = readdir(open)) && n < 4096;)
    if (e->d_name[0] != '.') names[n++] = strdup(e->d_name);
  closedir(open);
  qsort(names, (size_t)n, sizeof *names, byName);
  for (int i = 0; i < n; ++i) {
    snprintf(path, sizeof path, "%s/%s", folder, names[i]);
    runAll(path, calls, failed);
    free(names[i]);
  }
}

int main(int count, char **folders) {
  int calls = 0, failed = 0;
  if (count < 2) return printf("usage: run_calls FOLDER...\n"), 2;
  if (!loadDriver() || !startDevice()) return 2;
  for (int i = 1; i < count; ++i) runAll(folders[i], &calls, &failed);
  printf("%d calls, %d failed\n", calls, failed);
  return failed || calls == 0 ? 1 : 0;
}
