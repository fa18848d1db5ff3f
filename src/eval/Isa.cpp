#include "eval/Isa.h"

#include <algorithm>
#include <atomic>

namespace smalti::eval {
namespace {

std::atomic<Isa> inUse{bestIsa()};

}  // namespace

Isa bestIsa() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return avx512 ? Isa::avx512 : avx2 ? Isa::avx2 : Isa::baseline;
#else
  return Isa::baseline;
#endif
}

Isa isa() { return inUse.load(std::memory_order_relaxed); }

void limitIsa(Isa limit) { inUse.store(std::min(limit, bestIsa()), std::memory_order_relaxed); }

}  // namespace smalti::eval
