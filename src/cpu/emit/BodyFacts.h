// Answers the queries of a body's schedule: which values are in memory, and how this processor processes rows.
#pragma once

#include "schedule/Surroundings.h"

namespace smalti::cpu {

class NativeLowering;

class BodyFacts : public schedule::Surroundings {
 public:
  explicit BodyFacts(const NativeLowering& lowering) : l_(lowering) {}
  std::optional<schedule::StoredValue> stored(mlir::Value) const override;
  bool isNeededBeyond(mlir::Value, const llvm::DenseSet<mlir::Operation*>& here) const override;
  DType storageDType(mlir::Value) const override;
  schedule::RowSchedule scheduleRows(const schedule::NestFacts&,
                                     const std::function<int64_t(size_t)>& cost) const override;

 private:
  const NativeLowering& l_;
};

}  // namespace smalti::cpu
