#include "Layers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>

#include "smalti/kernels/blocks.h"
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

/// A program takes some heads of a text: as many as have 128 columns, which is what a TPU's blocks are made of.
PallasCall attendCall(int64_t rows, int64_t tokens, int64_t heads, int64_t size) {
  const int64_t wanted = size < 128 ? 128 / size : 1, together = heads % wanted ? heads : wanted;
  const int64_t programs = heads / together, columns = together * size, queries = kernels::block_along(tokens, 128);
  // Powers of 2 are cheaper than of e. Compared with a row's largest, 1, those below 2^-100 are nothing; they are 0,
  // since denormal numbers stop some processors.
  constexpr float infinity = std::numeric_limits<float>::infinity(), least = -100;
  const float scale = 1.44269504f / std::sqrt(static_cast<float>(size));
  auto kernel = [=](Ref q, Ref k, Ref v, Ref querySegments, Ref keySegments, Ref o) {
    for (int64_t head = 0; head < together; ++head) {
      const Slice here = ds(head * size, size);
      const Array scores = dot_general(q[{all_of, here}] * scale, k[{all_of, here}], {{1}, {1}});
      const Array masked = where(querySegments[_] == keySegments[_], scores, -infinity);
      const Array under = masked - max(masked, {.axes = {1}, .keepdims = true});
      const Array e = exp2(where(under < least, -infinity, under));
      o[{all_of, here}] = dot(e, v[{all_of, here}]) / sum(e, {.axes = {1}, .keepdims = true});
    }
  };
  // Columns of qkv: all heads' queries, then their keys, then their values.
  const auto all = [&](int64_t first) {
    return BlockSpec{{squeezed, tokens, columns},
                     [=](auto row, auto head, auto) { return std::tuple{row, 0, first + head}; }};
  };
  const BlockSpec part{{squeezed, queries, columns},
                       [](auto row, auto head, auto i) { return std::tuple{row, i, head}; }};
  return pallas_call(
      kernel,
      {.out_shape = ShapeDtype{{rows, tokens, heads * size}, f32},
       .grid = {rows, programs, cdiv(tokens, queries)},
       .in_specs = {part, all(programs), all(2 * programs),
                    BlockSpec{{squeezed, queries, 1}, [](auto row, auto, auto i) { return std::tuple{row, i, 0}; }},
                    BlockSpec{{squeezed, 1, tokens}, [](auto row, auto, auto) { return std::tuple{row, 0, 0}; }}},
       .out_specs = {part},
       .name = "attend",
       .compiler_params = {.dimension_semantics = {parallel, parallel, parallel}}});
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

Array attend(const Array& qkv, const Array& segments, int64_t heads) {
  const int64_t rows = segments.dim(0), tokens = segments.dim(1), width = qkv.dim(1) / 3;
  const PallasCall call =
      madeOnce([&] { return attendCall(rows, tokens, heads, width / heads); }, {rows, tokens, heads, width});
  const Array x = reshape(qkv, {rows, tokens, 3 * width});
  const Array mixed = call(x, x, x, reshape(segments, {rows, tokens, 1}), reshape(segments, {rows, 1, tokens}));
  return reshape(mixed, {rows * tokens, width});
}

Array weightedSums(const Array& weights, const Array& x) { return kernels::matmul(weights, x); }

Array normalizeRows(const Array& x) {
  const int64_t width = x.dim(1);
  kernels::NormOptions options;
  options.epsilon = 1e-24f;
  return kernels::rms_norm(x, full({width}, 1 / std::sqrt(static_cast<float>(width))), options);
}

Array products(const Array& x, const Array& y) { return kernels::matmul(x, y, {.transpose_y = true}); }

}  // namespace smalti::minilm
