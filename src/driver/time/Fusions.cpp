#include "driver/time/Fusions.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace smalti::driver {
namespace {

/// No bytes move if the dimensions are in memory order.
constexpr std::array<std::string_view, 5> kReshapes{"reshape", "sharding_constraint", "optimization_barrier",
                                                    "bitcast_convert", "custom_call"};
/// A pass of its own, though it may compute its operands on the way.
constexpr std::array<std::string_view, 28> kOwn{"reduce",
                                                "dot_general",
                                                "convolution",
                                                "scatter",
                                                "gather",
                                                "sort",
                                                "reduce_window",
                                                "select_and_scatter",
                                                "case",
                                                "if",
                                                "dynamic_update_slice",
                                                "cumsum",
                                                "rng_bit_generator",
                                                "top_k",
                                                "all_gather",
                                                "all_reduce",
                                                "all_to_all",
                                                "collective_broadcast",
                                                "collective_permute",
                                                "reduce_scatter",
                                                "cholesky",
                                                "fft",
                                                "triangular_solve",
                                                "ApproxTopK",
                                                "Eigh",
                                                "LuDecomposition",
                                                "ProductOfElementaryHouseholderReflectors",
                                                "Qr"};

template <size_t n>
bool isOneOf(const std::array<std::string_view, n>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The layout of the operand of a reshape: dimensions of size 1 may be added or removed, others must keep their order.
HbmLayout beforeReshape(const HbmLayout& layout, const Shape& from, const Shape& to) {
  std::vector<size_t> kept;
  for (size_t d = 0; d < from.size(); ++d)
    if (from[d] != 1) kept.push_back(d);
  HbmLayout out;
  size_t matched = 0;
  std::vector<size_t> sourceDim(to.size(), from.size());
  for (size_t d = 0; d < to.size(); ++d) {
    if (to[d] == 1) continue;
    if (matched == kept.size() || from[kept[matched]] != to[d]) return rowMajor(from.size());
    sourceDim[d] = kept[matched++];
  }
  if (matched != kept.size()) return rowMajor(from.size());
  for (const size_t d : layout)
    if (sourceDim[d] < from.size()) out.push_back(sourceDim[d]);
  for (size_t d = from.size(); d-- > 0;)
    if (from[d] == 1) out.push_back(d);
  return out;
}

}  // namespace

/// The values that a pass reads, and its differences from a plain copy of bytes.
struct Fusions::Chain {
  std::vector<Node> sources;
  std::vector<bool> seen;
  double bytes = 0;
  bool computes = false, reorders = false, movesLanes = false;
};

Fusions::Node Fusions::source(ArrayType type, HbmLayout layout, bool overwritable) {
  values_.push_back(
      {.kind = Kind::source, .type = std::move(type), .layout = std::move(layout), .overwritable = overwritable});
  return static_cast<Node>(values_.size()) - 1;
}

Fusions::Node Fusions::constant(ArrayType type) {
  values_.push_back({.kind = Kind::constant, .type = std::move(type)});
  return static_cast<Node>(values_.size()) - 1;
}

Fusions::Node Fusions::op(const std::string& name, std::vector<Node> operands, ArrayType type,
                          std::vector<int64_t> permutation) {
  const Kind kind = name == "transpose"        ? Kind::transpose
                    : isOneOf(kReshapes, name) ? Kind::reshape
                    : isOneOf(kOwn, name)      ? Kind::own
                                               : Kind::fused;
  const bool inPlace = name == "dynamic_update_slice" && operands.size() > 1 && of(operands[0]).overwritable;
  values_.push_back({.kind = kind,
                     .operands = std::move(operands),
                     .type = std::move(type),
                     .layout = {},
                     .permutation = std::move(permutation),
                     .readsPart = name == "dynamic_slice",
                     .inPlace = inPlace});
  return static_cast<Node>(values_.size()) - 1;
}

void Fusions::needed(Node n) {
  Value& v = values_[static_cast<size_t>(n)];
  v.needed = true;
  if (v.kind != Kind::source) v.layout = rowMajor(v.type.shape.size());
}

void Fusions::returned(Node n) { returned_.push_back(n); }

/// Adds what `n` is computed from, if its result needs `layout` (empty: any layout).
void Fusions::follow(Node n, HbmLayout layout, Chain& chain) const {
  const Value& v = of(n);
  for (const Node o : v.operands) {
    const Value& operand = of(o);
    HbmLayout before = layout;
    if (v.kind == Kind::transpose && !layout.empty() && v.permutation.size() == layout.size()) {
      for (size_t i = 0; i < layout.size(); ++i) before[i] = static_cast<size_t>(v.permutation[layout[i]]);
    } else if (v.kind == Kind::reshape && !layout.empty()) {
      before = beforeReshape(layout, operand.type.shape, v.type.shape);
    } else if (operand.type.shape != v.type.shape || v.kind == Kind::own) {
      before.clear();  // broadcasts, slices, concatenations: XLA chooses
    }
    if (operand.kind == Kind::constant || chain.seen[static_cast<size_t>(o)]) continue;
    if (v.inPlace && o == v.operands[0]) continue;
    const bool inMemory =
        operand.kind == Kind::source || operand.kind == Kind::own || (operand.needed && operand.kind == Kind::fused);
    if (!inMemory) {
      chain.seen[static_cast<size_t>(o)] = true;
      chain.computes |= operand.kind == Kind::fused;
      follow(o, before, chain);
      continue;
    }
    const double whole =
        bytesIn(operand.layout.empty() ? rowMajor(operand.type.shape.size()) : operand.layout, operand.type);
    if (v.readsPart) {  // the rest may be read, too
      chain.bytes += std::min(whole, bytesIn(rowMajor(v.type.shape.size()), v.type));
      continue;
    }
    chain.seen[static_cast<size_t>(o)] = true;
    chain.bytes += whole;
    if (before.empty() || operand.layout.empty()) continue;
    chain.reorders |= !isSame(before, operand.layout, operand.type.shape);
    chain.movesLanes |= driver::movesLanes(before, operand.layout, operand.type.shape);
  }
}

/// Adds the cost of having the value in memory, in `layout` if it is given. `always`: even if it is there already.
void Fusions::pass(Node n, const HbmLayout* layout, bool always, Cost& cost) const {
  const Value& v = of(n);
  const HbmLayout written = layout ? *layout : rowMajor(v.type.shape.size());
  Chain chain;
  chain.seen.resize(values_.size());
  if (v.kind == Kind::source) {
    chain.bytes = bytesIn(v.layout, v.type);
    chain.reorders = !isSame(v.layout, written, v.type.shape);
  } else {
    chain.computes = v.kind == Kind::fused || v.kind == Kind::own;
    follow(n, layout ? written : HbmLayout{}, chain);
  }
  if (!chain.computes && !chain.reorders && !always) return;
  const ArrayType& update = v.inPlace ? of(v.operands[1]).type : v.type;
  const double out = bytesIn(v.inPlace ? rowMajor(update.shape.size()) : written, update);
  ++cost.passes;
  cost.bytes += chain.bytes + out;
  // Other lanes and arithmetic are two passes.
  if (chain.computes && chain.movesLanes) {
    ++cost.passes;
    cost.bytes += 2 * out;
  }
}

Fusions::Cost Fusions::cost() const {
  // Needed values and operands of passes are read; unused values are not computed.
  std::vector<bool> live(values_.size()), isResult(values_.size());
  for (const Node n : returned_) live[static_cast<size_t>(n)] = true;
  for (size_t i = values_.size(); i-- > 0;) {
    live[i] = live[i] || values_[i].needed;
    if (!live[i]) continue;
    for (const Node o : values_[i].operands) live[static_cast<size_t>(o)] = true;
  }
  Cost cost;
  for (size_t i = 0; i < values_.size(); ++i) {
    const Value& v = values_[i];
    if (!live[i] || v.kind == Kind::constant) continue;
    if (v.needed) {
      const HbmLayout layout = rowMajor(v.type.shape.size());
      pass(static_cast<Node>(i), &layout, false, cost);
    } else if (v.kind == Kind::own) {
      pass(static_cast<Node>(i), nullptr, false, cost);
    }
  }
  for (const Node n : returned_) {
    const Value& v = of(n);
    const HbmLayout layout = compact(v.type);
    const bool again = isResult[static_cast<size_t>(n)];
    isResult[static_cast<size_t>(n)] = true;
    if (v.kind == Kind::own && !again) continue;
    pass(n, &layout, again, cost);
  }
  return cost;
}

}  // namespace smalti::driver
