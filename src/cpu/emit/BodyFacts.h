// What a body's schedule asks of native code: which values are in memory by now, and how this processor takes rows.
#pragma once

#include "schedule/Surroundings.h"

namespace smalti::cpu {

class Lowering;

class BodyFacts : public schedule::Surroundings {
 public:
  explicit BodyFacts(const Lowering& lowering) : l_(lowering) {}
  std::optional<schedule::StoredValue> stored(mlir::Value) const override;
  bool isNeededBeyond(mlir::Value, const llvm::DenseSet<mlir::Operation*>& here) const override;
  DType storageDType(mlir::Value) const override;
  schedule::RowSchedule scheduleRows(const schedule::NestFacts&,
                                     const std::function<int64_t(size_t)>& cost) const override;

 private:
  const Lowering& l_;
};

}  // namespace smalti::cpu
