#include "cpu/ops/ElementwiseOps.h"

#include <optional>

#include "cpu/ops/NativeDTypes.h"
#include "ir/Types.h"
#include "ir/facts/Attributes.h"
#include "llvm/ADT/StringMap.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

namespace smalti::cpu {
namespace {

// ---- what a row accepts: the op's attributes, the dtypes of its first operand and of its result

using Accepts = bool (*)(mlir::Operation&, DType in, DType out);

bool isFloat(DType t) { return isRegisterFloat(t); }
bool isInteger(DType t) { return computesNatively(t) && !isFloat(t) && t != DType::pred; }
bool isBits(DType t) { return isInteger(t) || t == DType::pred; }

bool anything(mlir::Operation&, DType, DType) { return true; }
bool floats(mlir::Operation&, DType in, DType) { return isFloat(in); }
bool integers(mlir::Operation&, DType in, DType) { return isInteger(in); }
bool bits(mlir::Operation&, DType in, DType) { return isBits(in); }
bool floatToFloat(mlir::Operation&, DType in, DType out) { return isFloat(in) && isFloat(out); }
bool floatToInteger(mlir::Operation&, DType in, DType out) { return isFloat(in) && isInteger(out); }
bool integerToInteger(mlir::Operation&, DType in, DType out) { return isInteger(in) && isInteger(out); }
bool integerToBits(mlir::Operation&, DType in, DType out) { return isInteger(in) && isBits(out); }
bool bitsToInteger(mlir::Operation&, DType in, DType out) { return isBits(in) && isInteger(out); }
bool bitsToFloat(mlir::Operation&, DType in, DType out) { return isBits(in) && isFloat(out); }
bool sameWidth(mlir::Operation&, DType in, DType out) { return bit_width(in) == bit_width(out) && in != DType::pred; }

/// The predicate of a comparison; as large as no predicate if it is missing.
uint64_t predicateOf(mlir::Operation& op) { return static_cast<uint64_t>(integerAttribute(op, "predicate", -1)); }
/// For `pred`, native code only has == and !=.
bool comparesBits(mlir::Operation& op, DType in, DType) {
  return isBits(in) && predicateOf(op) < (in == DType::pred ? 2 : 1 + mlir::arith::getMaxEnumValForCmpIPredicate());
}
bool comparesFloats(mlir::Operation& op, DType in, DType) {
  return isFloat(in) && predicateOf(op) <= mlir::arith::getMaxEnumValForCmpFPredicate();
}

std::optional<DType> typeAttribute(mlir::Operation& op, llvm::StringRef name) {
  auto type = op.getAttrOfType<mlir::TypeAttr>(name);
  return type ? dtypeOf(type.getValue()) : std::nullopt;
}

bool packsElements(mlir::Operation& op, DType in, DType out) {
  const auto target = typeAttribute(op, "target_type");
  if (!target || !isInteger(out) || !computesNatively(*target)) return false;
  if (is_float(in) != is_float(*target) || (!is_float(in) && (!isInteger(in) || !isInteger(*target)))) return false;
  for (mlir::Value v : op.getOperands())
    if (elementDType(v.getType()) != in) return false;
  return bit_width(*target) * static_cast<int>(op.getNumOperands()) <= bit_width(out);
}

bool unpacksElements(mlir::Operation& op, DType in, DType out) {
  const auto source = typeAttribute(op, "source_type");
  const auto index = integerAttribute(op, "index", 0);
  if (!source || !isInteger(in) || !computesNatively(*source) || is_float(*source) != is_float(out)) return false;
  if (!is_float(*source) && (!isInteger(*source) || !isInteger(out))) return false;
  return index >= 0 && (index + 1) * bit_width(*source) <= bit_width(in);
}

bool convertsStochastically(mlir::Operation& op, DType in, DType out) {
  if (in != DType::f32 || !isRegisterFloat(out) || out == DType::f32 || op.getNumOperands() != 2) return false;
  const DType bits = elementDType(op.getOperand(1).getType());
  return isInteger(bits) && bit_width(bits) == 32;
}

bool reducesPrecision(mlir::Operation&, DType in, DType) { return in == DType::f32 || in == DType::bf16; }

const llvm::StringMap<Accepts>& table() {
  static const auto& kTable = *new llvm::StringMap<Accepts>{
      {"arith.addf", floats},
      {"arith.subf", floats},
      {"arith.mulf", floats},
      {"arith.divf", floats},
      {"arith.remf", floats},
      {"arith.maximumf", floats},
      {"arith.minimumf", floats},
      {"arith.maxnumf", floats},
      {"arith.minnumf", floats},
      {"arith.negf", floats},
      {"arith.addi", integers},
      {"arith.subi", integers},
      {"arith.muli", integers},
      {"arith.divsi", integers},
      {"arith.divui", integers},
      {"arith.remsi", integers},
      {"arith.remui", integers},
      {"arith.andi", bits},
      {"arith.ori", bits},
      {"arith.xori", bits},
      {"arith.shli", integers},
      {"arith.shrsi", integers},
      {"arith.shrui", integers},
      {"arith.maxsi", integers},
      {"arith.minsi", integers},
      {"arith.maxui", integers},
      {"arith.minui", integers},
      {"arith.cmpi", comparesBits},
      {"arith.cmpf", comparesFloats},
      {"arith.select", anything},
      {"arith.extf", floatToFloat},
      {"arith.truncf", floatToFloat},
      {"arith.extsi", bitsToInteger},
      {"arith.extui", bitsToInteger},
      {"arith.trunci", integerToBits},
      {"arith.sitofp", bitsToFloat},
      {"arith.uitofp", bitsToFloat},
      {"arith.fptosi", floatToInteger},
      {"arith.fptoui", floatToInteger},
      {"arith.index_cast", integerToInteger},
      {"arith.index_castui", integerToInteger},
      {"arith.bitcast", sameWidth},
      {"math.absf", floats},
      {"math.ceil", floats},
      {"math.floor", floats},
      {"math.trunc", floats},
      {"math.round", floats},
      {"math.roundeven", floats},
      {"math.sqrt", floats},
      {"math.copysign", floats},
      {"math.absi", integers},
      {"math.ctlz", integers},
      {"math.cttz", integers},
      {"math.ctpop", integers},
      {"tpu.bitcast", sameWidth},
      {"tpu.pack_elementwise", packsElements},
      {"tpu.stochastic_convert", convertsStochastically},
      {"tpu.unpack_elementwise", unpacksElements},
      {"tpu.reciprocal", floats},
      {"tpu.reduce_precision", reducesPrecision},
      {"math.isfinite", floats},
      {"math.isinf", floats},
      {"math.isnan", floats},
      {"tpu.weird", floats},
      {"tpu.assume_multiple", anything},
      {"math.acos", floatToFloat},
      {"math.acosh", floatToFloat},
      {"math.asin", floatToFloat},
      {"math.asinh", floatToFloat},
      {"math.atan", floatToFloat},
      {"math.atan2", floatToFloat},
      {"math.atanh", floatToFloat},
      {"math.cbrt", floatToFloat},
      {"math.cos", floatToFloat},
      {"math.cosh", floatToFloat},
      {"math.erf", floatToFloat},
      {"math.erfc", floatToFloat},
      {"math.exp", floatToFloat},
      {"math.exp2", floatToFloat},
      {"math.expm1", floatToFloat},
      {"math.log", floatToFloat},
      {"math.log10", floatToFloat},
      {"math.log1p", floatToFloat},
      {"math.log2", floatToFloat},
      {"math.powf", floatToFloat},
      {"math.rsqrt", floatToFloat},
      {"math.sin", floatToFloat},
      {"math.sinh", floatToFloat},
      {"math.tan", floatToFloat},
      {"math.tanh", floatToFloat},
  };
  return kTable;
}

}  // namespace

bool isNativeElementwise(mlir::Operation& op) {
  const auto row = table().find(op.getName().getStringRef());
  if (row == table().end() || op.getNumResults() != 1 || op.getNumRegions() != 0) return false;
  for (mlir::Value v : op.getOperands())
    if (llvm::isa<mlir::MemRefType>(v.getType()) || !computesNatively(elementDType(v.getType()))) return false;
  const DType out = elementDType(op.getResult(0).getType());
  if (!computesNatively(out) || op.getNumOperands() == 0) return false;
  return row->second(op, elementDType(op.getOperand(0).getType()), out);
}

std::vector<std::string_view> elementwiseOpNames() {
  std::vector<std::string_view> names;
  for (const auto& row : table()) names.emplace_back(row.getKey().data(), row.getKey().size());
  return names;
}

}  // namespace smalti::cpu
