// A small transformer that predicts the next character of a text.
#pragma once

#include <cstdint>
#include <vector>

#include "smalti/smalti.h"

namespace train {

namespace pl = smalti;

struct Config {
  int64_t vocabulary = 0, context = 32, width = 64, heads = 2, layers = 2, batch = 8;
  int64_t head_size() const { return width / heads; }
};

struct Layer {
  pl::Array norm1_scale, norm1_shift, qkv, out;  ///< [width] twice, [width, 3 width], [width, width]
  pl::Array norm2_scale, norm2_shift, up, down;  ///< [width] twice, [width, 4 width], [4 width, width]
  template <class F>
  void visit(F&& f) {
    f(norm1_scale, norm1_shift, qkv, out, norm2_scale, norm2_shift, up, down);
  }
};

struct Model {
  pl::Array embedding, positions;  ///< [vocabulary, width], [context, width]
  std::vector<Layer> layers;
  pl::Array norm_scale, norm_shift, head;  ///< [width] twice, [width, vocabulary]
  template <class F>
  void visit(F&& f) {
    f(embedding, positions, layers, norm_scale, norm_shift, head);
  }
};

/// Normal weights of deviation 0.02; scales 1, shifts 0.
Model random_model(const Config&, int seed);
/// Mean cross-entropy in nats: tokens and targets are i32 [batch, context].
pl::Array loss(const Model&, const pl::Array& tokens, const pl::Array& targets, const Config&);

}  // namespace train
