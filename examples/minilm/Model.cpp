#include "Model.h"

#include <algorithm>

#include <fmt/format.h>

namespace smalti::minilm {
namespace {

/// A file of the folder that is not there: say where models come from.
tl::unexpected<Diagnostic> refusal(Diagnostic d) {
  if (d.code == "SM1001" && d.help.empty())
    d.help =
        "--model names a folder with config.json, vocab.txt and model.safetensors; "
        "examples/minilm/get_model.sh fetches one";
  return fail(std::move(d));
}

}  // namespace

Result<TextModel> readTextModel(const std::string& folder) {
  const auto config = readConfig(folder + "/config.json");
  if (!config) return refusal(config.error());
  auto vocabulary = Vocabulary::read(folder + "/vocab.txt");
  if (!vocabulary) return refusal(vocabulary.error());
  if (vocabulary->size() != config->words)
    return fail({.code = "SM6007",
                 .message = "the vocabulary is not that of the model",
                 .place = {.file = folder + "/vocab.txt"},
                 .need = fmt::format("{} tokens, 'vocab_size' of config.json", config->words),
                 .have = fmt::format("{} tokens", vocabulary->size())});
  return TextModel{*config, Tokenizer(std::move(*vocabulary), std::min(kMaxTokens, config->positions))};
}

Result<Weights> readModelWeights(const std::string& folder, const Config& config) {
  const auto file = Safetensors::read(folder + "/model.safetensors");
  if (!file) return refusal(file.error());
  return readWeights(*file, config);
}

}  // namespace smalti::minilm
