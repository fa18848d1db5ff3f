// Adam with decoupled weight decay: https://arxiv.org/abs/1711.05101, algorithm 2.
#pragma once

#include <cmath>

#include "smalti/smalti.h"

namespace train {

struct AdamW {
  float rate = 1e-3f, beta1 = 0.9f, beta2 = 0.99f, epsilon = 1e-8f, decay = 0.01f;
};

/// The averages of the gradients and of their squares, in the form of the parameters.
template <class Parameters>
struct Moments {
  Parameters first, second;
  template <class F>
  void visit(F&& f) {
    f(first, second);
  }
};

template <class Parameters>
Moments<Parameters> zero_moments(const Parameters& like) {
  const auto zero = [](const smalti::Array& a) { return smalti::zeros_like(a); };
  return {smalti::tree_map(zero, like), smalti::tree_map(zero, like)};
}

/// One step; `step` is f32, the first one is 1.
template <class Parameters>
void update(const AdamW& o, Parameters& parameters, Moments<Parameters>& moments, const Parameters& gradients,
            const smalti::Array& step) {
  const smalti::Array correction1 = 1 - smalti::exp(step * std::log(o.beta1)),
                      correction2 = 1 - smalti::exp(step * std::log(o.beta2));
  using smalti::Array;
  moments.first = smalti::tree_map([&](const Array& m, const Array& g) { return o.beta1 * m + (1 - o.beta1) * g; },
                                   moments.first, gradients);
  moments.second =
      smalti::tree_map([&](const Array& v, const Array& g) { return o.beta2 * v + (1 - o.beta2) * smalti::square(g); },
                       moments.second, gradients);
  parameters = smalti::tree_map(
      [&](const Array& p, const Array& m, const Array& v) {
        const Array direction = m / correction1 / (smalti::sqrt(v / correction2) + o.epsilon);
        return p - o.rate * (direction + o.decay * p);
      },
      parameters, moments.first, moments.second);
}

}  // namespace train
