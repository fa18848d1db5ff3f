#include "Encoder.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "Batch.h"
#include "Layers.h"
#include "smalti/collectives.h"
#include "smalti/error.h"
#include "smalti/ops.h"
#include "smalti/shard_map.h"

namespace smalti::minilm {
namespace {

Array encodeLayer(const Array& x, const Layer& layer, const Array& segments, const Config& config) {
  const Array mixed = attend(linear(x, layer.queryKeyValue), segments, config.heads);
  const Array attended = linearAddNorm(mixed, layer.attended, x, layer.attendedNorm, config.normEpsilon);
  const Array wide = linear(attended, layer.intermediate, Activation::gelu);
  return linearAddNorm(wide, layer.output, attended, layer.outputNorm, config.normEpsilon);
}

/// Of the rows of one device: the weighted sums of its tokens' vectors, which are the means of its texts.
Array encodeRows(const Weights& weights, const Config& config, const Array& ids, const Array& positions,
                 const Array& segments, const Array& meanWeights) {
  Array x = embedTokens(weights, ids, positions, config.normEpsilon);
  for (const Layer& layer : weights.layers) x = encodeLayer(x, layer, segments, config);
  return weightedSums(meanWeights, x);
}

/// The encoder over devices: all of them have the weights, and each some rows of a batch.
class Encoder {
 public:
  Encoder(const Weights& weights, const Config& config, int64_t devices) : weights_(weights), config_(config) {
    if (devices == 1) return;
    Weights copy = weights;
    detail::visit_leaves(copy, [&](const Array& a) { arrays_.emplace_back(a); });
    std::vector<PartitionSpec> specs(arrays_.size(), P());
    specs.insert(specs.end(), {P("batch"), P("batch"), P("batch"), P(std::nullopt, "batch")});
    const auto onDevice = [weights, config](const std::vector<Array>& in) {
      Weights mine = weights;
      auto next = in.begin();
      detail::visit_leaves(mine, [&](Array& a) { a = *next++; });
      return psum(encodeRows(mine, config, next[0], next[1], next[2], next[3]), "batch");
    };
    onDevices_ = shard_map(onDevice, Mesh({{"batch", devices}}), specs, P());
  }

  /// f32 [paddedTexts, hidden]; rows past the last text hold nothing of meaning.
  Array operator()(const Batch& batch) const {
    const Array ids = array(batch.ids, {batch.tokens()}), positions = array(batch.positions, {batch.tokens()});
    const Array segments = array(batch.segments, {batch.rows, batch.rowTokens});
    const Array means = array(batch.meanWeights(), {batch.paddedTexts(), batch.tokens()});
    if (!onDevices_) return normalizeRows(encodeRows(weights_, config_, ids, positions, segments, means));
    std::vector<Operand> operands = arrays_;
    operands.insert(operands.end(), {ids, positions, segments, means});
    return normalizeRows(onDevices_->run(operands)[0]);
  }

 private:
  const Weights& weights_;
  const Config& config_;
  std::vector<Operand> arrays_;
  std::optional<ShardMap> onDevices_;
};

}  // namespace

Result<Array> embeddings(const Weights& weights, const Config& config, std::span<const Tokens> texts, int64_t devices,
                         const std::function<void(size_t)>& progress) {
  auto all = Array::allocate({DType::f32, {static_cast<int64_t>(texts.size()), config.hidden}});
  if (!all) return all;
  const auto rowBytes = static_cast<size_t>(config.hidden) * sizeof(float);
  size_t done = 0;
  const Encoder encode(weights, config, devices);
  for (const Batch& batch : packed(texts, devices)) {
    const auto vectors = attempt([&] { return encode(batch); });
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
