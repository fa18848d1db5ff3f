// From tokens to vectors: BERT's encoder, made of the kernels of kernels/ and of nothing else.
#pragma once

#include <functional>
#include <span>

#include "Config.h"
#include "Tokenizer.h"
#include "Weights.h"
#include "smalti/array.h"

namespace smalti::minilm {

/// f32 [texts, hidden]: the mean over a text's tokens, of length 1. Kernels run on the target in force (use_settings),
/// the rows of a batch divided over `devices` devices. `progress` is called with the number of finished texts.
Result<Array> embeddings(const Weights&, const Config&, std::span<const Tokens> texts, int64_t devices,
                         const std::function<void(size_t)>& progress);

/// f32 [rows]: the cosine of each row but the last with the last.
Result<Array> similarities(const Array& embeddings);

}  // namespace smalti::minilm
