/* A call on the GPU: its code, its arrays, its launches. */
#pragma once

#include "call.h"
#include "driver.h"

struct Launch {
  const struct Call* call;
  const struct Code* code;
  void *module, *function;
  Address at[kMostArrays + 1]; /* of the arrays, then of the buffer for debug prints */
  Address pointers, workspace, ended;
  long long points, iterations, blocks;
  _Alignas(64) char maps[kMostMaps][128];
  void* arguments[6];
  char codeName[96]; /* "cubin sm_90a", "PTX sm_80" */
};

/* Loads the code for this GPU and the arrays. 0 and a reason: it cannot; `freeLaunch` in any case. */
int makeLaunch(const char* folder, const struct Call*, struct Launch*);
void freeLaunch(struct Launch*);

/* A kernel that takes longer has hung. */
extern double secondsForKernels;

/* Starts the kernel. */
int start(struct Launch*);
/* Waits until the GPU has done everything. 0 and a reason: a kernel has met a fault, or has hung. */
int awaitGpu(void);
/* Waits for the kernels that were started. 0 and a reason: one of them has met a fault or has ended early. */
int finish(struct Launch*);
