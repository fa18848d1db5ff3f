// Operands of the workloads that several libraries have.
#pragma once

#include "actor/Actor.h"

namespace smalti::bench {

/// C[m,n] (+)= A[m,k] B[k,n], row-major.
template <class T, class Sum>
struct Product {
  explicit Product(const Spec& s)
      : m(s.at("m", s["n"])),
        n(s["n"]),
        k(s.at("k", s["n"])),
        a(filled<T>(m * k, 1)),
        b(filled<T>(k * n, 2)),
        c(allocate<Sum>(m * n)) {
    std::fill_n(c.get(), m * n, Sum(0));
  }
  Work work(std::function<void()> run) const {
    return {std::move(run),
            [c = c, count = m * n] { return probes(count, [&](int64_t i) { return static_cast<double>(c[i]); }); }};
  }
  int64_t m, n, k;
  std::shared_ptr<T[]> a, b;
  std::shared_ptr<Sum[]> c;
};

/// Blocks of a big product (`blocks`): n³ by blocks of `block`³ out of matrices whose rows are `n` long.
template <class Multiply>
std::function<void()> overBlocks(const Product<float, float>& p, int64_t block, Multiply multiply) {
  return [p, block, multiply] {
    for (int64_t i = 0; i < p.m; i += block)
      for (int64_t j = 0; j < p.n; j += block)
        for (int64_t k = 0; k < p.k; k += block)
          multiply(p.a.get() + i * p.k + k, p.b.get() + k * p.n + j, p.c.get() + i * p.n + j, k > 0);
  };
}

}  // namespace smalti::bench
