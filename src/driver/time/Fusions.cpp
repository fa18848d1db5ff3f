#include "driver/time/Fusions.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace smalti::driver {
namespace {

/// The bytes stay where they are.
constexpr std::array<std::string_view, 5> kFree{"reshape", "sharding_constraint", "optimization_barrier",
                                                "bitcast_convert", "custom_call"};
/// A pass of its own, though it may compute its operands on the way.
constexpr std::array<std::string_view, 14> kOwn{"reduce",
                                                "dot_general",
                                                "convolution",
                                                "scatter",
                                                "gather",
                                                "sort",
                                                "while",
                                                "reduce_window",
                                                "case",
                                                "if",
                                                "dynamic_update_slice",
                                                "cumsum",
                                                "rng_bit_generator",
                                                "top_k"};

template <size_t n>
bool isOneOf(const std::array<std::string_view, n>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

Fusions::Node Fusions::source(double bytes) {
  values_.push_back({.kind = Kind::source, .operands = {}, .bytes = bytes});
  return static_cast<Node>(values_.size()) - 1;
}

Fusions::Node Fusions::op(const std::string& name, std::vector<Node> operands, double bytes) {
  const Kind kind = isOneOf(kFree, name) ? Kind::free : isOneOf(kOwn, name) ? Kind::own : Kind::fused;
  values_.push_back({.kind = kind, .operands = std::move(operands), .bytes = bytes});
  return static_cast<Node>(values_.size()) - 1;
}

void Fusions::needed(Node n) { values_[static_cast<size_t>(n)].needed = true; }

void Fusions::readsOf(Node n, std::vector<Node>& sources, std::vector<bool>& seen, bool& works) const {
  for (const Node o : values_[static_cast<size_t>(n)].operands) {
    if (seen[static_cast<size_t>(o)]) continue;
    seen[static_cast<size_t>(o)] = true;
    const Value& v = values_[static_cast<size_t>(o)];
    if (v.kind == Kind::source || v.kind == Kind::own || (v.needed && v.kind == Kind::fused)) {
      sources.push_back(o);
      continue;
    }
    works |= v.kind == Kind::fused;
    readsOf(o, sources, seen, works);
  }
}

Fusions::Cost Fusions::cost() const {
  // What is read: needed values, and operands of passes; what nobody reads is not computed.
  std::vector<bool> live(values_.size());
  for (size_t i = values_.size(); i-- > 0;) {
    live[i] = live[i] || values_[i].needed;
    if (!live[i]) continue;
    for (const Node o : values_[i].operands) live[static_cast<size_t>(o)] = true;
  }
  Cost cost;
  for (size_t i = 0; i < values_.size(); ++i) {
    const Value& v = values_[i];
    const bool isPass = live[i] && (v.kind == Kind::own || (v.needed && v.kind != Kind::source));
    if (!isPass) continue;
    std::vector<Node> sources;
    std::vector<bool> seen(values_.size());
    bool works = v.kind != Kind::free;
    readsOf(static_cast<Node>(i), sources, seen, works);
    if (!works) continue;
    ++cost.passes;
    cost.bytes += v.bytes;
    for (const Node s : sources) cost.bytes += values_[static_cast<size_t>(s)].bytes;
  }
  return cost;
}

}  // namespace smalti::driver
