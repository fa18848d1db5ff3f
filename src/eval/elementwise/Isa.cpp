#include "eval/Isa.h"
#include "base/Lasting.h"

#include "eval/elementwise/Tables.h"

namespace smalti::eval {

const Tables& baselineTables() {
  static constinit Lasting<const Tables> tables;
  return tables.get(baseline::tables);
}

const Tables& activeTables() {
#ifdef SMALTI_ISA_VARIANTS
  static constinit Lasting<const Tables> avx2Tables, avx512Tables;
  if (activeIsa() == Isa::avx512) return avx512Tables.get(avx512::tables);
  if (activeIsa() == Isa::avx2) return avx2Tables.get(avx2::tables);
#endif
  return baselineTables();
}

}  // namespace smalti::eval
