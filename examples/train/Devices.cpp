#include "Devices.h"

namespace train {
namespace {

using pl::Array;

std::pair<Array, Model> local(const Model& model, const Array& tokens, const Array& targets, const Config& c) {
  return pl::value_and_grad([&](const Model& m) { return loss(m, tokens, targets, c); })(model);
}

}  // namespace

std::pair<Array, Model> value_and_gradients(const Model& model, const Array& tokens, const Array& targets,
                                            const Config& c, int64_t devices) {
  if (devices == 1) return local(model, tokens, targets, c);
  Config part = c;
  part.batch = c.batch / devices;
  const auto onEach = [=](const std::vector<Array>& in) {
    Model mine = model;
    size_t next = 0;
    pl::detail::visit_leaves(mine, [&](Array& a) { a = in[next++]; });
    auto [value, gradients] = local(mine, in[next], in[next + 1], part);
    // One message for all of them: between processes each message costs its latency.
    std::vector<pl::Operand> flat{pl::reshape(value, {1})};
    pl::detail::visit_leaves(gradients, [&](Array& a) { flat.push_back(pl::reshape(a, {a.elements()})); });
    const Array means = pl::pmean(pl::concatenate(flat, 0), "batch");
    int64_t at = 1;
    std::vector<Array> results{pl::reshape(pl::slice(means, {0}, {1}), {})};
    pl::detail::visit_leaves(gradients, [&](Array& a) {
      const int64_t n = a.elements();
      results.push_back(pl::reshape(pl::slice(means, {at}, {at + n}), a.shape()));
      at += n;
    });
    return results;
  };
  Model result = model;
  std::vector<pl::Operand> operands;
  pl::detail::visit_leaves(result, [&](Array& a) { operands.emplace_back(a); });
  std::vector<pl::PartitionSpec> specs(operands.size(), pl::P());  // the model is everywhere, the batch in parts
  for (const Array& a : {tokens, targets}) {
    operands.emplace_back(a);
    specs.push_back(pl::P("batch"));
  }
  const pl::Results means = pl::shard_map(onEach, pl::Mesh({{"batch", devices}}), specs, pl::P()).run(operands);
  size_t next = 1;
  pl::detail::visit_leaves(result, [&](Array& a) { a = means[next++]; });
  return {means[0], result};
}

}  // namespace train
