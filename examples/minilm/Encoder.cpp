#include "Encoder.h"

#include <algorithm>
#include <cstring>

#include "Batch.h"
#include "Layers.h"
#include "smalti/error.h"
#include "smalti/ops.h"

namespace smalti::minilm {
namespace {

Array encodeLayer(const Array& x, const Layer& layer, const Array& segments, const Config& config) {
  const Array mixed = attend(linear(x, layer.queryKeyValue), segments, config.heads);
  const Array attended = linearAddNorm(mixed, layer.attended, x, layer.attendedNorm, config.normEpsilon);
  const Array wide = linear(attended, layer.intermediate, Activation::gelu);
  return linearAddNorm(wide, layer.output, attended, layer.outputNorm, config.normEpsilon);
}

/// f32 [paddedTexts, hidden]; rows past the last text hold nothing of meaning.
Array encode(const Batch& batch, const Weights& weights, const Config& config) {
  const Array ids = array(batch.ids, {batch.tokens()});
  const Array positions = array(batch.positions, {batch.tokens()});
  const Array segments = array(batch.segments, {batch.rows, batch.rowTokens});
  Array x = embedTokens(weights, ids, positions, config.normEpsilon);
  for (const Layer& layer : weights.layers) x = encodeLayer(x, layer, segments, config);
  return pool(array(batch.meanWeights(), {batch.paddedTexts(), batch.tokens()}), x);
}

}  // namespace

Result<Array> embeddings(const Weights& weights, const Config& config, std::span<const Tokens> texts,
                         const std::function<void(size_t)>& progress) {
  auto all = Array::allocate({DType::f32, {static_cast<int64_t>(texts.size()), config.hidden}});
  if (!all) return all;
  const auto rowBytes = static_cast<size_t>(config.hidden) * sizeof(float);
  size_t done = 0;
  for (const Batch& batch : packed(texts)) {
    const auto vectors = attempt([&] { return encode(batch, weights, config); });
    if (!vectors) return fail(vectors.error());
    for (size_t i = 0; i < batch.places.size(); ++i)
      std::memcpy(all->data() + batch.places[i].text * rowBytes, vectors->data() + i * rowBytes, rowBytes);
    progress(done += batch.places.size());
  }
  return all;
}

Result<Array> similarities(const Array& embeddings) {
  const int64_t rows = embeddings.dim(0), width = embeddings.dim(1);
  return attempt([&] {
    return products(slice(embeddings, {0, 0}, {rows - 1, width}), slice(embeddings, {rows - 1, 0}, {rows, width}));
  });
}

}  // namespace smalti::minilm
