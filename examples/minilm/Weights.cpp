#include "Weights.h"

#include <fmt/format.h>

#include "eval/Elementwise.h"
#include "smalti/ops.h"

namespace smalti::minilm {
namespace {

constexpr size_t kMaxListed = 10;

/// Takes tensors out of a file and remembers what was wrong with them.
class Reader {
 public:
  explicit Reader(const Safetensors& file) : file_(file) {}

  void take(Array& into, const std::string& name, Shape shape) {
    const ArrayType wanted{DType::f32, std::move(shape)};
    if (!file_.contains(name)) return refuse(name, "is missing", wanted, "nothing");
    const ArrayType& have = file_.tensors().at(name).type;
    if (have.shape != wanted.shape) return refuse(name, "has another shape", wanted, have.str());
    if (have.dtype != DType::f32 && have.dtype != DType::f16 && have.dtype != DType::bf16)
      return refuse(name, "has elements that are not weights", wanted, have.str());
    auto stored = file_.array(name);
    if (stored && have.dtype != DType::f32) stored = converted(*stored);
    if (!stored)
      failed_.push_back(stored.error());
    else
      into = std::move(*stored);
  }
  /// One layer, or several of like inputs as one whose outputs stand side by side.
  void take(Linear& into, const std::vector<std::string>& names, int64_t outputs, int64_t inputs) {
    std::vector<Operand> weights, biases;
    for (const std::string& name : names) {
      Array weight, bias;
      take(weight, name + ".weight", {outputs, inputs});
      take(bias, name + ".bias", {outputs});
      weights.emplace_back(weight);
      biases.emplace_back(bias);
    }
    if (ok()) into = {transpose(concatenate(weights)), concatenate(biases)};
  }
  void take(Norm& into, const std::string& name, int64_t size) {
    take(into.scale, name + ".weight", {size});
    take(into.shift, name + ".bias", {size});
  }

  bool ok() const { return failed_.empty(); }
  /// The first fault, the others related to it.
  Status status() const {
    if (ok()) return {};
    Diagnostic first = failed_.front();
    first.related.assign(failed_.begin() + 1, failed_.end());
    return fail(std::move(first));
  }

 private:
  static Result<Array> converted(const Array& stored) {
    auto array = Array::allocate({DType::f32, stored.shape()});
    if (array) eval::findArrayConvert(stored.dtype(), DType::f32)(stored.data(), array->data(), stored.elements());
    return array;
  }

  void refuse(const std::string& name, const char* what, const ArrayType& wanted, std::string have) {
    if (failed_.size() >= kMaxListed) return;
    failed_.push_back({.code = "SM6005",
                       .message = fmt::format("weight '{}' of '{}' {}", name, file_.name(), what),
                       .place = {},
                       .need = wanted.str() + " (or f16, bf16)",
                       .have = std::move(have)});
    if (failed_.size() == 1) failed_[0].help = "the file must belong to the config.json next to it";
  }

  const Safetensors& file_;
  std::vector<Diagnostic> failed_;
};

}  // namespace

Result<Weights> readWeights(const Safetensors& file, const Config& config) {
  Reader reader(file);
  Weights weights;
  const int64_t hidden = config.hidden;
  reader.take(weights.words, "embeddings.word_embeddings.weight", {config.words, hidden});
  reader.take(weights.positions, "embeddings.position_embeddings.weight", {config.positions, hidden});
  reader.take(weights.types, "embeddings.token_type_embeddings.weight", {config.types, hidden});
  reader.take(weights.norm, "embeddings.LayerNorm", hidden);
  for (int64_t i = 0; i < config.layers && reader.ok(); ++i) {
    Layer& layer = weights.layers.emplace_back();
    const std::string at = fmt::format("encoder.layer.{}.", i);
    const std::string self = at + "attention.self.";
    reader.take(layer.queryKeyValue, {self + "query", self + "key", self + "value"}, hidden, hidden);
    reader.take(layer.attended, {at + "attention.output.dense"}, hidden, hidden);
    reader.take(layer.attendedNorm, at + "attention.output.LayerNorm", hidden);
    reader.take(layer.intermediate, {at + "intermediate.dense"}, config.intermediate, hidden);
    reader.take(layer.output, {at + "output.dense"}, hidden, config.intermediate);
    reader.take(layer.outputNorm, at + "output.LayerNorm", hidden);
  }
  if (Status status = reader.status(); !status) return fail(status.error());
  return weights;
}

}  // namespace smalti::minilm
