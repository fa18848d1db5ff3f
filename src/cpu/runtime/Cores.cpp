#include "cpu/runtime/Cores.h"

#include <sched.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <fstream>
#include <thread>

#include "base/Lasting.h"
#include "cpu/runtime/Pool.h"

namespace smalti::cpu {
namespace {

/// The container's CPU quota, in whole cores; a very large number if there is no limit.
int coresOfQuota() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  double quota = 0, period = 0;  // microseconds; the quota may be "max"
  if (!(file >> quota >> period) || quota <= 0 || period <= 0) return INT_MAX;
  return std::max(1, static_cast<int>(std::ceil(quota / period)));
}

/// Cores that the quota lets be busy all the time.
int withinQuota(int cores) {
  static constinit Lasting<const int> quota;
  return std::clamp(cores, 1, quota.get(coresOfQuota));
}

}  // namespace

namespace {
thread_local int tGranted = 0;
}  // namespace

void grantCores(int cores) { tGranted = cores; }

#ifdef __linux__
namespace {

using Cores = cpu_set_t;

Cores ownCores() {
  Cores cores;
  CPU_ZERO(&cores);
  // If there are more cores than the set can represent, the call fails, and all of the set are allowed.
  if (sched_getaffinity(0, sizeof cores, &cores) != 0)
    for (int i = 0; i < CPU_SETSIZE; ++i) CPU_SET(i, &cores);
  return cores;
}
const Cores kStart = ownCores();

}  // namespace

int ownCore() { return sched_getcpu(); }
void excludeCore(pthread_t thread, int core) {
  Cores others = kStart;
  if (core >= 0) CPU_CLR(core, &others);
  pthread_setaffinity_np(thread, sizeof others, CPU_COUNT(&others) > 0 ? &others : &kStart);
}
int availableCores() {
  if (tGranted > 0) return tGranted;
  const Cores cores = ownCores();
  return withinQuota(CPU_COUNT(&cores));
}
#else
int ownCore() { return -1; }
void excludeCore(pthread_t, int) {}
int availableCores() {
  return tGranted > 0 ? tGranted : withinQuota(static_cast<int>(std::thread::hardware_concurrency()));
}
#endif

}  // namespace smalti::cpu
