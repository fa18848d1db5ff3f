// State of lowering one traced function: the builder and the MLIR value of each traced value. The rule of an op stands
// in its record (ops/OpRecord.h); a rule reads its operands with `value`, and defines its results with `set`.
#pragma once

#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

#include "ir/Types.h"
#include "lang/trace/Trace.h"

namespace smalti::lang {

/// A Ref's memref. Its axes are the Ref's and those of size 1 that a squeezed block axis left: `squeezed[i]` for memref
/// axis i.
struct MemRefValue {
  mlir::Value memref;
  std::vector<bool> squeezed;
};

class DialectLowering {
 public:
  DialectLowering(mlir::OpBuilder builder, const TracedFunction& traced) : b(builder), traced_(traced) {}

  mlir::OpBuilder b;
  mlir::Location loc = b.getUnknownLoc();
  mlir::ValueRange gridIndices;  ///< the results of program_id
  std::vector<mlir::Value> gridSizes;

  const TracedFunction& traced() const { return traced_; }
  const ArrayType& typeOf(ValueId v) const { return traced_.function.values[v]; }
  bool isRef(ValueId v) const { return traced_.refs[v].has_value(); }
  MemorySpace spaceOf(ValueId v) const { return *traced_.refs[v]; }

  /// Scalars have scalar types, other arrays vector types.
  mlir::Type mlirType(const ArrayType&);
  mlir::Value value(ValueId v) const { return values_.at(v); }
  void set(ValueId v, mlir::Value value) { values_[v] = value; }
  /// Error SM6507: a Ref of select_ref, which only copies take.
  const MemRefValue& ref(ValueId v) const;
  void setRef(ValueId v, MemRefValue ref) { refs_[v] = std::move(ref); }
  /// Refs made of a select_ref have no memref: the ops that make them are lowered again for each choice, where a copy
  /// takes them. `deferred` gives that op while the Ref is not bound to a choice.
  void defer(const Op& op) { deferred_[op.results[0]] = &op; }
  const Op* deferred(ValueId v) const;
  void unbind(ValueId v) { refs_.erase(v); }

  /// Whether any op takes the value.
  bool isUsed(ValueId);

  /// Lowers the ops up to the block's "return"; gives its operands.
  std::vector<mlir::Value> ops(const std::vector<Op>&);

  /// Any op by name.
  mlir::Operation* create(std::string_view op, mlir::ValueRange operands, mlir::TypeRange results,
                          llvm::ArrayRef<mlir::NamedAttribute> attributes = {}, int regions = 0);
  mlir::Value create1(std::string_view op, mlir::ValueRange operands, mlir::Type result,
                      llvm::ArrayRef<mlir::NamedAttribute> attributes = {});
  /// A constant: scalar, or a splat of it when the type is a vector. `number` as a double (integers exactly).
  mlir::Value constant(mlir::Type, double number);
  mlir::Value index(int64_t);
  mlir::Value toIndex(mlir::Value i32);

 private:
  const TracedFunction& traced_;
  std::unordered_map<ValueId, mlir::Value> values_;
  std::unordered_map<ValueId, MemRefValue> refs_;
  std::unordered_map<ValueId, const Op*> deferred_;
  const Op* current_ = nullptr;
  std::vector<bool> used_;  ///< by ValueId; empty: not computed yet
};

/// A scalar or vector of dtype `from` as one of dtype `to`.
mlir::Value convertTo(DialectLowering&, mlir::Value, DType from, DType to);

// Functions that rules share.
void lowerConstant(DialectLowering&, const Op&);
/// The same elements in another shape; a vector of one element becomes a scalar, or the reverse.
mlir::Value castTo(DialectLowering&, mlir::Value, const ArrayType& from, const ArrayType& to);
std::vector<mlir::Value> valuesOf(DialectLowering&, std::span<const ValueId>);
std::vector<mlir::Type> typesOf(DialectLowering&, std::span<const ValueId>);
/// One op of the dialect, on the op's operands, of the type of its result.
mlir::Value emitOne(DialectLowering&, const Op&, std::string_view name,
                    llvm::ArrayRef<mlir::NamedAttribute> attributes = {});
/// An integer attribute of the op as the dialect's i32; absent ones stay absent.
void copyInteger(DialectLowering&, const Op&, std::string_view name, std::vector<mlir::NamedAttribute>& to,
                 bool isSigned = false);
/// Puts a block of the trace into a new block of `region`, whose terminator `end` makes of its results.
template <class End>
void fillRegion(DialectLowering& l, mlir::Region& region, const Block& body, const End& end) {
  const mlir::OpBuilder::InsertionGuard guard(l.b);
  const auto types = typesOf(l, body.arguments);
  mlir::Block* block =
      l.b.createBlock(&region, {}, types, std::vector<mlir::Location>(types.size(), l.b.getUnknownLoc()));
  for (size_t i = 0; i < body.arguments.size(); ++i) l.set(body.arguments[i], block->getArgument(i));
  const auto loc = l.loc;
  const auto results = l.ops(body.ops);
  l.loc = loc;
  end(block, results);
}
/// The memref of a Ref without the axes that its block's squeezed dimensions left.
mlir::Value unsqueezed(DialectLowering&, ValueId ref);

/// The location of an op, from its place.
mlir::Location locationOf(mlir::MLIRContext&, const SourcePlace&);
/// The memref type of a Ref: bool is held as i32, semaphores as their own types.
mlir::MemRefType memrefType(mlir::MLIRContext&, const ArrayType&, MemorySpace);
/// "SM6401: … is not in the TPU's kernels": throws.
[[noreturn]] void refuseOp(const Op&, std::string message, std::string need, std::string have, std::string help);

}  // namespace smalti::lang
