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
  Moments<Parameters> m{like, like};
  smalti::detail::visit_leaves(m, [](smalti::Array& a) { a = smalti::zeros(a.shape(), a.dtype()); });
  return m;
}

/// One step; `step` is f32, the first one is 1.
template <class Parameters>
void update(const AdamW& o, Parameters& parameters, Moments<Parameters>& moments, Parameters gradients,
            const smalti::Array& step) {
  std::vector<smalti::Array*> p, m, v, g;
  const auto collect = [](auto& tree, auto& into) {
    smalti::detail::visit_leaves(tree, [&](smalti::Array& a) { into.push_back(&a); });
  };
  collect(parameters, p);
  collect(moments.first, m);
  collect(moments.second, v);
  collect(gradients, g);
  const smalti::Array correction1 = 1 - smalti::exp(step * std::log(o.beta1)),
                      correction2 = 1 - smalti::exp(step * std::log(o.beta2));
  for (size_t i = 0; i < p.size(); ++i) {
    *m[i] = o.beta1 * *m[i] + (1 - o.beta1) * *g[i];
    *v[i] = o.beta2 * *v[i] + (1 - o.beta2) * smalti::square(*g[i]);
    const smalti::Array direction = *m[i] / correction1 / (smalti::sqrt(*v[i] / correction2) + o.epsilon);
    *p[i] = *p[i] - o.rate * (direction + o.decay * *p[i]);
  }
}

}  // namespace train
