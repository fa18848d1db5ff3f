// Kernels of the library as device code, executed by this process, against native code: blocks, masks and sizes at
// random.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "../LongTest.h"
#include "smalti/kernels/flash_attention.h"
#include "smalti/kernels/gradients.h"
#include "smalti/kernels/grouped_matmul.h"
#include "smalti/kernels/matmul.h"
#include "smalti/kernels/paged_attention.h"
#include "smalti/smalti.h"

namespace smalti::kernels {
namespace {

using Random = std::mt19937;

Array randomArray(Random& random, const Shape& shape, DType dtype = bf16) {
  std::vector<float> values(static_cast<size_t>(num_elements(shape)));
  std::normal_distribution<float> normal;
  for (float& v : values) v = normal(random);
  return astype(unwrap(Array::view({f32, shape}, values.data()).clone()), dtype);
}

int64_t oneOf(Random& random, std::initializer_list<int64_t> all) { return all.begin()[random() % all.size()]; }

/// `order`: of threads, and when copies complete.
Settings settingsOf(const std::string& target, const std::string& order) {
  Settings s;
  unwrap(s.set("target", target));
  unwrap(s.set("seed", order));
  return s;
}

/// Elements that differ by more than the rounding of bf16, or the order of sums of f32, allows.
int64_t differences(const Array& gotArray, const Array& wantArray) {
  const float most = wantArray.dtype() == f32 ? 0x1p-16f : 0x1p-6f;
  const Array got = astype(gotArray, f32), want = astype(wantArray, f32);
  int64_t different = 0;
  for (int64_t i = 0; i < want.type().elements(); ++i) {
    const float x = want.as<float>()[i];
    different += !(std::abs(got.as<float>()[i] - x) <= most * (1 + std::abs(x)));
  }
  return different;
}

/// One of three kernels multiplies f32.
DType dtypeOf(unsigned seed) { return seed % 3 == 2 ? f32 : bf16; }

std::string gpuOf(Random& random) { return oneOf(random, {0, 1, 2}) == 0 ? "cuda-host:sm_80" : "cuda-host"; }

/// Sizes, masks and blocks of attention.
struct AttentionChoice {
  AttentionChoice(Random& random, std::initializer_list<int64_t> blocksOfQueries, DType dtype)
      : queries(oneOf(random, {64, 128, 192, 100})),
        keys(oneOf(random, {64, 128, 256, 200})),
        size(oneOf(random, {32, 64, 128})),
        dtype(dtype) {
    options.causal = oneOf(random, {0, 1}) == 1;
    options.block_q = oneOf(random, blocksOfQueries);
    options.block_k = oneOf(random, {64, 128});
    ofQueries = {1, 2, queries, size};
  }
  std::string text() const {
    return "q " + ArrayType{dtype, ofQueries}.str() + ", k " + ArrayType{dtype, ofKeys}.str() + ", causal " +
           std::to_string(options.causal) + ", blocks " + std::to_string(options.block_q) + " x " +
           std::to_string(options.block_k);
  }

  Array randomQueries(Random& random) const { return randomArray(random, ofQueries, dtype); }
  Array randomKeys(Random& random) const { return randomArray(random, ofKeys, dtype); }

  int64_t queries, keys, size;
  DType dtype;
  AttentionOptions options;
  Shape ofQueries, ofKeys;
};

TEST(AttentionOnGpus, AgreesWithNativeCode) {
  SMALTI_LONG_TEST_OF_GENERATED_CODE();
  constexpr unsigned kKernels = 24;
  for (unsigned seed = 0; seed < kKernels; ++seed) {
    Random random(seed);
    AttentionChoice c(random, {64, 128, 256}, dtypeOf(seed));
    const Array q = c.randomQueries(random);
    c.ofKeys = {1, oneOf(random, {1, 2}), c.keys, c.size};
    const Array k = c.randomKeys(random), v = c.randomKeys(random);
    const PallasCall call = flash_attention_call(q.type(), k.type(), c.options);
    const std::string order = std::to_string(random() % 6);
    const auto run = [&](const std::string& target) -> Array {
      return call.with(settingsOf(target, order)).run({q, k, v});
    };
    const Array want = run("cpu"), got = run(gpuOf(random));
    EXPECT_EQ(differences(got, want), 0) << "kernel " << seed << ": " << c.text();
  }
}

/// Both backward kernels, for weights that the forward kernel has found: four products, whose sums and left operands
/// are in registers for some blocks.
TEST(AttentionOnGpus, GradientsAgreeWithNativeCode) {
  SMALTI_LONG_TEST_OF_GENERATED_CODE();
  constexpr unsigned kKernels = 24;
  for (unsigned seed = 0; seed < kKernels; ++seed) {
    Random random(seed);
    AttentionChoice c(random, {32, 64, 128}, dtypeOf(seed));
    c.options.log_sums = true;
    c.ofKeys = {1, oneOf(random, {1, 2}), c.keys, c.size};
    const Array q = c.randomQueries(random), d = c.randomQueries(random);
    const Array k = c.randomKeys(random), v = c.randomKeys(random);
    const Results forward = flash_attention_call(q.type(), k.type(), c.options)(q, k, v);
    const Array result = forward[0], log_sums = forward[1];
    const Array delta = sum(astype(d, f32) * astype(result, f32), {.axes = {3}, .keepdims = true});
    const Shape row{1, 2, 1, c.queries};
    const std::string order = std::to_string(random() % 6), gpu = gpuOf(random);
    const std::vector<Operand> ofQueriesCall{q, k, v, d, log_sums, delta},
        ofKeysCall{q, k, v, d, reshape(log_sums, row), reshape(delta, row)};
    for (const auto& [call, operands] :
         {std::pair{flash_attention_backward_queries_call(q.type(), k.type(), c.options), ofQueriesCall},
          std::pair{flash_attention_backward_keys_call(q.type(), k.type(), c.options), ofKeysCall}}) {
      const Results want = call.with(settingsOf("cpu", order)).run(operands),
                    got = call.with(settingsOf(gpu, order)).run(operands);
      for (size_t i = 0; i < want.size(); ++i)
        EXPECT_EQ(differences(got[i], want[i]), 0)
            << "kernel " << seed << " on " << gpu << ": " << c.text() << ", result " << i;
    }
  }
}

/// Few queries for all keys of a sequence, which are in pages anywhere.
TEST(AttentionOnGpus, OfOneQueryPerSequenceAgreesWithNativeCode) {
  SMALTI_LONG_TEST_OF_GENERATED_CODE();
  constexpr unsigned kKernels = 24;
  for (unsigned seed = 0; seed < kKernels; ++seed) {
    Random random(seed);
    const int64_t batch = oneOf(random, {1, 3}), keyHeads = oneOf(random, {1, 2}),
                  group = oneOf(random, {1, 2, 4, 8, 12, 128}), pages = oneOf(random, {1, 4});
    const int64_t page = oneOf(random, {16, 64, 128}), size = oneOf(random, {64, 128}), all = batch * pages + 2;
    const PagedAttentionOptions o{.pages_per_step = oneOf(random, {1, 1, std::min<int64_t>(2, pages)})};
    const DType dtype = dtypeOf(seed);
    const Array q = randomArray(random, {batch, keyHeads * group, size}, dtype);
    const Array k = randomArray(random, {keyHeads, all, page, size}, dtype),
                v = randomArray(random, {keyHeads, all, page, size}, dtype);
    std::vector<int32_t> lengths, table;
    for (int64_t i = 0; i < batch; ++i)
      lengths.push_back(static_cast<int32_t>(random() % static_cast<uint64_t>(pages * page + 1)));
    for (int64_t i = 0; i < batch * pages; ++i)
      table.push_back(static_cast<int32_t>(random() % static_cast<uint64_t>(all)));
    const Array lengthsArray = unwrap(Array::view({i32, {batch}}, lengths.data()).clone());
    const Array tableArray = unwrap(Array::view({i32, {batch, pages}}, table.data()).clone());
    const auto run = [&](const std::string& target) -> Array {
      const ArrayType grouped{dtype, {batch, keyHeads, group, size}};
      const auto call =
          paged_attention_call(grouped, k.type(), pages, o).with(settingsOf(target, std::to_string(seed)));
      return call.run(paged_attention_operands(q, k, v, lengthsArray, tableArray, o));
    };
    const Array want = run("cpu"), got = run(gpuOf(random));
    EXPECT_EQ(differences(got, want), 0) << "kernel " << seed << ": q " << q.type().str() << ", pages "
                                         << k.type().str() << ", group " << group << ", " << *o.pages_per_step
                                         << " pages per step";
  }
}

/// Rows of x are copied once for all steps, and all products of a point use them: those of the next point must not
/// replace them earlier.
TEST(ProductsOnGpus, OperandsThatAreTheSameInAllStepsStayUntilTheLast) {
  SMALTI_LONG_TEST_OF_GENERATED_CODE();
  constexpr int64_t kPoints = 12, kSteps = 3, kRows = 64, kDepth = 64;
  Random random(1);
  const Array x = randomArray(random, {kPoints * kRows, kDepth}), w = randomArray(random, {kSteps * kRows, kDepth});
  const auto kernel = [](Ref x, Ref w, Ref o, Ref sums) {
    const Array j = program_id(1);
    when(j == 0, [&] { sums[_] = zeros_like(sums); });
    sums[_] += maximum(dot_general(x[_], w[_], {{1}, {1}}, {.preferred_element_type = f32}), 0);
    when(j == kSteps - 1, [&] { o[_] = sums[_]; });
  };
  for (const GpuParams& params : {GpuParams{}, GpuParams{.copies = GpuCopies::threads}}) {
    const auto run = [&](const char* target, unsigned order) {
      return pallas_call(kernel,
                         Call{.out_shape = ShapeDtype{{kPoints * kRows, kRows}, f32},
                              .grid = {kPoints, kSteps},
                              .in_specs = {BlockSpec{{kRows, kDepth}, [](auto i, auto) { return std::tuple{i, 0}; }},
                                           BlockSpec{{kRows, kDepth}, [](auto, auto j) { return std::tuple{j, 0}; }}},
                              .out_specs = {BlockSpec{{kRows, kRows}, [](auto i, auto) { return std::tuple{i, 0}; }}},
                              .scratch_shapes = {vmem({kRows, kRows}, f32)},
                              .compiler_params = {.dimension_semantics = {parallel, arbitrary}, .gpu = params}})
          .with(settingsOf(target, std::to_string(order)))
          .run({x, w});
    };
    const Array want = run("cpu", 0);
    for (const char* target : {"cuda-host:sm_80", "cuda-host:sm_90a"})
      for (unsigned order = 0; order < 6; ++order)
        EXPECT_EQ(differences(run(target, order), want), 0) << target << ", order " << order;
  }
}

/// Blocks for TPUs, larger than the registers of a GPU, are divided into parts of 256 rows and columns or fewer.
TEST(ProductsOnGpus, LargeBlocksAreDivided) {
  SMALTI_LONG_TEST_OF_GENERATED_CODE();
  Random random(3);
  const Array x = randomArray(random, {600, 64}), y = randomArray(random, {64, 512});
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{512, 512}, {1024, 256}, {256, 512}}) {
    const MatmulOptions o{.out_dtype = f32, .block_m = rows, .block_n = columns, .block_k = 32};
    const PallasCall call = matmul_call(x.type(), y.type(), o);
    const Array want = call.with(settingsOf("cpu", "0")).run({x, y});
    for (const char* target : {"cuda-host:sm_80", "cuda-host:sm_90a"})
      EXPECT_EQ(differences(call.with(settingsOf(target, "2")).run({x, y}), want), 0)
          << target << ", blocks of " << rows << " x " << columns;
  }
}

/// f(x · w) · v, whose left operand is f32 in registers, by v of bf16: an f32 is the sum of three bf16, except for
/// infinities and NaNs.
TEST(ProductsOnGpus, AnF32IsMultipliedAsThreeBf16) {
  SMALTI_LONG_TEST_OF_GENERATED_CODE();
  constexpr int64_t kRows = 64, kKeys = 128, kSize = 64;
  Random random(2);
  const Array x = randomArray(random, {2 * kRows, kSize}), w = randomArray(random, {kKeys, kSize});
  Array v = randomArray(random, {kKeys, kSize});
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  v.as<uint16_t>()[3] = 0x7f80;               // an infinity
  v.as<uint16_t>()[5 * kSize + 4] = 0xff80;   // and a negative one
  v.as<uint16_t>()[9 * kSize + 11] = 0x7fc0;  // a NaN
  // With 0, the weights are 1, of which two parts are zero.
  for (const float scale : {0.0F, 0.1F, 2.0F, 1e38F, kInfinity}) {
    const auto kernel = [scale](Ref x, Ref w, Ref v, Ref o) {
      const Array scores = dot_general(x[_], w[_], {{1}, {1}}, {.preferred_element_type = f32});
      const Array p = scale == 0 ? minimum(maximum(scores, 1), 1) : minimum(scores, 10) * scale + maximum(scores, -5);
      o[_] = dot_general(p, astype(v[_], f32), {{1}, {0}}, {.preferred_element_type = f32});
    };
    const BlockSpec rows{{kRows, kSize}, [](auto i) { return std::tuple{i, 0}; }},
        all{{kKeys, kSize}, [](auto) { return std::tuple{0, 0}; }};
    const auto run = [&](const char* target) -> Array {
      return pallas_call(kernel, Call{.out_shape = ShapeDtype{{2 * kRows, kSize}, f32},
                                      .grid = {2},
                                      .in_specs = {rows, all, all},
                                      .out_specs = {rows},
                                      .compiler_params = {.dimension_semantics = {parallel}}})
          .with(settingsOf(target, "1"))
          .run({x, w, v});
    };
    const Array want = run("interpret");
    for (const char* target : {"cpu", "cuda-host:sm_80", "cuda-host:sm_90a"}) {
      const Array got = run(target);
      float most = 0;  // of the finite results
      for (int64_t i = 0; i < want.type().elements(); ++i)
        if (std::isfinite(want.as<float>()[i])) most = std::max(most, std::abs(want.as<float>()[i]));
      for (int64_t i = 0; i < want.type().elements(); ++i) {
        const float a = got.as<float>()[i], b = want.as<float>()[i];
        ASSERT_TRUE(std::isnan(b) ? std::isnan(a) : a == b || std::abs(a - b) <= 0x1p-20f * most)
            << target << ", scale " << scale << ", element " << i << ": " << a << " instead of " << b;
      }
    }
  }
}

/// Blocks of rows that several groups share, groups without rows, rows without a group.
TEST(GroupedMatmulOnGpus, AgreesWithNativeCode) {
  SMALTI_LONG_TEST_OF_GENERATED_CODE();
  constexpr unsigned kKernels = 16;
  for (unsigned seed = 0; seed < kKernels; ++seed) {
    Random random(seed);
    const int64_t rows = oneOf(random, {128, 256, 200}), n = oneOf(random, {128, 256}),
                  k = oneOf(random, {64, 128, 100});
    const GroupedMatmulOptions o{.block_m = oneOf(random, {32, 64, 128}), .block_n = 128, .block_k = 64};
    std::vector<int32_t> sizes;
    for (int64_t left = rows; sizes.size() < 6; left -= sizes.back())
      sizes.push_back(static_cast<int32_t>(oneOf(random, {0, 1, 1}) * static_cast<int64_t>(random()) % (left / 2 + 1)));
    const DType dtype = dtypeOf(seed);
    const Array x = randomArray(random, {rows, k}, dtype), y = randomArray(random, {6, k, n}, dtype);
    const Array sizesArray = unwrap(Array::view({i32, {6}}, sizes.data()).clone());
    const GroupedTiles tiles = grouped_tiles(rows, o.block_m, sizesArray);
    const auto run = [&](const std::string& target) -> Array {
      const auto call =
          grouped_matmul_call(x.type(), y.type(), tiles, o.block_m, o).with(settingsOf(target, std::to_string(seed)));
      return call.run({tiles.group, tiles.row_block, tiles.row_begin, tiles.row_end, x, y});
    };
    const Array want = run("cpu"), got = run(gpuOf(random));
    EXPECT_EQ(differences(got, want), 0) << "kernel " << seed << ": " << x.type().str() << " by " << y.type().str()
                                         << ", blocks of " << o.block_m << " rows";
  }
}

}  // namespace
}  // namespace smalti::kernels
