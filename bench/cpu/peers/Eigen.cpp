// Eigen's products.
#include <Eigen/Core>

#include "peers/Operands.h"

namespace {

using namespace smalti::bench;
using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using View = Eigen::Map<Matrix, Eigen::Aligned64>;
using Strided = Eigen::Map<Matrix, Eigen::Unaligned, Eigen::OuterStride<>>;
using ConstStrided = Eigen::Map<const Matrix, Eigen::Unaligned, Eigen::OuterStride<>>;

Product<float, float> product(const Spec& s) {
  if (s.text("dtype", "f32") != "f32") throw Unable("f32 only");
  return Product<float, float>(s);
}

Work matmul(const Spec& s) {
  const auto p = product(s);
  return p.work([p] {
    View c(p.c.get(), p.m, p.n);
    c.noalias() = View(p.a.get(), p.m, p.k) * View(p.b.get(), p.k, p.n);
  });
}

Work block(const Spec& s) {
  const auto p = product(s);
  return p.work([p] {
    View c(p.c.get(), p.m, p.n);
    c.noalias() += View(p.a.get(), p.m, p.k) * View(p.b.get(), p.k, p.n);
  });
}

Work blocks(const Spec& s) {
  const auto p = product(s);
  const int64_t b = s["block"], n = p.n;
  return p.work(overBlocks(p, b, [b, n](const float* x, const float* y, float* z, bool add) {
    const Eigen::OuterStride<> stride(n);
    Strided c(z, b, b, stride);
    const ConstStrided left(x, b, b, stride), right(y, b, b, stride);
    if (add)
      c.noalias() += left * right;
    else
      c.noalias() = left * right;
  }));
}

}  // namespace

int main() { return Actor({{"matmul", matmul}, {"block", block}, {"blocks", blocks}}).serve(); }
