// MKL or OpenBLAS through the C interface that both have: peer_blas LIBRARY.
#include <dlfcn.h>

#include <cstdio>

#include "peers/Operands.h"

namespace {

using namespace smalti::bench;

// cblas.h, as far as it is used here; integers are 32 bits in both libraries.
enum { kRowMajor = 101, kPlain = 111, kFixedOffset = 173 };
using Sgemm = void (*)(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);
using Bgemm = void (*)(int, int, int, int, int, int, float, const uint16_t*, int, const uint16_t*, int, float, float*,
                       int);
using S8u8gemm = void (*)(int, int, int, int, int, int, int, float, const void*, int, int8_t, const void*, int, int8_t,
                          float, int32_t*, int, const int32_t*);

void* library = nullptr;

template <class F>
F symbol(std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (void* found = dlsym(library, name)) return reinterpret_cast<F>(found);
  throw Unable(std::string("the library has no ") + *names.begin());
}

Sgemm sgemm() { return symbol<Sgemm>({"cblas_sgemm"}); }

Work matmul(const Spec& s) {
  const std::string dtype = s.text("dtype", "f32");
  if (dtype == "f32") {
    const Product<float, float> p(s);
    const int m = p.m, n = p.n, k = p.k;
    return p.work([p, m, n, k, gemm = sgemm()] {
      gemm(kRowMajor, kPlain, kPlain, m, n, k, 1, p.a.get(), k, p.b.get(), n, 0, p.c.get(), n);
    });
  }
  if (dtype == "bf16") {
    auto gemm = symbol<Bgemm>({"cblas_gemm_bf16bf16f32", "cblas_sbgemm"});
    const Product<uint16_t, float> p(s);
    const int m = p.m, n = p.n, k = p.k;
    return p.work([p, m, n, k, gemm] {
      gemm(kRowMajor, kPlain, kPlain, m, n, k, 1, p.a.get(), k, p.b.get(), n, 0, p.c.get(), n);
    });
  }
  // MKL multiplies unsigned by signed bytes: a is shifted by 128, and its offset shifts it back.
  auto gemm = symbol<S8u8gemm>({"cblas_gemm_s8u8s32"});
  const Product<int8_t, int32_t> p(s);
  for (int64_t i = 0; i < p.m * p.k; ++i) p.a[i] = static_cast<int8_t>(p.a[i] ^ 0x80);
  const int m = p.m, n = p.n, k = p.k;
  return p.work([p, m, n, k, gemm] {
    const int32_t zero = 0;
    gemm(kRowMajor, kPlain, kPlain, kFixedOffset, m, n, k, 1, p.a.get(), k, -128, p.b.get(), n, 0, 0, p.c.get(), n,
         &zero);
  });
}

/// One product per group of rows.
Work grouped(const Spec& s) {
  const std::vector<int32_t> sizes = s.numbers("sizes");
  int64_t rows = 0;
  for (int size : sizes) rows += size;
  const int k = s["k"], n = s["n"];
  auto x = filled<float>(rows * k, 1), y = filled<float>(static_cast<int64_t>(sizes.size()) * k * n, 2);
  auto z = allocate<float>(rows * n);
  return {[=, gemm = sgemm()] {
            int64_t row = 0, group = 0;
            for (int m : sizes) {
              gemm(kRowMajor, kPlain, kPlain, m, n, k, 1, x.get() + row * k, k, y.get() + group++ * k * n, n, 0,
                   z.get() + row * n, n);
              row += m;
            }
          },
          [=] { return probes(rows * n, [&](int64_t i) { return static_cast<double>(z[i]); }); }};
}

Work block(const Spec& s) {
  const Product<float, float> p(s);
  const int n = p.n;
  return p.work([p, n, gemm = sgemm()] {
    gemm(kRowMajor, kPlain, kPlain, n, n, n, 1, p.a.get(), n, p.b.get(), n, 1, p.c.get(), n);
  });
}

Work blocks(const Spec& s) {
  const Product<float, float> p(s);
  const int n = p.n, b = s["block"];
  return p.work(overBlocks(p, b, [n, b, gemm = sgemm()](const float* x, const float* y, float* z, bool add) {
    gemm(kRowMajor, kPlain, kPlain, b, b, b, 1, x, n, y, n, add, z, n);
  }));
}

}  // namespace

int main(int argc, char** argv) {
  library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : nullptr;
  if (!library) {
    std::fprintf(stderr, "peer_blas: %s\n", argc > 1 ? dlerror() : "which library?");
    return 3;
  }
  return Actor({{"matmul", matmul}, {"block", block}, {"blocks", blocks}, {"grouped", grouped}}).serve();
}
