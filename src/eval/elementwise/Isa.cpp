#include "eval/elementwise/Tables.h"

namespace smalti::eval {
namespace {

Isa widest() {
  if (isaSupported(Isa::avx512)) return Isa::avx512;
  return isaSupported(Isa::avx2) ? Isa::avx2 : Isa::baseline;
}

Tables tablesOf(Isa isa) {
#ifdef SMALTI_ISA_VARIANTS
  if (isa == Isa::avx512) return avx512::tables();
  if (isa == Isa::avx2) return avx2::tables();
#endif
  return baseline::tables();
}

struct Active {
  Isa isa = widest();
  Tables tables = tablesOf(isa);
};

Active& active() {
  static Active instance;
  return instance;
}

}  // namespace

bool isaSupported(Isa isa) {
  if (isa == Isa::baseline) return true;
#ifdef SMALTI_ISA_VARIANTS
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
  if (isa == Isa::avx2) return avx2;
  return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#else
  return false;
#endif
}

Isa activeIsa() { return active().isa; }
void setActiveIsa(Isa isa) {
  active().isa = isa;
  active().tables = tablesOf(isa);
}
const Tables& activeTables() { return active().tables; }
const Tables& baselineTables() {
  static const Tables tables = tablesOf(Isa::baseline);
  return tables;
}

}  // namespace smalti::eval
