#include "plain/Collectives.h"

#include <algorithm>
#include <array>

#include "eval/Shape.h"

namespace smalti::plain {
namespace {

/// What every receiver gets.
std::vector<std::vector<Array>> forAll(std::vector<Array> results) {
  std::vector<std::vector<Array>> all;
  all.push_back(std::move(results));
  return all;
}

/// Operand `operand` of every sender, reduced in the senders' order.
Result<Array> reduced(CollectiveCall& call, size_t operand) {
  Array sum = call.sent[0][operand];
  const ArrayType type = sum.type();
  std::vector<Array> none;
  const PlainCall reducer{call.op, call.function, none, {}, 0, call.numerics, call.outer};
  for (size_t s = 1; s < call.sent.size() && type.elements() > 0; ++s) {
    auto next = runLifted(reducer, call.op.regions[0], {std::move(sum), call.sent[s][operand]}, type.shape);
    if (!next) return fail(std::move(next.error()));
    sum = std::move((*next)[0]);
  }
  return sum;
}

/// Part `part` of the `parts` along a dimension.
Result<Array> partAlong(const Array& array, int64_t dim, int64_t part, int64_t parts) {
  ArrayType type = array.type();
  type.shape[dim] /= parts;
  auto piece = Array::allocate(type);
  if (!piece || piece->elements() == 0) return piece;
  std::vector<int64_t> starts(type.shape.size(), 0);
  starts[dim] = part * type.shape[dim];
  eval::slice(in(array), starts, std::vector<int64_t>(type.shape.size(), 1), out(*piece));
  return piece;
}

Result<Array> joined(const std::vector<Array>& parts, int64_t dim, const ArrayType& type) {
  auto whole = Array::allocate(type);
  if (!whole || whole->elements() == 0) return whole;
  std::vector<eval::Input> inputs;
  for (const Array& part : parts) inputs.push_back(in(part));
  eval::concatenate(inputs, static_cast<int>(dim), out(*whole));
  return whole;
}

CollectiveResults allReduce(CollectiveCall& call) {
  std::vector<Array> sums;
  for (size_t i = 0; i < call.results.size(); ++i) {
    auto sum = reduced(call, i);
    if (!sum) return fail(std::move(sum.error()));
    sums.push_back(std::move(*sum));
  }
  return forAll(std::move(sums));
}

CollectiveResults reduceScatter(CollectiveCall& call) {
  const auto sum = reduced(call, 0);
  if (!sum) return fail(sum.error());
  std::vector<std::vector<Array>> parts;
  const auto n = static_cast<int64_t>(call.sent.size());
  for (int64_t p = 0; p < n; ++p) {
    auto part = partAlong(*sum, call.typed().integer("scatter_dimension"), p, n);
    if (!part) return fail(std::move(part.error()));
    parts.push_back(one(std::move(*part)).value());
  }
  return parts;
}

CollectiveResults allGather(CollectiveCall& call) {
  std::vector<Array> gathered;
  for (size_t i = 0; i < call.results.size(); ++i) {
    std::vector<Array> parts;
    for (const auto& operands : call.sent) parts.push_back(operands[i]);
    auto whole = joined(parts, call.typed().integer("all_gather_dim"), call.results[i]);
    if (!whole) return fail(std::move(whole.error()));
    gathered.push_back(std::move(*whole));
  }
  return forAll(std::move(gathered));
}

CollectiveResults allToAll(CollectiveCall& call) {
  const int64_t split = call.typed().integer("split_dimension"), concat = call.typed().integer("concat_dimension");
  const auto n = static_cast<int64_t>(call.sent.size());
  std::vector<std::vector<Array>> received(call.sent.size());
  for (int64_t to = 0; to < n; ++to)
    for (size_t i = 0; i < call.results.size(); ++i) {
      std::vector<Array> parts;
      for (const auto& operands : call.sent) {
        auto part = partAlong(operands[i], split, to, n);
        if (!part) return fail(std::move(part.error()));
        parts.push_back(std::move(*part));
      }
      auto whole = joined(parts, concat, call.results[i]);
      if (!whole) return fail(std::move(whole.error()));
      received[static_cast<size_t>(to)].push_back(std::move(*whole));
    }
  return received;
}

/// One sender, and what it sends.
CollectiveResults asSent(CollectiveCall& call) { return forAll(std::move(call.sent[0])); }

struct CollectiveRow {
  std::string_view op;
  CollectiveEvaluator evaluate;
};
constexpr std::array kCollectives{
    CollectiveRow{"all_gather", allGather},      CollectiveRow{"all_reduce", allReduce},
    CollectiveRow{"all_to_all", allToAll},       CollectiveRow{"collective_broadcast", asSent},
    CollectiveRow{"collective_permute", asSent}, CollectiveRow{"reduce_scatter", reduceScatter},
};

}  // namespace

CollectiveEvaluator findCollective(std::string_view op) {
  const auto row = std::find_if(kCollectives.begin(), kCollectives.end(), [&](auto& r) { return r.op == op; });
  return row == kCollectives.end() ? nullptr : row->evaluate;
}

}  // namespace smalti::plain
