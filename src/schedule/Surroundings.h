// What planning asks of the body around the ops that it plans, and of the target.
#pragma once

#include <functional>
#include <optional>

#include "llvm/ADT/DenseSet.h"
#include "mlir/IR/Operation.h"
#include "schedule/NestFacts.h"
#include "smalti/array.h"

namespace smalti::schedule {

/// A value that is in memory.
struct StoredValue {
  DType dtype = DType::f32;
  Shape shape;
  bool isDense = false;
  bool isReusable = false;  ///< its memory is a buffer of its own: once nothing needs it, another value may have that
};

class Surroundings {
 public:
  virtual ~Surroundings() = default;
  /// nullopt: the value is not in memory yet.
  virtual std::optional<StoredValue> stored(mlir::Value) const = 0;
  /// Whether an op that has not been computed, none of `here`, needs the value, also through rematerializable ops.
  virtual bool isNeededBeyond(mlir::Value, const llvm::DenseSet<mlir::Operation*>& here) const = 0;
  /// The element type of a buffer for the value: its own, or a wider one that all of its users rather read.
  virtual DType storageDType(mlir::Value) const = 0;
  /// How the target takes a nest's rows. `cost(i)`: instructions, roughly, of an element of root i.
  virtual RowSchedule scheduleRows(const NestFacts&, const std::function<int64_t(size_t)>& cost) const = 0;
};

}  // namespace smalti::schedule
