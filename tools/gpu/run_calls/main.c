/* Runs kernels of Smalti on the first NVIDIA GPU. Needs the driver and nothing else:
 *
 *   ./run_calls FOLDER…        runs every recorded call below the folders (smalti run --target cuda-host:FOLDER),
 *                              compares what it computes with the files, and prints the time of a launch
 *     --benchmark FOLDER       then measures every benchmark below this folder, and checks samples of its results
 *     --json FILE              writes all figures
 *     --times N                measurements of each benchmark (7)
 *     --seconds S              no kernel begins after this time (450)
 *     --kernel-seconds S       a kernel that takes longer has hung (20)
 *     --buffer MIB             overwritten before each measurement: more than the L2 cache has (256)
 *
 * 0: all is as it should be; 1: something is not; 2: nothing could be run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "benchmark.h"
#include "clock.h"
#include "compare.h"
#include "fail.h"
#include "folders.h"
#include "launch.h"
#include "report.h"
#include "shared.h"

enum { kLaunches = 20 };

/* The least time of some launches, in microseconds; 0 and a reason: one of them fails. */
static int timeLaunches(struct Launch* l, double* us) {
  for (int i = 0; i < kLaunches; ++i) {
    const double begin = secondsNow();
    if (!start(l) || !awaitGpu()) return 0;
    const double taken = 1e6 * (secondsNow() - begin);
    if (i == 0 || taken < *us) *us = taken;
  }
  return finish(l);
}

/* 0 and a reason: the call's results are not as they should be. */
static int runCall(const char* folder) {
  static struct Call call;
  static struct Launch l;
  double us = 0;
  if (!readCall(folder, &call)) return 0;
  const int ok =
      makeLaunch(folder, &call, &l) && start(&l) && finish(&l) && compareResults(folder, &l) && timeLaunches(&l, &us);
  if (ok) {
    printf("ok     %s   %lld blocks of %lld threads, %s, %.1f us\n", folder, l.blocks, l.code->threads, l.codeName, us);
    beginObject(NULL);
    reportText("folder", folder);
    reportText("code", l.codeName);
    reportNumber("us", us);
    endObject();
  }
  freeLaunch(&l);
  return ok;
}

enum { kCalls, kBenchmarks, kSections };

static struct {
  struct Folders folders[kSections];
  struct BenchmarkOptions benchmark;
  double until; /* no kernel begins after this time */
} work;

/* How far the work has come: a process that has lost the GPU, since a kernel has faulted or hung, ends, and another one
 * continues. */
static struct Progress {
  int isStarted, hasBegun[kSections], section;
  size_t next; /* folder of the section */
  int failed[kSections], leftOut;
}* progress;

static void failFolder(const char* folder, const char* why) {
  ++progress->failed[progress->section];
  printf("FAILED %s: %s\n", folder, why);
  beginObject(NULL);
  reportText("folder", folder);
  reportText("failed", why);
  endObject();
}

static void flush(void) {
  fflush(stdout);
  flushReport();
}

static void describeDevice(void) {
  printf("%s, compute capability %d.%d, %d processors, driver for CUDA %d.%d\n", device.name, device.capability / 10,
         device.capability % 10, device.processors, device.driver / 1000, device.driver % 1000 / 10);
  printf("clocks: up to %d MHz, memory %d MHz; L2 cache %d MiB\n", device.clockMhz, device.memoryMhz,
         device.cacheBytes >> 20);
  beginObject(NULL);
  reportText("gpu", device.name);
  reportNumber("capability", device.capability / 10.0);
  reportNumber("processors", device.processors);
  reportNumber("driver", device.driver / 1000 + device.driver % 1000 / 100.0);
  reportNumber("clock_mhz", device.clockMhz);
  reportNumber("memory_clock_mhz", device.memoryMhz);
}

/* Once for all processes, except for what each has to allot. */
static int beginSection(int section) {
  if (section == kBenchmarks && !beginBenchmark(&work.benchmark)) return 0;
  if (progress->hasBegun[section]) return 1;
  progress->hasBegun[section] = 1;
  if (section == kBenchmarks) printBenchmarkHead();
  beginList(section == kCalls ? "calls" : "benchmark");
  return 1;
}

static void endSection(int section) {
  if (section == kBenchmarks && !progress->leftOut) endRow();
  endList();
  printf("%zu %s, %d failed", work.folders[section].count, section == kCalls ? "calls" : "kernels",
         progress->failed[section]);
  if (section == kBenchmarks) printf(", %d left out", progress->leftOut);
  printf("\n");
}

static void runFolder(int section, const struct Folder* folder) {
  const int isLate = secondsNow() > work.until;
  forget();
  if (folder->wrong) {
    failFolder(folder->path, folder->wrong);
  } else if (isLate && section == kBenchmarks) {
    ++progress->leftOut;
  } else if (isLate) {
    failFolder(folder->path, "not run: there was no time");
  } else if (!(section == kCalls ? runCall : benchmarkCall)(folder->path)) {
    failFolder(folder->path, reason());
  }
}

enum { kDone = 0, kNoDevice = 2, kLost = 3 };

/* Continues the work, until it is done or the GPU is lost. */
static int continueWork(void) {
  if (!startDevice()) return printf("%s\n", reason()), kNoDevice;
  if (!progress->isStarted++) describeDevice();
  for (; progress->section < kSections; ++progress->section, progress->next = 0) {
    const struct Folders* folders = &work.folders[progress->section];
    if (!folders->count) continue;
    forget();
    if (!beginSection(progress->section)) return printf("no benchmark: %s\n", reason()), kNoDevice;
    while (progress->next < folders->count) {
      flush();
      runFolder(progress->section, &folders->all[progress->next]);
      ++progress->next;
      if (device.lost) return kLost;
    }
    endSection(progress->section);
  }
  return kDone;
}

/* In a process of its own, which ends without waiting for the GPU. */
static int workInProcess(void) {
  flush();
  const pid_t child = fork();
  if (child == 0) {
    const int end = continueWork();
    flush();
    _exit(end);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return kNoDevice;
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  const struct Folders* folders = &work.folders[progress->section];
  if (progress->next >= folders->count) return kNoDevice;
  failFolder(folders->all[progress->next++].path, "the process was ended by a signal");
  return kLost;
}

static int usage(void) {
  printf(
      "usage: run_calls [--benchmark FOLDER] [--json FILE] [--times N] [--seconds S] [--kernel-seconds S] [--buffer "
      "MIB]"
      " FOLDER...\n");
  return 2;
}

int main(int count, char** arguments) {
  const double began = secondsNow();
  const char *benchmark = NULL, *json = NULL;
  double seconds = 450, times = 7, mib = 256;
  int first = 1;
  for (; first < count && !strncmp(arguments[first], "--", 2); first += 2) {
    const char *name = arguments[first], *value = first + 1 < count ? arguments[first + 1] : NULL;
    double* number = !strcmp(name, "--times")            ? &times
                     : !strcmp(name, "--seconds")        ? &seconds
                     : !strcmp(name, "--kernel-seconds") ? &secondsForKernels
                     : !strcmp(name, "--buffer")         ? &mib
                                                         : NULL;
    const char** text = !strcmp(name, "--benchmark") ? &benchmark : !strcmp(name, "--json") ? &json : NULL;
    char* end = NULL;
    if (!value || (!number && !text)) return usage();
    if (text)
      *text = value;
    else if ((*number = strtod(value, &end)) < 0 || end == value || *end)
      return usage();
  }
  if ((first == count && !benchmark) || times < 1 || times > 1000 || mib < 1 || mib > 1 << 16) return usage();
  for (int i = first; i < count; ++i) findCalls(arguments[i], &work.folders[kCalls]);
  if (benchmark) findCalls(benchmark, &work.folders[kBenchmarks]);
  work.benchmark = (struct BenchmarkOptions){.times = (int)times, .buffer = (long long)mib << 20};
  work.until = began + seconds;
  progress = sharedMemory(sizeof *progress);
  shareRow();
  if (!openReport(json)) return printf("%s\n", reason()), 2;
  int end;
  do end = workInProcess();
  while (end == kLost);
  if (progress->isStarted) {
    endObject();
    printf("%.0f s in all\n", secondsNow() - began);
  }
  forget();
  if (!closeReport()) return printf("%s\n", reason()), 1;
  return end == kNoDevice ? 2 : progress->failed[kCalls] || progress->failed[kBenchmarks] ? 1 : 0;
}
