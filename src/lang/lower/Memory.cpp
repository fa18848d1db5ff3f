// Reading, writing and slicing Refs. In VMEM whole vectors move, in SMEM scalars; elsewhere only DMA does.
#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

#include "ir/Tpu.h"
#include "lang/lower/Lowering.h"
#include "lang/refs/Indexer.h"

namespace smalti::lang {
namespace {

/// An access of a Ref in terms of its memref: one start, size and stride per memref axis.
struct Access {
  std::vector<mlir::Value> starts;  ///< index type
  Shape sizes;
  std::vector<int64_t> strides;
  Shape result;  ///< without scalar and squeezed axes
  bool strided() const {
    return std::any_of(strides.begin(), strides.end(), [](int64_t s) { return s != 1; });
  }
};

Access access(Lowering& l, const Op& op) {
  const MemRefValue& ref = l.ref(op.operands[0]);
  const auto axes = decodeIndex(std::get<std::vector<int64_t>>(*op.find("index")));
  Access a;
  size_t axis = 0, dynamic = 1;
  for (const bool squeezed : ref.squeezed) {
    if (squeezed) {
      a.starts.push_back(l.index(0));
      a.sizes.push_back(1);
      a.strides.push_back(1);
      continue;
    }
    const AxisIndex& i = axes[axis++];
    a.starts.push_back(i.dynamicStart ? l.toIndex(l.value(op.operands[dynamic++])) : l.index(i.start));
    if (i.dynamicSize)
      refuseOp(op, "a Ref is read or written with a slice of traced size", "a static size", "ds(start, traced size)",
               "traced sizes are for DMA: copy with make_async_copy, or mask a slice of static size");
    a.sizes.push_back(i.size);
    a.strides.push_back(i.stride);
    if (i.isSlice) a.result.push_back(i.size);
  }
  return a;
}

void checkSpace(Lowering& l, const Op& op, std::string_view what) {
  const MemorySpace space = l.spaceOf(op.operands[0]);
  if (space == MemorySpace::vmem || space == MemorySpace::smem) return;
  const bool semaphore = space == MemorySpace::semaphore;
  refuseOp(op, fmt::format("{}s are only allowed on VMEM and SMEM references", what), "a Ref in VMEM or SMEM",
           semaphore                    ? "a semaphore"
           : space == MemorySpace::host ? "a Ref in host memory"
                                        : "a Ref in ANY or HBM",
           semaphore ? "use semaphore_read, semaphore_signal and semaphore_wait"
                     : "copy it to VMEM scratch with make_async_copy or sync_copy");
}

/// The dtype in memory: a bool is held as i32.
DType held(DType t) { return t == DType::pred ? DType::i32 : t; }

mlir::DenseI32ArrayAttr strides(Lowering& l, const Access& a) {
  return l.b.getDenseI32ArrayAttr(std::vector<int32_t>(a.strides.begin(), a.strides.end()));
}

mlir::Value load(Lowering& l, const Op& op, const Access& a) {
  const MemRefValue& ref = l.ref(op.operands[0]);
  const DType t = l.typeOf(op.operands[0]).dtype;
  const auto memref = mlir::cast<mlir::MemRefType>(ref.memref.getType());
  if (l.spaceOf(op.operands[0]) == MemorySpace::smem) {
    if (!a.result.empty())
      refuseOp(op, "Can only load scalars from SMEM", "an index of one element, x[i]",
               fmt::format("a slice of shape [{}]", fmt::join(a.result, ", ")), "read element by element in a loop");
    return convertTo(l, mlir::memref::LoadOp::create(l.b, l.loc, ref.memref, a.starts), held(t), t);
  }
  const auto type = mlir::VectorType::get(a.sizes, memref.getElementType());
  std::vector<mlir::Value> operands{ref.memref};
  operands.insert(operands.end(), a.starts.begin(), a.starts.end());
  mlir::Value x = a.strided()
                      ? l.create1("tpu.strided_load", operands, type, {l.b.getNamedAttr("strides", strides(l, a))})
                      : l.create1("vector.load", operands, type);
  if (a.result.empty())
    x = mlir::vector::ExtractOp::create(l.b, l.loc, x, std::vector<int64_t>(a.sizes.size(), 0));
  else if (a.result != a.sizes)
    x = l.create1("vector.shape_cast", x, mlir::VectorType::get(a.result, memref.getElementType()));
  return convertTo(l, x, held(t), t);
}

void get(Lowering& l, const Op& op) {
  checkSpace(l, op, "Load");
  l.set(op.results[0], load(l, op, access(l, op)));
}

void storeVector(Lowering& l, const Op& op, const Access& a, mlir::Value value, mlir::Value mask) {
  const MemRefValue& ref = l.ref(op.operands[0]);
  const auto memref = mlir::cast<mlir::MemRefType>(ref.memref.getType());
  const auto shaped = [&](mlir::Value x) {
    const auto vector = mlir::dyn_cast<mlir::VectorType>(x.getType());
    if (vector && vector.getShape() == llvm::ArrayRef(a.sizes)) return x;
    const mlir::Type element = mlir::getElementTypeOrSelf(x.getType());
    return l.create1(vector ? "vector.shape_cast" : "vector.broadcast", x, mlir::VectorType::get(a.sizes, element));
  };
  value = shaped(value);
  if (mask) mask = shaped(mask);
  if (a.strided()) {
    if (mask)
      refuseOp(op, "masked swap with strided store", "stride 1 with a mask", "a strided slice",
               "store without the mask");
    std::vector<mlir::Value> operands{value, ref.memref};
    operands.insert(operands.end(), a.starts.begin(), a.starts.end());
    l.create("tpu.strided_store", operands, {}, {l.b.getNamedAttr("strides", strides(l, a))});
    return;
  }
  if (mask && memref.getElementTypeBitWidth() != 32)
    refuseOp(op, "masked swap with non-32-bit data", "a Ref of 32-bit elements",
             fmt::format("{} bits", memref.getElementTypeBitWidth()), "select with where, and store unmasked");
  std::vector<mlir::Value> operands{value, ref.memref};
  operands.insert(operands.end(), a.starts.begin(), a.starts.end());
  if (mask) operands.push_back(mask);
  l.create("tpu.vector_store", operands, {},
           {l.b.getNamedAttr("strides", l.b.getDenseI32ArrayAttr({})), l.b.getNamedAttr("add", l.b.getBoolAttr(false)),
            l.b.getNamedAttr("operandSegmentSizes",
                             l.b.getDenseI32ArrayAttr({1, 1, static_cast<int32_t>(a.starts.size()), mask ? 1 : 0}))});
}

void swap(Lowering& l, const Op& op) {
  checkSpace(l, op, "Loads and store");
  const bool masked = op.find("masked") != nullptr;
  const Access a = access(l, op);
  const DType t = l.typeOf(op.operands[0]).dtype;
  const size_t last = op.operands.size() - 1;
  const mlir::Value value = convertTo(l, l.value(op.operands[masked ? last - 1 : last]), t, held(t));
  const mlir::Value mask = masked ? l.value(op.operands[last]) : mlir::Value();
  if (l.isUsed(op.results[0])) l.set(op.results[0], load(l, op, a));
  if (l.spaceOf(op.operands[0]) == MemorySpace::smem) {
    if (masked)
      refuseOp(op, "SMEM store does not support masks", "a store without a mask", "a mask", "use when or where");
    if (!a.result.empty())
      refuseOp(op, "Can only store scalars to SMEM", "an index of one element, o[i] = v",
               fmt::format("a slice of shape [{}]", fmt::join(a.result, ", ")), "write element by element in a loop");
    mlir::memref::StoreOp::create(l.b, l.loc, value, l.ref(op.operands[0]).memref, a.starts);
    return;
  }
  if (a.result.empty())
    refuseOp(op, "Cannot store scalars to VMEM", "a slice, o[ds(i, 1)] = …", "one element",
             "store a slice, or put the Ref in SMEM");
  storeVector(l, op, a, value, mask);
}

/// memref_slice of the parts, then memref_squeeze of scalar axes; squeezed axes of the block stay as they are.
void refSlice(Lowering& l, const Op& op) {
  if (l.deferred(op.operands[0])) return l.defer(op);
  const MemRefValue& ref = l.ref(op.operands[0]);
  const auto axes = decodeIndex(std::get<std::vector<int64_t>>(*op.find("index")));
  const auto memref = mlir::cast<mlir::MemRefType>(ref.memref.getType());
  std::vector<mlir::Value> starts, sizes;
  Shape sliced, kept;
  size_t axis = 0, dynamic = 1;
  const mlir::Type i32 = l.b.getI32Type();
  for (size_t d = 0; d < ref.squeezed.size(); ++d) {
    if (ref.squeezed[d]) {
      starts.push_back(l.constant(i32, 0));
      sliced.push_back(1);
      continue;
    }
    const AxisIndex& i = axes[axis++];
    if (i.stride != 1)
      refuseOp(op, "Strided slices of references are unsupported", "stride 1", fmt::format("stride {}", i.stride),
               "read with a stride, x[ds(start, size, stride)], or copy a slice per row");
    starts.push_back(i.dynamicStart ? l.value(op.operands[dynamic++]) : l.constant(i32, static_cast<double>(i.start)));
    if (i.dynamicSize) sizes.push_back(l.value(op.operands[dynamic++]));
    sliced.push_back(i.dynamicSize ? mlir::ShapedType::kDynamic : i.size);
    if (i.isSlice) kept.push_back(sliced.back());
  }
  const auto typed = [&](const Shape& shape) {
    return mlir::MemRefType::get(
        shape, memref.getElementType(),
        memref.getLayout().isIdentity() ? mlir::MemRefLayoutAttrInterface{} : memref.getLayout(),
        memref.getMemorySpace());
  };
  std::vector<mlir::Value> operands{ref.memref};
  operands.insert(operands.end(), starts.begin(), starts.end());
  operands.insert(operands.end(), sizes.begin(), sizes.end());
  mlir::Value view = l.create1(
      "tpu.memref_slice", operands, typed(sliced),
      {l.b.getNamedAttr("operandSegmentSizes", l.b.getDenseI32ArrayAttr({1, static_cast<int32_t>(starts.size()),
                                                                         static_cast<int32_t>(sizes.size())}))});
  if (kept != sliced) view = l.create1("tpu.memref_squeeze", view, typed(kept));
  l.setRef(op.results[0], {view, std::vector<bool>(kept.size())});
}

void refView(Lowering& l, const Op& op) {
  if (l.deferred(op.operands[0])) return l.defer(op);
  const MemRefValue& ref = l.ref(op.operands[0]);
  mlir::Value x = ref.memref;
  const auto from = mlir::cast<mlir::MemRefType>(x.getType());
  const ArrayType& type = l.typeOf(op.results[0]);
  if (std::find(ref.squeezed.begin(), ref.squeezed.end(), true) != ref.squeezed.end())
    x = l.create1("tpu.memref_squeeze", x,
                  mlir::MemRefType::get(l.typeOf(op.operands[0]).shape, from.getElementType(),
                                        mlir::MemRefLayoutAttrInterface{}, from.getMemorySpace()));
  const auto to = mlir::MemRefType::get(type.shape, smalti::typeOf(held(type.dtype), *l.b.getContext()),
                                        mlir::MemRefLayoutAttrInterface{}, from.getMemorySpace());
  x = l.create1(op.name == "ref_bitcast" ? "tpu.memref_bitcast" : "tpu.memref_reshape", x, to);
  l.setRef(op.results[0], {x, std::vector<bool>(type.shape.size())});
}

constexpr std::array kMemoryRules{
    LowerRow{"get", get},
    LowerRow{"ref_bitcast", refView},
    LowerRow{"ref_reshape", refView},
    LowerRow{"ref_slice", refSlice},
    LowerRow{"swap", swap},
};

}  // namespace

std::span<const LowerRow> memoryRules() { return kMemoryRules; }

}  // namespace smalti::lang
