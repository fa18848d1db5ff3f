// scan: a loop over the slices of arrays, in programs a fori_loop that cuts them out and puts its results together.
#include "lang/control/Scan.h"

#include <cstring>

#include <fmt/format.h>

#include "base/Text.h"
#include "lang/ops/Support.h"
#include "lang/trace/HasValue.h"
#include "lang/trace/SourceLocationScope.h"
#include "lang/transform/Batch.h"
#include "lang/transform/ControlFlow.h"
#include "lang/transform/Depth.h"
#include "smalti/control.h"
#include "smalti/error.h"
#include "smalti/ops.h"

namespace smalti::lang {
namespace {

struct Steps {
  size_t numCarry;
  int64_t length;
  bool reverse;
  explicit Steps(const OpCall& call)
      : numCarry(static_cast<size_t>(call.attribute<int64_t>("num_carry"))),
        length(call.attribute<int64_t>("length")),
        reverse(call.attribute<bool>("reverse")) {}
};

/// Row `i` of an array along axis 0, without a copy.
Array row(const Array& a, int64_t i) {
  ArrayType type = a.type();
  type.shape.erase(type.shape.begin());
  auto* data = const_cast<std::byte*>(a.data());
  const auto owner = std::make_shared<Array>(a);
  return Array::view(type, data ? data + i * type.bytes() : nullptr, owner);
}

std::vector<Array> runScan(const OpCall& call) {
  const Steps s(call);
  for (const Array& a : call.operands) checkConcrete(a);
  std::vector<Array> carry(call.operands.begin(), call.operands.begin() + s.numCarry), stacked;
  for (size_t i = s.numCarry; i < call.settled->size(); ++i) {
    auto made = Array::allocate((*call.settled)[i]);
    if (!made) {
      const SourceLocationScope place(call.location());
      refuse(std::move(made.error()));
    }
    stacked.push_back(std::move(*made));
  }
  for (int64_t k = 0; k < s.length; ++k) {
    const int64_t i = s.reverse ? s.length - 1 - k : k;
    std::vector<Array> inside = carry;
    for (size_t x = s.numCarry; x < call.operands.size(); ++x) inside.push_back(row(call.operands[x], i));
    const std::vector<Array> next = call.regions[0].body(inside);
    for (size_t c = 0; c < s.numCarry; ++c) carry[c] = next[c];
    for (size_t y = 0; y < stacked.size(); ++y) {
      const Array& slice = next[s.numCarry + y];
      checkConcrete(slice);
      if (slice.bytes() > 0)
        std::memcpy(stacked[y].data() + i * slice.bytes(), slice.data(), static_cast<size_t>(slice.bytes()));
    }
  }
  carry.insert(carry.end(), stacked.begin(), stacked.end());
  return carry;
}

std::vector<Array> expandScan(const OpCall& call) {
  const Steps s(call);
  const Location at = call.location();
  std::vector<Array> init(call.operands.begin(), call.operands.begin() + s.numCarry);
  for (size_t i = s.numCarry; i < call.settled->size(); ++i)
    init.push_back(zeros((*call.settled)[i].shape, (*call.settled)[i].dtype, at));
  if (s.length == 0) return init;  // there is no slice that the body could take
  const auto body = [&](const Array& k, const std::vector<Array>& carried) {
    Array i = k;
    std::vector<Array> inside(carried.begin(), carried.begin() + static_cast<ptrdiff_t>(s.numCarry));
    {
      const SourceLocationScope place(at);
      if (s.reverse) i = subtract(astype(s.length - 1, DType::i32), k);
      for (size_t x = s.numCarry; x < call.operands.size(); ++x) {
        const Array slice = dynamicSlice(call.operands[x], 0, i, 1);
        inside.push_back(reshapeTo(slice, {slice.shape().begin() + 1, slice.shape().end()}));
      }
    }
    std::vector<Array> next = call.regions[0].body(inside);
    const SourceLocationScope place(at);
    for (size_t y = s.numCarry; y < next.size(); ++y) {
      Shape one = next[y].shape();
      one.insert(one.begin(), 1);
      next[y] = dynamicUpdate(carried[y], reshapeTo(next[y], one), 0, i);
    }
    return next;
  };
  return detail::fori_loop(Operand(0, at), Operand(s.length, at), 1, 1, body, init, at);
}

std::string scanTypes(const TypedOp& op) {
  const int64_t carries = op.integer("num_carry", -1), length = op.integer("length", -1);
  if (carries < 0 || carries > op.numOperands() || carries > op.numResults() || length < 0)
    return "has no number of carries or of steps";
  for (int i = 0; i < carries; ++i)
    if (op.operand(i) != op.result(i)) return fmt::format("turns {} into {}", op.operand(i).str(), op.result(i).str());
  for (int i = static_cast<int>(carries); i < op.numOperands(); ++i)
    if (op.operand(i).shape.empty() || op.operand(i).shape[0] != length)
      return fmt::format("scans {} in {} steps", op.operand(i).str(), length);
  return "";
}

constexpr OpTable kScanOps{
    OpRecord{.name = "scan", .types = scanTypes, .run = runScan, .expand = expandScan, .control = &kScanRules},
};
const OpFamily kScanFamily(kScanOps);

}  // namespace

const OpRecord& scanRecord() { return kScanOps["scan"]; }

std::vector<Array> bindScan(std::span<const Array> operands, size_t numCarry, int64_t length, bool reverse,
                            const std::vector<ArrayType>& results, const Region& region, const Location& at) {
  return bindRegions(kScanOps["scan"], operands, results, {&region, 1}, at,
                     {{"num_carry", static_cast<int64_t>(numCarry)}, {"length", length}, {"reverse", reverse}});
}

}  // namespace smalti::lang

namespace smalti {

using lang::SourceLocationScope;

namespace {

/// The number of steps; error SM6124.
int64_t lengthOf(const detail::Arrays& xs, std::optional<int64_t> length) {
  for (const Array& x : xs) {
    const int64_t have = x.rank() == 0 ? -1 : x.shape()[0];
    if (have < 0 || (length && *length != have))
      lang::refuse(
          {.code = "SM6124",
           .message = have < 0 ? "scan cannot take slices of a scalar" : "scan over arrays of different lengths",
           .place = {},
           .need = have < 0 ? "arrays with an axis of steps first" : counted(*length, "step"),
           .have = x.type().str(),
           .help = "the leading axis of each scanned array is the steps"});
    length = have;
  }
  if (!length || *length < 0)
    lang::refuse({.code = "SM6124",
                  .message = "a scan without arrays needs a number of steps",
                  .place = {},
                  .need = "an array to scan, or a length",
                  .have = length ? fmt::format("length {}", *length) : "neither",
                  .help = "pass {.length = n}, or use fori_loop"});
  if (*length > INT32_MAX)
    lang::refuse({.code = "SM6124",
                  .message = "a scan has more steps than an i32 counts",
                  .place = {},
                  .need = counted(INT32_MAX, "step") + " at most",
                  .have = fmt::format("{}", *length),
                  .help = "put a loop inside the step of a shorter scan"});
  return *length;
}

}  // namespace

namespace {

/// The types of the results and arguments of a scan's body, from a trace that is thrown away; then no carry is to be
/// converted. Else the weakly typed carries that the body returns with another dtype, and that dtype. Error SM6122.
std::vector<std::pair<size_t, DType>> typesOfScan(const detail::Arrays& carries, const detail::Arrays& xs,
                                                  int64_t length, const detail::ScanBody& body, const Location& at,
                                                  std::vector<ArrayType>& types, std::vector<ArrayType>& arguments) {
  lang::Trace trace("the body of a scan", lang::Trace::Kind::function);
  detail::Arrays inside, slices;
  for (const Array& c : carries) inside.push_back(trace.addArgument(c.type()).with_weak_type(c.weak_type()));
  for (const Array& x : xs) slices.push_back(trace.addArgument({x.dtype(), {x.shape().begin() + 1, x.shape().end()}}));
  const auto [next, ys] = body(inside, slices);
  SourceLocationScope place(at);
  if (next.size() != carries.size())
    lang::refuse({.code = "SM6122",
                  .message = "the body of a scan returns a different number of values than it carries",
                  .place = {},
                  .need = counted(carries.size(), "value"),
                  .have = fmt::format("{}", next.size()),
                  .help = "return one value for each that the scan started with"});
  std::vector<std::pair<size_t, DType>> changed;
  for (size_t i = 0; i < carries.size(); ++i) {
    if (next[i].type() == carries[i].type()) continue;
    if (!carries[i].weak_type() || next[i].weak_type() || next[i].shape() != carries[i].shape())
      lang::refuse({.code = "SM6122",
                    .message = fmt::format("the body of a scan changes the type of carry {}", i),
                    .place = {},
                    .need = carries[i].type().str(),
                    .have = next[i].type().str(),
                    .help = "start the scan with the type that the body returns, or convert with astype"});
    changed.emplace_back(i, next[i].dtype());
  }
  if (!changed.empty()) return changed;
  for (const Array& c : carries) types.push_back(c.type());
  arguments = types;
  for (const Array& x : slices) arguments.push_back(x.type());
  for (const Array& y : ys) types.push_back(lang::batchedType(y.type(), length));
  return {};
}

}  // namespace

detail::Arrays detail::scan(const ScanBody& body, const Arrays& init, const Arrays& xs, const ScanOptions& options,
                            const Location& at) {
  int64_t length = 0;
  {
    SourceLocationScope place(at);
    length = lengthOf(xs, options.length);
  }
  const lang::Depth depth(at, lang::Depth::Of::control);
  // The types of the carries and of what a step gives. A body that changes the dtype of weakly typed carries is traced
  // again with these converted.
  Arrays carries = init;
  std::vector<ArrayType> types, arguments;
  for (auto changed = typesOfScan(carries, xs, length, body, at, types, arguments); !changed.empty();
       changed = typesOfScan(carries, xs, length, body, at, types, arguments))
    for (const auto& [i, dtype] : changed) carries[i] = astype(Operand(carries[i], at), dtype);
  const size_t n = carries.size();
  const lang::Region region{arguments, [&](std::span<const Array> inside) {
                              Arrays carry(inside.begin(), inside.begin() + static_cast<ptrdiff_t>(n));
                              for (size_t i = 0; i < n; ++i) carry[i] = carry[i].with_weak_type(carries[i].weak_type());
                              auto [next, ys] = body(carry, {inside.begin() + static_cast<ptrdiff_t>(n), inside.end()});
                              next.insert(next.end(), ys.begin(), ys.end());
                              return next;
                            }};
  Arrays operands = carries;
  operands.insert(operands.end(), xs.begin(), xs.end());
  return lang::bindScan(operands, n, length, options.reverse, types, region, at);
}

}  // namespace smalti
