// config.json of a BERT encoder: the sizes that its weights and its kernels go by.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "smalti/diagnostic.h"

namespace smalti::minilm {

struct Config {
  int64_t hidden = 0, layers = 0, heads = 0, intermediate = 0;
  int64_t positions = 0, types = 0, words = 0;
  double normEpsilon = 0;
  int64_t headSize() const { return hidden / heads; }
};

/// SM1001, SM6006: a number is missing or makes no sense, or the model is not computed as this program computes it.
Result<Config> readConfig(const std::string& path);
Result<Config> parseConfig(std::string_view text, const std::string& name);

}  // namespace smalti::minilm
