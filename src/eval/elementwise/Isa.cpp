#include "eval/Isa.h"

#include "eval/elementwise/Tables.h"

namespace smalti::eval {

const Tables& baselineTables() {
  static const Tables tables = baseline::tables();
  return tables;
}

const Tables& activeTables() {
#ifdef SMALTI_ISA_VARIANTS
  static const Tables avx2Tables = avx2::tables(), avx512Tables = avx512::tables();
  if (activeIsa() == Isa::avx512) return avx512Tables;
  if (activeIsa() == Isa::avx2) return avx2Tables;
#endif
  return baselineTables();
}

}  // namespace smalti::eval
