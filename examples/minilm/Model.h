// A model's folder: config.json, vocab.txt and model.safetensors.
#pragma once

#include <string>

#include "Config.h"
#include "Tokenizer.h"
#include "Weights.h"

namespace smalti::minilm {

/// What tokenising needs.
struct TextModel {
  Config config;
  Tokenizer tokenizer;
};

Result<TextModel> readTextModel(const std::string& folder);
Result<Weights> readModelWeights(const std::string& folder, const Config&);

}  // namespace smalti::minilm
