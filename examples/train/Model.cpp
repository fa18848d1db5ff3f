#include "Model.h"

#include "smalti/kernels/gradients.h"

namespace train {
namespace {

using pl::Array, pl::Shape;
namespace kernels = pl::kernels;

/// Scaled, shifted rows; the kernels' derivatives are kernels too.
Array norm(const Array& x, const Array& scale, const Array& shift) {
  return kernels::layer_norm_with_gradient(x, scale, shift);
}
Array product(const Array& x, const Array& w) { return kernels::matmul_with_gradient(x, w); }

/// Of x [batch * context, width]: every position attends to itself and those before it.
Array attention(const Layer& layer, const Array& x, const Config& c) {
  const Array qkv = pl::transpose(pl::reshape(product(x, layer.qkv), {c.batch, c.context, 3, c.heads, c.head_size()}),
                                  {2, 0, 3, 1, 4});
  const auto part = [&](int64_t i) {
    const Shape one{c.batch, c.heads, c.context, c.head_size()};
    return pl::reshape(pl::slice(qkv, {i, 0, 0, 0, 0}, {i + 1, one[0], one[1], one[2], one[3]}), one);
  };
  const Array attended = kernels::flash_attention_with_gradient(part(0), part(1), part(2), {.causal = true});
  return product(pl::reshape(pl::transpose(attended, {0, 2, 1, 3}), x.shape()), layer.out);
}

}  // namespace

Model random_model(const Config& c, int seed) {
  pl::Key key = pl::random_key(seed);
  const auto weights = [&](Shape shape) {
    const std::vector<pl::Key> keys = pl::split(key);
    key = keys[0];
    return pl::normal(keys[1], std::move(shape)) * 0.02f;
  };
  Model m;
  m.embedding = weights({c.vocabulary, c.width});
  m.positions = weights({c.context, c.width});
  const Array one = pl::ones({c.width}), zero = pl::zeros({c.width});
  for (int64_t i = 0; i < c.layers; ++i)
    m.layers.push_back({.norm1_scale = one,
                        .norm1_shift = zero,
                        .qkv = weights({c.width, 3 * c.width}),
                        .out = weights({c.width, c.width}),
                        .norm2_scale = one,
                        .norm2_shift = zero,
                        .up = weights({c.width, 4 * c.width}),
                        .down = weights({4 * c.width, c.width})});
  m.norm_scale = one;
  m.norm_shift = zero;
  m.head = weights({c.width, c.vocabulary});
  return m;
}

Array loss(const Model& m, const Array& tokens, const Array& targets, const Config& c) {
  Array x = pl::reshape(pl::take(m.embedding, tokens) + m.positions, {c.batch * c.context, c.width});
  for (const Layer& layer : m.layers) {
    x = x + attention(layer, norm(x, layer.norm1_scale, layer.norm1_shift), c);
    x = x + product(pl::gelu(product(norm(x, layer.norm2_scale, layer.norm2_shift), layer.up)), layer.down);
  }
  const Array scores = pl::log_softmax(product(norm(x, m.norm_scale, m.norm_shift), m.head));
  return -pl::mean(pl::take_along_axis(scores, pl::reshape(targets, {c.batch * c.context, 1}), 1));
}

}  // namespace train
