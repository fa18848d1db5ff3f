// Refs: reading, writing, slicing (D1–D7). Each is one op of the trace: "get", "swap" (which gives what was there),
// "ref_slice", "ref_bitcast", "ref_reshape".
#include "smalti/ref.h"
#include "base/Lasting.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

#include "ir/Tpu.h"
#include "lang/lower/DialectLowering.h"
#include "lang/ops/OpRecord.h"
#include "lang/ops/Support.h"
#include "lang/refs/Fit.h"
#include "lang/refs/Indexer.h"
#include "lang/trace/KernelOnly.h"
#include "lang/trace/SourceLocationScope.h"
#include "lang/trace/Trace.h"
#include "smalti/error.h"
#include "smalti/ops.h"

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

Access access(DialectLowering& l, const Op& op) {
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

void checkSpace(DialectLowering& l, const Op& op, std::string_view what) {
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

mlir::DenseI32ArrayAttr strides(DialectLowering& l, const Access& a) {
  return l.b.getDenseI32ArrayAttr(std::vector<int32_t>(a.strides.begin(), a.strides.end()));
}

mlir::Value load(DialectLowering& l, const Op& op, const Access& a) {
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

void lowerGet(DialectLowering& l, const Op& op) {
  checkSpace(l, op, "Load");
  l.set(op.results[0], load(l, op, access(l, op)));
}

void storeVector(DialectLowering& l, const Op& op, const Access& a, mlir::Value value, mlir::Value mask) {
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

void lowerSwap(DialectLowering& l, const Op& op) {
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
void lowerRefSlice(DialectLowering& l, const Op& op) {
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

void lowerRefView(DialectLowering& l, const Op& op) {
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

constexpr OpTable kRefOps{
    OpRecord{.name = "get", .types = oneResult, .lower = lowerGet},
    OpRecord{.name = "ref_bitcast", .types = oneResult, .lower = lowerRefView},
    OpRecord{.name = "ref_reshape", .types = oneResult, .lower = lowerRefView},
    OpRecord{.name = "ref_slice", .types = oneResult, .lower = lowerRefSlice},
    OpRecord{.name = "swap", .types = oneResult, .lower = lowerSwap, .effect = true},
};
const OpFamily kRefFamily(kRefOps);

}  // namespace
}  // namespace smalti::lang

namespace smalti {
namespace lang {

Array fit(const Operand& value, const ArrayType& type) {
  Array v = value.array();
  if (v.dtype() != type.dtype) {
    if (!v.weak_type())
      refuse({.code = "SM6112",
              .message = "a value of the wrong dtype is stored into a Ref",
              .place = {},
              .need = std::string(name(type.dtype)),
              .have = std::string(name(v.dtype())),
              .help = fmt::format("convert it: astype(value, {})", name(type.dtype))});
    v = astype(v, type.dtype);
  }
  if (v.shape() == type.shape) return v;
  return broadcast_to(v, type.shape);
}

namespace {

std::vector<ValueId> operandsOf(Trace& trace, const Ref& ref, const Indexer& indexer) {
  std::vector<ValueId> ids{trace.use(ref)};
  for (const Array& a : indexer.dynamic) ids.push_back(trace.use(a));
  return ids;
}

Array get(const Ref& ref, const Indexer& indexer) {
  Trace& trace = kernelTrace("reading a Ref");
  const ArrayType type{ref.dtype(), indexer.shape()};
  return trace.record(lang::kRefOps["get"], operandsOf(trace, ref, indexer), {&type, 1},
                      {{"index", indexer.encode()}})[0];
}

Array swapIn(const Ref& ref, const Indexer& indexer, const Operand& value, const Operand* mask) {
  Trace& trace = kernelTrace("writing a Ref");
  const ArrayType type{ref.dtype(), indexer.shape()};
  std::vector<ValueId> ids = operandsOf(trace, ref, indexer);
  ids.push_back(trace.use(fit(value, type)));
  if (mask && mask->dtype() != DType::pred)
    refuse({.code = "SM6302",
            .message = "a store takes a mask of pred",
            .place = {},
            .need = "pred",
            .have = mask->array().type().str(),
            .help = "compare: store(ref, value, mask != 0)"});
  if (mask) ids.push_back(trace.use(broadcast_to(*mask, type.shape)));
  Attributes attributes{{"index", indexer.encode()}};
  if (mask) attributes.emplace_back("masked", true);
  return trace.record(lang::kRefOps["swap"], std::move(ids), {&type, 1}, std::move(attributes))[0];
}

}  // namespace
}  // namespace lang

Operand::Operand(const Array& array, Location at) : array_(array), at_(at) {}
Operand::Operand(const RefView& view, Location at) : array_(view.value()), at_(at) {}

Operand::Operand(const Ref& ref, Location at) : at_(at) {
  lang::SourceLocationScope place(at);
  lang::refuse({.code = "SM6103",
                .message = "a Ref is passed to an op",
                .place = {},
                .need = "the value it holds",
                .have = ref.node() ? fmt::format("Ref {}", ref.node()->type.str()) : "an empty Ref",
                .help = "did you forget to read it? ref[_] is its value"});
}

Index::Index(Ellipsis, Location at) : kind(Kind::ellipsis), at(at) {}
Index::Index(All, Location at) : kind(Kind::all), at(at) {}
Index::Index(const Slice& slice, Location at) : kind(Kind::slice), slice(slice), at(at) {}
Index::Index(const Array& scalar, Location at) : kind(Kind::scalar), scalar(scalar), at(at) {}
Index::Index(const RefView& scalar, Location at) : Index(scalar.value(), at) {}
Index::Index(const Index&) = default;
Index::Index(Index&&) noexcept = default;
Index& Index::operator=(const Index&) = default;
Index& Index::operator=(Index&&) noexcept = default;
Index::~Index() = default;

Ref::Ref(const Ref&) = default;
Ref::Ref(Ref&&) noexcept = default;
Ref& Ref::operator=(const Ref&) = default;
Ref& Ref::operator=(Ref&&) noexcept = default;
Ref::~Ref() = default;

Slice ds(const Operand& start, const Operand& size, int64_t stride) {
  return {start.array(), size.array(), stride, start.at()};
}

const Shape& Ref::shape() const {
  static constinit Lasting<const Shape> kEmpty;
  return node_ ? node_->type.shape : kEmpty.get();
}
DType Ref::dtype() const { return node_ ? node_->type.dtype : DType::f32; }
MemorySpace Ref::memory_space() const { return node_ ? node_->space : MemorySpace::unspecified; }
int64_t Ref::dim(int64_t axis) const {
  if (axis < 0) axis += rank();
  return axis < 0 || axis >= rank() ? 0 : shape()[axis];
}

RefView Ref::operator[](std::initializer_list<Index> index) const { return RefView(*this, index); }
RefView Ref::operator[](const Index& index) const { return RefView(*this, {index}); }

Ref Ref::slice(std::initializer_list<Index> index) const { return at(std::vector<Index>(index)); }

Ref Ref::at(const std::vector<Index>& index) const {
  const Location at = index.empty() ? Location() : index[0].at;
  lang::SourceLocationScope place(at);
  lang::Trace& trace = lang::kernelTrace("ref.at");
  const lang::Indexer indexer = lang::makeIndexer(shape(), index);
  if (indexer.isWhole(shape())) return *this;
  return trace.recordRef(lang::kRefOps["ref_slice"], lang::operandsOf(trace, *this, indexer),
                         {dtype(), indexer.shape()}, memory_space(), {{"index", indexer.encode()}});
}

Ref Ref::bitcast(DType to, Location at) const {
  lang::SourceLocationScope place(at);
  lang::Trace& trace = lang::kernelTrace("ref.bitcast");
  Shape to_shape = shape();
  const int64_t from = bit_width(dtype()), width = bit_width(to);
  if (from != width) {
    const bool fits = rank() >= 2 && (dim(-2) * from) % width == 0;
    if (!fits)
      lang::refuse({.code = "SM6113",
                    .message = rank() < 2 ? "bitcast of a Ref of one axis changes the width of its elements"
                                          : "the second-minor axis cannot be perfectly packed or unpacked",
                    .place = {},
                    .need = fmt::format("rows of axis -2 times {} bits divisible by {} bits", from, width),
                    .have = fmt::format("shape [{}] of {}", fmt::join(shape(), ", "), smalti::name(dtype())),
                    .help = "bitcast to a type of the same width, or take a block with more rows"});
    to_shape[rank() - 2] = dim(-2) * from / width;
  }
  return trace.recordRef(lang::kRefOps["ref_bitcast"], {trace.use(*this)}, {to, std::move(to_shape)}, memory_space());
}

Ref Ref::reshape(Shape to, Location at) const {
  lang::SourceLocationScope place(at);
  lang::Trace& trace = lang::kernelTrace("ref.reshape");
  const int64_t elements = num_elements(shape());
  const std::optional<Shape> whole = lang::resolveShape(to, elements);
  if (!whole)
    lang::refuse({.code = "SM6114",
                  .message = "reshape of a Ref to a different number of elements",
                  .place = {},
                  .need = fmt::format("{} elements", elements),
                  .have = fmt::format("shape [{}]", fmt::join(to, ", ")),
                  .help = "keep the number of elements; one axis may be -1"});
  return trace.recordRef(lang::kRefOps["ref_reshape"], {trace.use(*this)}, {dtype(), *whole}, memory_space());
}

RefView::RefView(Ref ref, std::vector<Index> index) : ref_(std::move(ref)), index_(std::move(index)) {
  lang::SourceLocationScope place(index_.at(0).at);
  value_ = lang::get(ref_, lang::makeIndexer(ref_.shape(), index_));
}

RefView::RefView(const RefView&) = default;
RefView::~RefView() = default;

const RefView& RefView::operator=(const Operand& value) const {
  lang::SourceLocationScope place(value.at());
  lang::swapIn(ref_, lang::makeIndexer(ref_.shape(), index_), value, nullptr);
  return *this;
}
const RefView& RefView::operator=(const RefView& value) const {
  return *this = Operand(value.value(), index_.at(0).at);
}

const RefView& RefView::operator+=(const Operand& v) const {
  return *this = Operand(add(Operand(value_, v.at()), v), v.at());
}
const RefView& RefView::operator-=(const Operand& v) const {
  return *this = Operand(subtract(Operand(value_, v.at()), v), v.at());
}
const RefView& RefView::operator*=(const Operand& v) const {
  return *this = Operand(multiply(Operand(value_, v.at()), v), v.at());
}
const RefView& RefView::operator/=(const Operand& v) const {
  return *this = Operand(divide(Operand(value_, v.at()), v), v.at());
}
const RefView& RefView::operator|=(const Operand& v) const {
  return *this = Operand(bitwise_or(Operand(value_, v.at()), v), v.at());
}
const RefView& RefView::operator&=(const Operand& v) const {
  return *this = Operand(bitwise_and(Operand(value_, v.at()), v), v.at());
}
const RefView& RefView::operator^=(const Operand& v) const {
  return *this = Operand(bitwise_xor(Operand(value_, v.at()), v), v.at());
}

Array load(const Ref& ref, Location at) {
  lang::SourceLocationScope place(at);
  return lang::get(ref, lang::makeIndexer(ref.shape(), {}));
}
void store(const Ref& ref, const Operand& value) {
  lang::SourceLocationScope place(value.at());
  lang::swapIn(ref, lang::makeIndexer(ref.shape(), {}), value, nullptr);
}
void store(const Ref& ref, const Operand& value, const Operand& mask) {
  lang::SourceLocationScope place(value.at());
  lang::swapIn(ref, lang::makeIndexer(ref.shape(), {}), value, &mask);
}
Array swap(const Ref& ref, const Operand& value) {
  lang::SourceLocationScope place(value.at());
  return lang::swapIn(ref, lang::makeIndexer(ref.shape(), {}), value, nullptr);
}

}  // namespace smalti
