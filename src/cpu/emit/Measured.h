// Code that measures how long its parts take (LowerOptions::measured).
#pragma once

#include "cpu/Measurement.h"
#include "cpu/emit/NativeLowering.h"

namespace smalti::cpu {

inline constexpr const char* kStampSymbol = "smaltiCpuStamp";
inline constexpr const char* kStepSymbol = "smaltiCpuStep";

/// What the lowering of a kernel records about its measured code.
struct MeasuredLowering {
  Measurement plan{.parts = {{}}};  ///< parts and grid of the code; the first part belongs to no op
  int32_t part = 0;                 ///< number of the part being emitted
};

/// Attributes the code emitted during its lifetime to these ops; parts may be nested.
class MeasuredCode {
 public:
  MeasuredCode(NativeLowering&, std::vector<mlir::Operation*>);
  ~MeasuredCode();
  MeasuredCode(const MeasuredCode&) = delete;
  MeasuredCode& operator=(const MeasuredCode&) = delete;

 private:
  NativeLowering& l_;
  llvm::CallInst* stamp_ = nullptr;
  int32_t outer_ = 0;
};

/// Whether an op that is lowered by itself is measured separately, because it works on arrays.
bool worthMeasuring(mlir::Operation&);

/// Marks the beginning of a grid step.
void measureStep(NativeLowering&, const std::vector<int64_t>& grid, const std::vector<Reg>& bounds,
                 const std::vector<Reg>& indices);

}  // namespace smalti::cpu
