#include "benchmark.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expect.h"
#include "fail.h"
#include "launch.h"
#include "report.h"
#include "shared.h"

enum { kMostTimes = 1000, kWarmUps = 3, kMostParts = 8, kNameWidth = 50 };

static struct BenchmarkOptions options;
static Address buffer, copied;
static double copyRate; /* bytes per second, read and written */
static void *before, *after;

/* The parts of the current row: the time of the fastest choice of blocks of each, 0 if there is none. A process that
 * takes over from one that has lost the GPU continues with it. */
struct Row {
  char name[128];
  int parts;
  struct {
    char name[32];
    double us;
  } part[kMostParts];
};
static struct Row* row;

static int byTime(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

/* What is measured: a launch, or a copy if there is none. */
static int run(struct Launch* l) {
  return l ? start(l) : check(cu.copy(copied, buffer, (size_t)options.buffer, NULL), "copy memory");
}

/* The median time in microseconds, each after the cache has been overwritten. */
static int measure(struct Launch* l, double* us) {
  double all[kMostTimes];
  for (int i = 0; i < options.times; ++i) {
    float ms = 0;
    if (!check(cu.fill(l ? buffer : copied, (unsigned char)i, (size_t)options.buffer, NULL), "overwrite the cache") ||
        !check(cu.record(before, NULL), "record an event") || !run(l) ||
        !check(cu.record(after, NULL), "record an event") || !awaitGpu() ||
        !check(cu.elapsed(&ms, before, after), "tell the time between events"))
      return 0;
    all[i] = 1e3 * (double)ms;
  }
  qsort(all, (size_t)options.times, sizeof *all, byTime);
  *us = (all[(options.times - 1) / 2] + all[options.times / 2]) / 2;
  return 1;
}

void shareRow(void) { row = sharedMemory(sizeof *row); }

int beginBenchmark(const struct BenchmarkOptions* given) {
  options = *given;
  if (options.times > kMostTimes) options.times = kMostTimes;
  double us;
  if (!check(cu.newEvent(&before, 0), "make an event") || !check(cu.newEvent(&after, 0), "make an event") ||
      !check(cu.allocate(&buffer, (size_t)options.buffer), "allot memory") ||
      !check(cu.allocate(&copied, (size_t)options.buffer), "allot memory") ||
      !check(cu.fill(buffer, 0, (size_t)options.buffer, NULL), "fill memory") || !run(NULL) || !measure(NULL, &us))
    return 0;
  copyRate = 2e6 * (double)options.buffer / us;
  return 1;
}

void printBenchmarkHead(void) {
  printf("\na copy of %lld MiB: %.0f GB/s, counting reads and writes; each time is the median of %d\n\n",
         options.buffer >> 20, copyRate / 1e9, options.times);
  printf("%-*s %-16s %-14s %10s %14s %8s  %s\n", kNameWidth, "kernel", "blocks", "code", "us", "rate", "of copy",
         "results");
  reportNumber("copy_gb_per_s", copyRate / 1e9);
}

/* Columns count characters, not bytes: names have ×. */
static void column(const char* text, int width) {
  int shown = 0;
  for (const char* at = text; *at; ++at) shown += (*at & 0xc0) != 0x80;
  printf("%s%*s ", text, shown < width ? width - shown : 0, "");
}

/* The time of a row of several parts is that of its fastest choices together. */
void endRow(void) {
  double us = 0;
  int isComplete = row->parts > 1;
  for (int i = 0; i < row->parts; ++i) {
    us += row->part[i].us;
    if (row->part[i].us == 0) isComplete = 0;
  }
  if (isComplete) {
    column(row->name, kNameWidth);
    printf("%-16s %-14s %10.1f\n", "all parts", "", us);
    beginObject(NULL);
    reportText("row", row->name);
    reportText("part", "all");
    reportNumber("us", us);
    endObject();
  }
  memset(row, 0, sizeof *row);
}

/* us: 0 if it is not known, or not yet. */
static void addToRow(const char* part, double us) {
  int i = 0;
  while (i < row->parts && strcmp(row->part[i].name, part)) ++i;
  if (i == kMostParts) return;
  if (i == row->parts) snprintf(row->part[row->parts++].name, sizeof row->part->name, "%s", part);
  if (us > 0 && (row->part[i].us == 0 || us < row->part[i].us)) row->part[i].us = us;
}

static void printLine(const struct Launch* l, double us, const struct Verdict* verdict, int ok) {
  const struct Call* call = l->call;
  char name[192], rate[32] = "-", share[16] = "-";
  snprintf(name, sizeof name, "%s%s%s", call->row, *call->part ? ", " : "", call->part);
  if (call->flops > 0) snprintf(rate, sizeof rate, "%.0f TFLOP/s", call->flops / us / 1e6);
  if (call->movedBytes > 0) {
    snprintf(rate, sizeof rate, "%.0f GB/s", call->movedBytes / us / 1e3);
    snprintf(share, sizeof share, "%.2f", call->movedBytes / us * 1e6 / copyRate);
  }
  column(name, kNameWidth);
  column(call->blocks, 16);
  printf("%-14s %10.1f %14s %8s  ", l->codeName, us, rate, share);
  if (!ok)
    printf("FAILED\n");
  else if (verdict->isChecked)
    printf("ok, error %.1e of %lld elements\n", verdict->error, verdict->elements);
  else
    printf("not verified\n");
}

static void reportLine(const char* folder, const struct Launch* l, double us, const struct Verdict* verdict, int ok) {
  const struct Call* call = l->call;
  beginObject(NULL);
  reportText("folder", folder);
  reportText("row", call->row);
  reportText("part", call->part);
  reportText("blocks", call->blocks);
  reportText("code", l->codeName);
  reportNumber("us", us);
  if (call->flops > 0) reportNumber("flops", call->flops);
  if (call->movedBytes > 0) {
    reportNumber("bytes", call->movedBytes);
    reportNumber("of_copy", call->movedBytes / us * 1e6 / copyRate);
  }
  reportText("results", !ok ? "wrong" : verdict->isChecked ? "ok" : "not verified");
  if (verdict->isChecked) reportNumber("error", verdict->error);
  endObject();
}

int benchmarkCall(const char* folder) {
  static struct Call call;
  static struct Launch l;
  struct Verdict verdict = {0};
  double us = 0;
  if (!readCall(folder, &call)) return 0;
  if (!*call.row) return fail("call.txt: not of a benchmark: there is no line 'row'");
  if (strcmp(row->name, call.row)) {
    endRow();
    memcpy(row->name, call.row, sizeof row->name);
  }
  addToRow(call.part, 0);
  int ok = makeLaunch(folder, &call, &l);
  for (int i = 0; ok && i < kWarmUps; ++i) ok = start(&l);
  const int isMeasured = ok && finish(&l) && measure(&l, &us) && finish(&l);
  ok = isMeasured && checkResults(folder, &l, &verdict);
  addToRow(call.part, ok ? us : 0);
  if (isMeasured) {
    printLine(&l, us, &verdict, ok);
    reportLine(folder, &l, us, &verdict, ok);
  }
  freeLaunch(&l);
  return ok;
}
