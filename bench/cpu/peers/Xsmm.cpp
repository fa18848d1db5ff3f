// libxsmm: products of small blocks. It counts columns first, so that C = A B is written as Cᵀ = Bᵀ Aᵀ.
#include <libxsmm.h>

#include "peers/Operands.h"

namespace {

using namespace smalti::bench;

/// C (+)= A B of blocks whose rows are `ld` apart.
libxsmm_smmfunction kernel(int block, int ld, float beta) {
  const float alpha = 1;
  const int flags = LIBXSMM_GEMM_FLAG_NONE, prefetch = LIBXSMM_GEMM_PREFETCH_NONE;
  auto made = libxsmm_smmdispatch(block, block, block, &ld, &ld, &ld, &alpha, &beta, &flags, &prefetch);
  if (!made) throw Unable("no kernel of this size");
  return made;
}

Work block(const Spec& s) {
  const Product<float, float> p(s);
  return p.work([p, add = kernel(p.n, p.n, 1)] { add(p.b.get(), p.a.get(), p.c.get()); });
}

Work blocks(const Spec& s) {
  const Product<float, float> p(s);
  const int size = s["block"], ld = p.n;
  return p.work(overBlocks(p, size,
                           [set = kernel(size, ld, 0), add = kernel(size, ld, 1)](
                               const float* x, const float* y, float* z, bool more) { (more ? add : set)(y, x, z); }));
}

}  // namespace

int main() {
  libxsmm_init();
  return Actor({{"block", block}, {"blocks", blocks}}).serve();
}
