// The weights of a BERT encoder, by the names that its safetensors file gives them, as f32 arrays.
#pragma once

#include <vector>

#include "Config.h"
#include "Safetensors.h"
#include "smalti/array.h"

namespace smalti::minilm {

/// y = x · weight + bias; `weight` is [inputs, outputs], in files the other way round. So rows of x meet rows of it,
/// and no call has to turn it.
struct Linear {
  Array weight, bias;
  template <class F>
  void visit(F&& f) {
    f(weight, bias);
  }
};

struct Norm {
  Array scale, shift;
  template <class F>
  void visit(F&& f) {
    f(scale, shift);
  }
};

struct Layer {
  Linear queryKeyValue;  ///< side by side: one product gives all three
  Linear attended, intermediate, output;
  Norm attendedNorm, outputNorm;
  template <class F>
  void visit(F&& f) {
    f(queryKeyValue, attended, intermediate, output, attendedNorm, outputNorm);
  }
};

struct Weights {
  Array words, positions, types;
  Norm norm;
  std::vector<Layer> layers;
  template <class F>
  void visit(F&& f) {
    f(words, positions, types, norm, layers);
  }
};

/// SM6005 lists every tensor that is missing, of another shape, or not of floating-point elements.
Result<Weights> readWeights(const Safetensors&, const Config&);

}  // namespace smalti::minilm
