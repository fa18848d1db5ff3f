#include "cpu/ops/OpForms.h"

#include <algorithm>

#include "cpu/ops/NativeDTypes.h"
#include "cpu/ops/NativeOps.h"
#include "ir/Tpu.h"
#include "ir/Types.h"
#include "ir/facts/AccessBox.h"
#include "ir/facts/Attributes.h"
#include "ir/facts/OpFamilies.h"
#include "llvm/ADT/StringMap.h"
#include "mlir/IR/BuiltinTypes.h"

namespace smalti::cpu {
namespace {

using Reason = std::optional<std::string>;
using tpu::MemorySpace;

Shape operandShape(mlir::Operation& op, unsigned i) { return shapeOf(op.getOperand(i).getType()); }
Shape resultShape(mlir::Operation& op) { return shapeOf(op.getResult(0).getType()); }
bool isDimension(int64_t d, const Shape& shape) { return d >= 0 && d < static_cast<int64_t>(shape.size()); }

/// Vectors are loaded from and stored to VMEM, scalars SMEM, too.
Reason memorySpace(mlir::Value ref, bool isScalar) {
  auto type = llvm::dyn_cast<mlir::MemRefType>(ref.getType());
  const auto space = type ? tpu::memorySpaceOf(type) : std::nullopt;
  if (!space) return "a ref of an unknown memory space";
  if (*space == MemorySpace::vmem || (*space == MemorySpace::smem && isScalar)) return std::nullopt;
  return "a load or store that the machine refuses";
}

/// The box that a load or store of vectors accesses.
Reason accessedBox(mlir::Operation& op, mlir::Value ref, mlir::Value value) {
  const size_t rank = shapeOf(ref.getType()).size();
  const auto box = accessBoxOf(op, rank, rank, shapeOf(value.getType()));
  return box ? std::nullopt : Reason(box.error());
}

Reason vectorLoad(mlir::Operation& op) {
  if (auto why = memorySpace(op.getOperand(0), false)) return why;
  return accessedBox(op, op.getOperand(0), op.getResult(0));
}
Reason scalarLoad(mlir::Operation& op) { return memorySpace(op.getOperand(0), true); }
Reason scalarStore(mlir::Operation& op) { return memorySpace(op.getOperand(1), true); }

Reason vectorStore(mlir::Operation& op) {
  const DType stored = elementDType(op.getOperand(0).getType()), kept = elementDType(op.getOperand(1).getType());
  if (stored != kept) return "a store that changes the element type";
  if (boolAttribute(op, "add") && !computesNatively(kept)) return "a store that adds narrow elements";
  if (auto why = memorySpace(op.getOperand(1), false)) return why;
  return accessedBox(op, op.getOperand(1), op.getOperand(0));
}

Reason maskedStore(mlir::Operation& op) {
  if (integersAttribute(op, "operandSegmentSizes").size() != 4) return "a store of an unknown form";
  return vectorStore(op);
}

Reason semaphoreAllocation(mlir::Operation& op) {
  auto type = llvm::cast<mlir::MemRefType>(op.getResult(0).getType());
  if (type.hasStaticShape() && is_semaphore(elementDType(type))) return std::nullopt;
  return "an allocation of a dynamic size";
}

Reason allocation(mlir::Operation& op) {
  auto type = llvm::cast<mlir::MemRefType>(op.getResult(0).getType());
  const auto space = tpu::memorySpaceOf(type);
  if (!type.hasStaticShape()) return "an allocation of a dynamic size";
  if (space != MemorySpace::vmem && space != MemorySpace::smem && space != MemorySpace::hbm)
    return "an allocation outside VMEM, SMEM and HBM";
  return std::nullopt;
}

Reason rotate(mlir::Operation& op) {
  const Shape shape = resultShape(op);
  const int64_t dim = integerAttribute(op, "dimension", -1), other = integerAttribute(op, "stride_dimension", -1);
  const bool isStrided = op.hasAttr("stride") && op.hasAttr("stride_dimension");
  if (!isDimension(dim, shape) || (isStrided && (!isDimension(other, shape) || other == dim)))
    return "a rotation of an unknown form";
  return std::nullopt;
}

Reason gather(mlir::Operation& op) {
  const Shape shape = resultShape(op), from = operandShape(op, 0);
  const auto dims = integersAttribute(op, "dimensions");
  const DType index = elementDType(op.getOperand(1).getType());
  bool isKnown = operandShape(op, 1) == shape && from.size() == shape.size() && !dims.empty() && !shape.empty() &&
                 is_integer(index) && computesNatively(index) && checkedElements(from) >= 0 &&
                 std::ranges::all_of(dims, [&](int64_t d) { return isDimension(d, shape); });
  int64_t gathered = 1;
  for (size_t d = 0; d < shape.size() && isKnown; ++d)
    if (std::ranges::find(dims, static_cast<int64_t>(d)) != dims.end())
      gathered *= from[d];
    else
      isKnown = from[d] == shape[d];
  if (!isKnown) return "a gather of an unknown form";
  if (gathered > INT32_MAX) return "a gather from more than 2^31 elements";
  return std::nullopt;
}

Reason extract(mlir::Operation& op) {
  const Shape from = operandShape(op, 0);
  const auto positions = integersAttribute(op, "static_position");
  if (positions.size() > from.size()) return "vector.extract of an unknown form";
  for (size_t d = 0; d < positions.size(); ++d)
    if (positions[d] != kDynamicSize && (positions[d] < 0 || positions[d] >= from[d]))
      return "vector.extract outside of its vector";
  return std::nullopt;
}

Reason transpose(mlir::Operation& op) {
  if (integersAttribute(op, "permutation").size() == operandShape(op, 0).size()) return std::nullopt;
  return "a transpose of an unknown form";
}

Reason concatenate(mlir::Operation& op) {
  if (isDimension(integerAttribute(op, "dimension", -1), resultShape(op))) return std::nullopt;
  return "a concatenation of an unknown form";
}

Reason argReduction(mlir::Operation& op) {
  if (!isNativeArgReduction(op)) return std::nullopt;  // src/eval computes it
  Shape rest = operandShape(op, 0);
  rest.erase(rest.begin() + static_cast<ptrdiff_t>(integerAttribute(op, "axis", -1)));
  return rest == resultShape(op) ? Reason() : "a search of an unknown form";
}

Reason loop(mlir::Operation& op) {
  return op.hasAttr("unsignedCmp") ? Reason("a loop with an unsigned comparison") : std::nullopt;
}

using Check = Reason (*)(mlir::Operation&);
const llvm::StringMap<Check>& checks() {
  static const auto& kChecks = *new llvm::StringMap<Check>{
      {"memref.alloca", allocation},
      {"memref.load", scalarLoad},
      {"memref.store", scalarStore},
      {"scf.for", loop},
      {"tpu.concatenate", concatenate},
      {"tpu.dynamic_gather", gather},
      {"tpu.dynamic_rotate", rotate},
      {"tpu.reduce_index", argReduction},
      {"tpu.sem_alloc", semaphoreAllocation},
      {"tpu.strided_load", vectorLoad},
      {"tpu.strided_store", vectorStore},
      {"tpu.vector_store", maskedStore},
      {"vector.extract", extract},
      {"vector.load", vectorLoad},
      {"vector.store", vectorStore},
      {"tpu.transpose", transpose},
      {"vector.transpose", transpose},
  };
  return kChecks;
}

}  // namespace

std::optional<std::string> unsupportedForm(mlir::Operation& op) {
  const auto found = checks().find(op.getName().getStringRef());
  return found == checks().end() ? std::nullopt : found->second(op);
}

}  // namespace smalti::cpu
