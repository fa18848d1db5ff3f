#include "cpu/emit/BodyFacts.h"

#include "cpu/emit/NativeLowering.h"
#include "cpu/plan/NestHeuristics.h"
#include "cpu/product/StorageDType.h"

namespace smalti::cpu {

std::optional<schedule::StoredValue> BodyFacts::stored(mlir::Value v) const {
  const View* view = l_.findView(v);
  if (!view) return std::nullopt;
  return schedule::StoredValue{.dtype = view->dtype,
                               .shape = view->shape,
                               .isDense = isDense(*view),
                               .isReusable = view->memory == View::kValue && view->owner.use_count() == 1};
}

bool BodyFacts::isNeededBeyond(mlir::Value v, const llvm::DenseSet<mlir::Operation*>& here) const {
  return l_.scheduler.isNeededBeyond(v, here);
}

DType BodyFacts::storageDType(mlir::Value v) const { return cpu::storageDType(l_.processor, v); }

schedule::RowSchedule BodyFacts::scheduleRows(const schedule::NestFacts& facts,
                                              const std::function<int64_t(size_t)>& cost) const {
  return cpu::scheduleRows(facts, cost, l_.processor);
}

}  // namespace smalti::cpu
