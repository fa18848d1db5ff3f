#include "Layers.h"

#include <cmath>
#include <map>
#include <mutex>

#include "smalti/kernels/flash_attention.h"
#include "smalti/kernels/matmul.h"
#include "smalti/kernels/norm.h"
#include "smalti/kernels/vector_add.h"
#include "smalti/ops.h"

namespace smalti::minilm {
namespace {

/// 0.5 x (1 + erf(x / √2)), as BERT has it.
Array gelu(const Array& x) { return 0.5f * x * (1 + erf(x * static_cast<float>(std::sqrt(0.5)))); }

/// Made once per size: a call that is made again is compiled again.
PallasCall embedCall(int64_t tokens, int64_t width) {
  static std::mutex mutex;
  static std::map<std::pair<int64_t, int64_t>, PallasCall> calls;
  const std::scoped_lock lock(mutex);
  if (const auto known = calls.find({tokens, width}); known != calls.end()) return known->second;
  const auto row = [&](auto map) { return BlockSpec{{squeezed, 1, width}, map}; };
  const PallasCall call =
      pallas_call([](Ref, Ref, Ref word, Ref position, Ref type, Ref out) { out[_] = word[_] + position[_] + type[_]; },
                  {.out_shape = ShapeDtype{{tokens, 1, width}, f32},
                   .grid = {tokens},
                   .in_specs = {row([](auto i, auto ids, auto) { return std::tuple{ids[i], 0, 0}; }),
                                row([](auto i, auto, auto positions) { return std::tuple{positions[i], 0, 0}; }),
                                row([](auto, auto, auto) { return std::tuple{0, 0, 0}; })},
                   .out_specs = {row([](auto i, auto, auto) { return std::tuple{i, 0, 0}; })},
                   .num_scalar_prefetch = 2,
                   .name = "embed_tokens"});
  calls.emplace(std::pair{tokens, width}, call);
  return call;
}

}  // namespace

Array embedTokens(const Weights& w, const Array& ids, const Array& positions, double epsilon) {
  const int64_t tokens = ids.dim(0), width = w.words.dim(1);
  const auto rows = [](const Array& table) { return reshape(table, {table.dim(0), 1, table.dim(1)}); };
  const Array sums = embedCall(tokens, width)(ids, positions, rows(w.words), rows(w.positions), rows(w.types));
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

Array addNorm(const Array& x, const Array& residual, const Norm& n, double epsilon) {
  return norm(kernels::vector_add(x, residual), n, epsilon);
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
