// Refs: reading, writing, slicing (D1–D7). Each is one op of the trace: "get", "swap" (which gives what was there),
// "ref_slice", "ref_bitcast", "ref_reshape".
#include "smalti/ref.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lang/ops/Support.h"
#include "lang/refs/Indexer.h"
#include "lang/trace/KernelOnly.h"
#include "lang/trace/Place.h"
#include "lang/trace/Trace.h"
#include "smalti/error.h"
#include "smalti/ops.h"

namespace smalti {
namespace lang {
namespace {

std::vector<ValueId> operandsOf(Trace& trace, const Ref& ref, const Indexer& indexer) {
  std::vector<ValueId> ids{trace.use(ref)};
  for (const Array& a : indexer.dynamic) ids.push_back(trace.use(a));
  return ids;
}

Array get(const Ref& ref, const Indexer& indexer) {
  Trace& trace = kernelTrace("reading a Ref");
  const ArrayType type{ref.dtype(), indexer.shape()};
  return trace.record("get", operandsOf(trace, ref, indexer), {&type, 1}, {{"index", indexer.encode()}})[0];
}

/// The value as the Ref holds it: weak numbers take the Ref's dtype, smaller shapes are broadcast (S-D2).
Array fit(const Operand& value, const ArrayType& type) {
  Array v = value.array();
  if (v.dtype() != type.dtype) {
    if (!v.weak_type())
      refuse({.code = "SM6112",
              .message = "a value of another dtype is stored into a Ref",
              .place = {},
              .need = std::string(name(type.dtype)),
              .have = std::string(name(v.dtype())),
              .help = fmt::format("convert it: astype(value, {})", name(type.dtype))});
    v = astype(v, type.dtype);
  }
  if (v.shape() == type.shape) return v;
  return broadcast_to(v, type.shape);
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
  return trace.record("swap", std::move(ids), {&type, 1}, std::move(attributes))[0];
}

}  // namespace
}  // namespace lang

Operand::Operand(const RefView& view, Location at) : array_(view.value()), at_(at) {}

Operand::Operand(const Ref& ref, Location at) : at_(at) {
  lang::AtPlace place(at);
  lang::refuse({.code = "SM6103",
                .message = "a Ref is passed to an op",
                .place = {},
                .need = "the value it holds",
                .have = ref.node() ? fmt::format("Ref {}", ref.node()->type.str()) : "an empty Ref",
                .help = "did you forget to read it? ref[_] is its value"});
}

Index::Index(const RefView& scalar, Location at) : kind(Kind::scalar), scalar(scalar.value()), at(at) {}

Slice ds(const Operand& start, const Operand& size, int64_t stride) {
  return {start.array(), size.array(), stride, start.at()};
}

const Shape& Ref::shape() const {
  static const Shape kEmpty;
  return node_ ? node_->type.shape : kEmpty;
}
DType Ref::dtype() const { return node_ ? node_->type.dtype : DType::f32; }
MemorySpace Ref::memory_space() const { return node_ ? node_->space : MemorySpace::unspecified; }
int64_t Ref::dim(int64_t axis) const {
  if (axis < 0) axis += rank();
  return axis < 0 || axis >= rank() ? 0 : shape()[axis];
}

RefView Ref::operator[](std::initializer_list<Index> index) const { return RefView(*this, index); }
#if !defined(__cpp_multidimensional_subscript)
RefView Ref::operator[](const Index& index) const { return RefView(*this, {index}); }
#endif

Ref Ref::slice(std::initializer_list<Index> index) const { return at(std::vector<Index>(index)); }

Ref Ref::at(const std::vector<Index>& index) const {
  const Location at = index.empty() ? Location() : index[0].at;
  lang::AtPlace place(at);
  lang::Trace& trace = lang::kernelTrace("ref.at");
  const lang::Indexer indexer = lang::makeIndexer(shape(), index);
  if (indexer.isWhole(shape())) return *this;
  return trace.recordRef("ref_slice", lang::operandsOf(trace, *this, indexer), {dtype(), indexer.shape()},
                         memory_space(), {{"index", indexer.encode()}});
}

Ref Ref::bitcast(DType to, Location at) const {
  lang::AtPlace place(at);
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
  return trace.recordRef("ref_bitcast", {trace.use(*this)}, {to, std::move(to_shape)}, memory_space());
}

Ref Ref::reshape(Shape to, Location at) const {
  lang::AtPlace place(at);
  lang::Trace& trace = lang::kernelTrace("ref.reshape");
  const int64_t elements = num_elements(shape());
  const std::optional<Shape> whole = lang::resolveShape(to, elements);
  if (!whole)
    lang::refuse({.code = "SM6114",
                  .message = "reshape of a Ref to another number of elements",
                  .place = {},
                  .need = fmt::format("{} elements", elements),
                  .have = fmt::format("shape [{}]", fmt::join(to, ", ")),
                  .help = "keep the number of elements; one axis may be -1"});
  return trace.recordRef("ref_reshape", {trace.use(*this)}, {dtype(), *whole}, memory_space());
}

RefView::RefView(Ref ref, std::vector<Index> index) : ref_(std::move(ref)), index_(std::move(index)) {
  lang::AtPlace place(index_.at(0).at);
  value_ = lang::get(ref_, lang::makeIndexer(ref_.shape(), index_));
}

const RefView& RefView::operator=(const Operand& value) const {
  lang::AtPlace place(value.at());
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
  lang::AtPlace place(at);
  return lang::get(ref, lang::makeIndexer(ref.shape(), {}));
}
void store(const Ref& ref, const Operand& value) {
  lang::AtPlace place(value.at());
  lang::swapIn(ref, lang::makeIndexer(ref.shape(), {}), value, nullptr);
}
void store(const Ref& ref, const Operand& value, const Operand& mask) {
  lang::AtPlace place(value.at());
  lang::swapIn(ref, lang::makeIndexer(ref.shape(), {}), value, &mask);
}
Array swap(const Ref& ref, const Operand& value) {
  lang::AtPlace place(value.at());
  return lang::swapIn(ref, lang::makeIndexer(ref.shape(), {}), value, nullptr);
}

}  // namespace smalti
