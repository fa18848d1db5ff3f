#include "lang/lower/DialectLowering.h"

#include <algorithm>

#include <fmt/format.h>

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

#include "ir/Tpu.h"
#include "lang/print/Print.h"
#include "lang/trace/SourceLocationScope.h"

namespace smalti::lang {

mlir::Location locationOf(mlir::MLIRContext& context, const SourcePlace& place) {
  if (!place.known()) return mlir::UnknownLoc::get(&context);
  return mlir::FileLineColLoc::get(&context, place.file, place.line, place.column);
}

mlir::MemRefType memrefType(mlir::MLIRContext& context, const ArrayType& type, MemorySpace space) {
  const auto tpuSpace = [&] {
    switch (space) {
      case MemorySpace::any:
        return tpu::MemorySpace::any;
      case MemorySpace::hbm:
        return tpu::MemorySpace::hbm;
      case MemorySpace::smem:
        return tpu::MemorySpace::smem;
      case MemorySpace::semaphore:
        return tpu::MemorySpace::semaphore_mem;
      case MemorySpace::host:
        return tpu::MemorySpace::host;
      default:
        return tpu::MemorySpace::vmem;
    }
  }();
  const mlir::Type element = typeOf(type.dtype == DType::pred ? DType::i32 : type.dtype, context);
  return mlir::MemRefType::get(type.shape, element, mlir::MemRefLayoutAttrInterface{},
                               tpu::MemorySpaceAttr::get(&context, tpuSpace, std::nullopt));
}

void refuseOp(const Op& op, std::string message, std::string need, std::string have, std::string help) {
  refuse({.code = "SM6401",
          .message = std::move(message),
          .place = op.place,
          .need = std::move(need),
          .have = std::move(have),
          .help = std::move(help)});
}

mlir::Type DialectLowering::mlirType(const ArrayType& type) {
  const mlir::Type element = smalti::typeOf(type.dtype, *b.getContext());
  return type.shape.empty() ? element : mlir::Type(mlir::VectorType::get(type.shape, element));
}

std::vector<mlir::Value> DialectLowering::ops(const std::vector<Op>& list) {
  for (const Op& op : list) {
    if (op.name == "return") {
      std::vector<mlir::Value> results;
      for (const ValueId v : op.operands) results.push_back(value(v));
      return results;
    }
    current_ = &op;
    loc = locationOf(*b.getContext(), op.place);
    const OpRecord* record = findOp(op.name);
    if (!record || !record->lower)
      refuseOp(op, fmt::format("'{}' cannot be in a kernel", jaxName(op.name)),
               "an op that the TPU's vector or scalar units have", std::string(jaxName(op.name)),
               "compute it outside, or from other ops");
    for (const ValueId v : op.results)
      if (typeOf(v).elements() == 0)
        refuseOp(op, fmt::format("'{}' gives an array of no elements in a kernel", jaxName(op.name)),
                 "axes of size 1 or more", typeOf(v).str(), "leave it out: a vector register always holds something");
    record->lower(*this, op);
  }
  return {};
}

const MemRefValue& DialectLowering::ref(ValueId v) const {
  if (deferred(v))
    refuse({.code = "SM6507",
            .message = "a Ref of select_ref is used other than by a copy",
            .place = current_ ? current_->place : SourcePlace{},
            .need = "make_async_copy, async_copy or sync_copy",
            .have = current_ ? current_->name : "",
            .help = "copy the chosen Ref to scratch, or choose with cond and read in the branches"});
  return refs_.at(v);
}

const Op* DialectLowering::deferred(ValueId v) const {
  const auto made = deferred_.find(v);
  return made == deferred_.end() || refs_.count(v) ? nullptr : made->second;
}

bool DialectLowering::isUsed(ValueId v) {
  if (used_.empty()) {
    used_.resize(traced_.function.values.size());
    const auto visit = [&](const auto& self, const std::vector<Op>& list) -> void {
      for (const Op& op : list) {
        for (const ValueId operand : op.operands) used_[operand] = true;
        for (const Block& block : op.regions) self(self, block.ops);
      }
    };
    visit(visit, traced_.function.ops);
  }
  return used_[v];
}

mlir::Operation* DialectLowering::create(std::string_view op, mlir::ValueRange operands, mlir::TypeRange results,
                                         llvm::ArrayRef<mlir::NamedAttribute> attributes, int regions) {
  mlir::OperationState state(loc, llvm::StringRef(op.data(), op.size()));
  state.addOperands(operands);
  state.addTypes(results);
  state.addAttributes(attributes);
  for (int i = 0; i < regions; ++i) state.addRegion();
  return b.create(state);
}

mlir::Value DialectLowering::create1(std::string_view op, mlir::ValueRange operands, mlir::Type result,
                                     llvm::ArrayRef<mlir::NamedAttribute> attributes) {
  return create(op, operands, mlir::TypeRange{result}, attributes)->getResult(0);
}

mlir::Value DialectLowering::constant(mlir::Type type, double number) {
  const mlir::Type element = mlir::getElementTypeOrSelf(type);
  mlir::TypedAttr attribute;
  if (mlir::isa<mlir::FloatType>(element))
    attribute = b.getFloatAttr(element, number);
  else
    attribute = b.getIntegerAttr(element, static_cast<int64_t>(number));
  if (const auto vector = mlir::dyn_cast<mlir::VectorType>(type))
    attribute = mlir::DenseElementsAttr::get(vector, mlir::Attribute(attribute));
  return mlir::arith::ConstantOp::create(b, loc, attribute);
}

mlir::Value DialectLowering::index(int64_t i) { return mlir::arith::ConstantIndexOp::create(b, loc, i); }

mlir::Value DialectLowering::toIndex(mlir::Value i32) {
  return mlir::arith::IndexCastOp::create(b, loc, b.getIndexType(), i32);
}

std::vector<mlir::Type> typesOf(DialectLowering& l, std::span<const ValueId> values) {
  std::vector<mlir::Type> types;
  for (const ValueId v : values) types.push_back(l.mlirType(l.typeOf(v)));
  return types;
}

std::vector<mlir::Value> valuesOf(DialectLowering& l, std::span<const ValueId> ids) {
  std::vector<mlir::Value> values;
  for (const ValueId v : ids) values.push_back(l.value(v));
  return values;
}

mlir::Value emitOne(DialectLowering& l, const Op& op, std::string_view name,
                    llvm::ArrayRef<mlir::NamedAttribute> attributes) {
  return l.create1(name, valuesOf(l, op.operands), l.mlirType(l.typeOf(op.results[0])), attributes);
}

void copyInteger(DialectLowering& l, const Op& op, std::string_view name, std::vector<mlir::NamedAttribute>& to,
                 bool isSigned) {
  const Attribute* value = op.find(name);
  if (!value) return;
  const auto i = static_cast<int32_t>(std::get<int64_t>(*value));
  const mlir::Attribute number = isSigned ? mlir::Attribute(l.b.getSI32IntegerAttr(i)) : l.b.getI32IntegerAttr(i);
  to.push_back(l.b.getNamedAttr(llvm::StringRef(name.data(), name.size()), number));
}

mlir::Value castTo(DialectLowering& l, mlir::Value x, const ArrayType& from, const ArrayType& to) {
  if (from.shape == to.shape) return x;
  if (from.shape.empty()) return l.create1("vector.broadcast", x, l.mlirType(to));
  if (to.shape.empty())
    return mlir::vector::ExtractOp::create(l.b, l.loc, x, std::vector<int64_t>(from.shape.size(), 0));
  return l.create1("vector.shape_cast", x, l.mlirType(to));
}

mlir::Value unsqueezed(DialectLowering& l, ValueId v) {
  const MemRefValue& ref = l.ref(v);
  if (std::find(ref.squeezed.begin(), ref.squeezed.end(), true) == ref.squeezed.end()) return ref.memref;
  const auto type = mlir::cast<mlir::MemRefType>(ref.memref.getType());
  return l.create1("tpu.memref_squeeze", ref.memref,
                   mlir::MemRefType::get(l.typeOf(v).shape, type.getElementType(), mlir::MemRefLayoutAttrInterface{},
                                         type.getMemorySpace()));
}

}  // namespace smalti::lang
