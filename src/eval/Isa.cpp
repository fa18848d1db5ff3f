#include "eval/Isa.h"

#include <atomic>

#include "base/Lasting.h"

namespace smalti::eval {
namespace {

Isa bestIsa() {
  if (isaSupported(Isa::avx512)) return Isa::avx512;
  return isaSupported(Isa::avx2) ? Isa::avx2 : Isa::baseline;
}

std::atomic<Isa>& active() {
  static constinit Lasting<std::atomic<Isa>> isa;
  return isa.get(bestIsa);
}

}  // namespace

bool isaSupported(Isa isa) {
  if (isa == Isa::baseline) return true;
#if defined(__x86_64__)
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c") &&
                    __builtin_cpu_supports("bmi2");
  if (isa == Isa::avx2) return avx2;
  return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#else
  return false;
#endif
}

Isa activeIsa() { return active().load(std::memory_order_relaxed); }
void setActiveIsa(Isa isa) { active().store(isa, std::memory_order_relaxed); }

}  // namespace smalti::eval
