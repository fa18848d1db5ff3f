// Code that notes how long its parts take. It is made while a MeasuredLowering lives; other code has none of it.
#pragma once

#include "cpu/Measurement.h"
#include "cpu/emit/Lowering.h"

namespace smalti::cpu {

inline constexpr const char* kStampSymbol = "smaltiCpuStamp";
inline constexpr const char* kStepSymbol = "smaltiCpuStep";

/// While it lives, kernels that are lowered on this thread are measured.
class MeasuredLowering {
 public:
  MeasuredLowering();
  ~MeasuredLowering();
  MeasuredLowering(const MeasuredLowering&) = delete;
  MeasuredLowering& operator=(const MeasuredLowering&) = delete;
  /// The one of this thread; null: nothing is measured.
  static MeasuredLowering* here();

  Measurement plan{.parts = {{}}};  ///< parts and grid of the code; the first part is what is of no op
  int32_t part = 0;                 ///< that is being emitted
};

/// What is emitted while this lives is of these ops; parts may lie in each other.
class MeasuredCode {
 public:
  MeasuredCode(Lowering&, std::vector<mlir::Operation*>);
  ~MeasuredCode();
  MeasuredCode(const MeasuredCode&) = delete;
  MeasuredCode& operator=(const MeasuredCode&) = delete;

 private:
  Lowering& l_;
  llvm::CallInst* stamp_ = nullptr;
  int32_t outer_ = 0;
};

/// Whether an op that is lowered by itself is worth a time of its own: it does something to arrays.
bool worthMeasuring(mlir::Operation&);

/// A step of the grid begins.
void measureStep(Lowering&, const std::vector<int64_t>& grid, const std::vector<Reg>& bounds,
                 const std::vector<Reg>& indices);

}  // namespace smalti::cpu
