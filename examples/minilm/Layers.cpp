#include "Layers.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>

#include "smalti/kernels/blocks.h"
#include "smalti/kernels/flash_attention.h"
#include "smalti/kernels/matmul.h"
#include "smalti/kernels/norm.h"
#include "smalti/ops.h"

namespace smalti::minilm {
namespace {

/// 0.5 x (1 + erf(x / √2)), as BERT has it.
Array gelu(const Array& x) { return 0.5f * x * (1 + erf(x * static_cast<float>(std::sqrt(0.5)))); }

using Sizes = std::vector<int64_t>;

/// Made once per size: a call that is made again is compiled again.
template <class Make>
PallasCall madeOnce(Make make, const Sizes& sizes, double epsilon = 0) {
  static std::mutex mutex;
  static std::map<std::pair<Sizes, double>, PallasCall> calls;
  const std::scoped_lock lock(mutex);
  const auto known = calls.find({sizes, epsilon});
  return known != calls.end() ? known->second : calls.emplace(std::pair{sizes, epsilon}, make()).first->second;
}

PallasCall embedCall(int64_t tokens, int64_t width) {
  const auto row = [&](auto map) { return BlockSpec{{squeezed, 1, width}, map}; };
  return pallas_call(
      [](Ref, Ref, Ref word, Ref position, Ref type, Ref out) { out[_] = word[_] + position[_] + type[_]; },
      {.out_shape = ShapeDtype{{tokens, 1, width}, f32},
       .grid = {tokens},
       .in_specs = {row([](auto i, auto ids, auto) { return std::tuple{ids[i], 0, 0}; }),
                    row([](auto i, auto, auto positions) { return std::tuple{positions[i], 0, 0}; }),
                    row([](auto, auto, auto) { return std::tuple{0, 0, 0}; })},
       .out_specs = {row([](auto i, auto, auto) { return std::tuple{i, 0, 0}; })},
       .num_scalar_prefetch = 2,
       .name = "embed_tokens"});
}

/// Rows of x · weight + bias + residual, normalised: all columns of a row are computed at once.
PallasCall linearAddNormCall(int64_t tokens, int64_t inputs, int64_t width, float epsilon) {
  // Several programs, so that cores can share them.
  const int64_t rows = kernels::block_along(tokens, std::clamp<int64_t>(tokens / 2, 64, 512));
  const auto part = [&](int64_t columns) {
    return BlockSpec{{rows, columns}, [](auto i) { return std::tuple{i, 0}; }};
  };
  const auto all = [&](int64_t height) { return BlockSpec{{height, width}, [](auto) { return std::tuple{0, 0}; }}; };
  auto kernel = [=](Ref x, Ref weight, Ref bias, Ref residual, Ref scale, Ref shift, Ref o) {
    const auto mean = [&](const Array& v) {
      return sum(v, {.axes = {1}, .keepdims = true}) / static_cast<float>(width);
    };
    const Array v = dot(x[_], weight[_]) + bias[_] + residual[_], centred = v - mean(v);
    o[_] = centred * rsqrt(mean(centred * centred) + epsilon) * scale[_] + shift[_];
  };
  return pallas_call(kernel, {.out_shape = ShapeDtype{{tokens, width}, f32},
                              .grid = {cdiv(tokens, rows)},
                              .in_specs = {part(inputs), all(inputs), all(1), part(width), all(1), all(1)},
                              .out_specs = {part(width)},
                              .name = "linear_add_norm",
                              .compiler_params = {.dimension_semantics = {parallel}}});
}

}  // namespace

Array embedTokens(const Weights& w, const Array& ids, const Array& positions, double epsilon) {
  const int64_t tokens = ids.dim(0), width = w.words.dim(1);
  const auto rows = [](const Array& table) { return reshape(table, {table.dim(0), 1, table.dim(1)}); };
  const PallasCall call = madeOnce([&] { return embedCall(tokens, width); }, {tokens, width});
  const Array sums = call(ids, positions, rows(w.words), rows(w.positions), rows(w.types));
  return norm(reshape(sums, {tokens, width}), w.norm, epsilon);
}

Array linear(const Array& x, const Linear& l, Activation activation) {
  kernels::MatmulOptions options{.bias = l.bias};
  if (activation == Activation::gelu) options.activation = gelu;
  return kernels::matmul(x, l.weight, options);
}

Array norm(const Array& x, const Norm& n, double epsilon) {
  kernels::NormOptions options;
  options.epsilon = static_cast<float>(epsilon);
  return kernels::layer_norm(x, n.scale, n.shift, options);
}

Array linearAddNorm(const Array& x, const Linear& l, const Array& residual, const Norm& n, double epsilon) {
  const int64_t tokens = x.dim(0), inputs = x.dim(1), width = l.weight.dim(1);
  const auto make = [&] { return linearAddNormCall(tokens, inputs, width, static_cast<float>(epsilon)); };
  const auto row = [&](const Array& a) { return reshape(a, {1, width}); };
  return madeOnce(make, {tokens, inputs, width}, epsilon)(x, l.weight, row(l.bias), residual, row(n.scale),
                                                          row(n.shift));
}

Array attend(const Array& q, const Array& k, const Array& v, const Array& segments, int64_t heads) {
  const int64_t rows = segments.dim(0), tokens = segments.dim(1), width = q.dim(1);
  const auto perHead = [&](const Array& x) {
    return transpose(reshape(x, {rows, tokens, heads, width / heads}), {0, 2, 1, 3});
  };
  const Array mixed = kernels::flash_attention(perHead(q), perHead(k), perHead(v),
                                               {.query_segments = segments, .key_segments = segments});
  return reshape(transpose(mixed, {0, 2, 1, 3}), {rows * tokens, width});
}

Array pool(const Array& means, const Array& x) {
  const int64_t width = x.dim(1);
  kernels::NormOptions options;
  options.epsilon = 1e-24f;  // rows without a text are 0
  return kernels::rms_norm(kernels::matmul(means, x), full({width}, 1 / std::sqrt(static_cast<float>(width))), options);
}

Array products(const Array& x, const Array& y) { return kernels::matmul(x, y, {.transpose_y = true}); }

}  // namespace smalti::minilm
