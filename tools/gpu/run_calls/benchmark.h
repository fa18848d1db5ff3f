/* The benchmark: times of kernels without stored arrays. */
#pragma once

struct BenchmarkOptions {
  int times;        /* that each kernel is measured */
  long long buffer; /* bytes that are overwritten before each, more than the L2 cache has, and that are copied */
};

/* Once, before processes that measure are started. */
void shareRow(void);
/* Allots what measurements need, and measures the rate of copies. 0 and a reason: it cannot. */
int beginBenchmark(const struct BenchmarkOptions*);
/* Prints that rate and the head of the table. */
void printBenchmarkHead(void);
/* Measures the kernel of a folder and prints its line. 0 and a reason: it fails, or its results are wrong. */
int benchmarkCall(const char* folder);
/* Prints the time of a row of several parts, which has been measured completely. */
void endRow(void);
