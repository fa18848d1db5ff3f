// The kernels of the library that run on one device.
#include "Cases.h"
#include "smalti/kernels/block_sparse_matmul.h"
#include "smalti/kernels/dma_copy.h"
#include "smalti/kernels/flash_attention.h"
#include "smalti/kernels/gradients.h"
#include "smalti/kernels/grouped_matmul.h"
#include "smalti/kernels/matmul.h"
#include "smalti/kernels/norm.h"
#include "smalti/kernels/paged_attention.h"
#include "smalti/kernels/softmax.h"
#include "smalti/kernels/stream.h"
#include "smalti/kernels/tiled_dot.h"
#include "smalti/kernels/vector_add.h"

namespace smalti::gradients {
namespace {

Case library(std::string name, Arrays inputs, std::function<Array(const Arrays&)> f, std::vector<size_t> wrt = {}) {
  return {std::move(name), "library", std::move(inputs), [f](const Arrays& x) { return Arrays{f(x)}; }, std::move(wrt)};
}

}  // namespace

std::vector<Case> libraryCases() {
  using namespace kernels;  // NOLINT: this file is about them
  const Array x = numbers({24, 256}, 70), s = numbers({256}, 71), b = numbers({256}, 72);
  const Array q = numbers({1, 2, 16, 128}, 73), k = numbers({1, 1, 256, 128}, 74), v = numbers({1, 1, 256, 128}, 75);
  const AttentionOptions small{.block_q = 8, .block_k = 128};
  std::vector<Case> cases{
      library("vector_add", {x, numbers({24, 256}, 76)}, [](const Arrays& a) { return vector_add(a[0], a[1]); }),
      library("stream", {x},
              [](const Arrays& a) { return stream(a[0], [](const Array& t) { return sin(t); }, {.block_rows = 8}); }),
      library("stream_pipelined", {x},
              [](const Arrays& a) {
                return stream_pipelined(a[0], [](const Array& t) { return sin(t); }, {.block_rows = 8});
              }),
      library("softmax", {x}, [](const Arrays& a) { return kernels::softmax(a[0]); }),
      library("softmax_of_parts", {x},
              [](const Arrays& a) { return kernels::softmax(a[0], {.block_rows = 8, .block_columns = 128}); }),
      library("layer_norm", {x, s, b}, [](const Arrays& a) { return layer_norm(a[0], a[1], a[2]); }),
      library("rms_norm", {x, s}, [](const Arrays& a) { return rms_norm(a[0], a[1]); }),
      library("matmul", {x, numbers({256, 128}, 77, 0.125f)},
              [](const Arrays& a) { return matmul(a[0], a[1], {.block_m = 8, .block_n = 128, .block_k = 128}); }),
      library("matmul_bias_gelu", {x, numbers({128, 256}, 78, 0.125f), numbers({128}, 79)},
              [](const Arrays& a) {
                return matmul(a[0], a[1], {.transpose_y = true, .bias = a[2], .activation = [](const Array& t) {
                                             return gelu(t);
                                           }});
              }),
      library("tiled_dot", {numbers({4096}, 80), numbers({4096}, 81), numbers({1}, 82)},
              [](const Arrays& a) { return tiled_dot(a[0], a[1], a[2], {.block = 1024}); }),
      library("flash_attention", {q, k, v}, [=](const Arrays& a) { return flash_attention(a[0], a[1], a[2], small); }),
      library("flash_attention_causal", {numbers({1, 2, 256, 128}, 83), k, v},
              [](const Arrays& a) {
                return flash_attention(a[0], a[1], a[2], {.causal = true, .block_q = 128, .block_k = 128});
              }),
      library("flash_attention_bias", {q, k, v, numbers({1, 2, 16, 256}, 84)},
              [=](const Arrays& a) {
                AttentionOptions o = small;
                o.bias = a[3];
                return flash_attention(a[0], a[1], a[2], o);
              }),
      library("grouped_matmul", {numbers({64, 128}, 85), numbers({3, 128, 128}, 86, 0.125f), whole({20, 0, 44})},
              [](const Arrays& a) { return grouped_matmul(a[0], a[1], a[2], {.block_m = 16}); }),
      library("grouped_matmul_in_steps",
              {numbers({64, 256}, 87), numbers({3, 256, 128}, 88, 0.125f), whole({20, 14, 30})},
              [](const Arrays& a) { return grouped_matmul(a[0], a[1], a[2], {.block_m = 16, .block_k = 128}); }),
      library("paged_attention",
              {numbers({2, 8, 128}, 89), numbers({2, 6, 16, 128}, 90), numbers({2, 6, 16, 128}, 91), whole({20, 40}),
               reshape(whole({0, 1, 2, 3, 4, 5}), {2, 3})},
              [](const Arrays& a) { return paged_attention(a[0], a[1], a[2], a[3], a[4]); }),
      library("block_sparse_matmul", {numbers({3, 8, 128}, 92), numbers({256, 128}, 93)},
              [](const Arrays& a) {
                const BlockSparse m{
                    .block_rows = whole({0, 1, 1}), .block_columns = whole({1, 0, 1}), .blocks = a[0], .rows = 16};
                return block_sparse_matmul(m, a[1]);
              }),
      library("dma_copy", {x}, [](const Arrays& a) { return dma_copy(a[0]); }),
      library("flash_attention_with_gradient", {q, k, v},
              [=](const Arrays& a) { return flash_attention_with_gradient(a[0], a[1], a[2], small); }),
      library("flash_attention_causal_with_gradient",
              {numbers({1, 2, 200, 64}, 94), numbers({1, 1, 200, 64}, 95), numbers({1, 1, 200, 64}, 96)},
              [](const Arrays& a) {
                return flash_attention_with_gradient(a[0], a[1], a[2], {.causal = true, .block_q = 64, .block_k = 128});
              }),
      library("grouped_matmul_transposed_with_gradient",
              {numbers({64, 128}, 97), numbers({4, 64, 128}, 98, 0.125f), whole({20, 0, 30, 14})},
              [](const Arrays& a) {
                return grouped_matmul_with_gradient(a[0], a[1], a[2], {.block_m = 16, .transpose_y = true});
              }),
      library("grouped_matmul_with_gradient",
              {numbers({64, 128}, 97), numbers({4, 128, 128}, 98, 0.125f), whole({20, 0, 30, 14})},
              [](const Arrays& a) {
                return grouped_matmul_with_gradient(a[0], a[1], a[2], {.block_m = 16, .block_n = 64, .block_k = 64});
              }),
  };
  return cases;
}

}  // namespace smalti::gradients
