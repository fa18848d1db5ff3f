#include "cpu/nest/CarriedLoop.h"

namespace smalti::cpu {

Values carriedLoop(NativeLowering& l, int64_t begin, int64_t end, int64_t step, const Values& carried,
                   CarriedBody body) {
  return countedLoop(l.b, l.index(begin), l.index(end), step, carried,
                     [&](Reg index, llvm::ArrayRef<Reg> now) { return body(index, Values(now.begin(), now.end())); });
}

}  // namespace smalti::cpu
