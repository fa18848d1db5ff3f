// The interface through which planning queries the body around the planned ops, and the target.
#pragma once

#include <functional>
#include <optional>

#include "llvm/ADT/DenseSet.h"
#include "mlir/IR/Operation.h"
#include "schedule/NestFacts.h"
#include "smalti/array.h"

namespace smalti::schedule {

/// A value in memory.
struct StoredValue {
  DType dtype = DType::f32;
  Shape shape;
  bool isDense = false;
  bool isReusable = false;  ///< it has a buffer of its own, which another value may take over once this one is dead
};

class Surroundings {
 public:
  virtual ~Surroundings() = default;
  /// The value's memory; nullopt: it is not in memory yet.
  virtual std::optional<StoredValue> stored(mlir::Value) const = 0;
  /// Whether an op that is neither computed nor in `here` needs the value, possibly through rematerializable ops.
  virtual bool isLiveOut(mlir::Value, const llvm::DenseSet<mlir::Operation*>& here) const = 0;
  /// The element type of a buffer for the value: its own, or a wider one that suits all of its users better.
  virtual DType storageDType(mlir::Value) const = 0;
  /// The target's schedule for a nest's rows. `cost(i)`: approximate number of instructions per element of root i.
  virtual RowSchedule scheduleRows(const NestFacts&, const std::function<int64_t(size_t)>& cost) const = 0;
};

}  // namespace smalti::schedule
