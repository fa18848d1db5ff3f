// Kernels that JAX lowered, written again in C++: both modules compute the same on `interpret`, bit for bit.
#include <cstring>

#include <gtest/gtest.h>

#include "smalti/smalti.h"

namespace pl = smalti;
using pl::_;
using std::tuple;

namespace {

auto rows = [](auto i) { return tuple{i, 0}; };

class Twin : public testing::Test {
 protected:
  /// Inputs of the recorded case.
  std::vector<pl::Array> load(const std::string& name) {
    recorded_.emplace(pl::unwrap(
        pl::Module::load(std::string(SMALTI_SOURCE_DIR) + "/test/data/cases/" + name + "/module.stablehlo.mlir")));
    inputs_ = pl::unwrap(
        pl::unwrap(pl::Module::load(std::string(SMALTI_SOURCE_DIR) + "/test/data/cases/" + name)).recorded_inputs());
    return inputs_;
  }
  void expectSame(const pl::Array& ours) {
    const auto theirs = pl::unwrap(recorded_->run(inputs_)).results.at(0);
    ASSERT_EQ(ours.type(), theirs.type());
    EXPECT_EQ(std::memcmp(ours.data(), theirs.data(), ours.bytes()), 0);
  }

 private:
  std::optional<pl::Module> recorded_;
  std::vector<pl::Array> inputs_;
};

TEST_F(Twin, AddGrid1d) {
  const auto in = load("add_grid_1d");
  const auto &x = in[0], &y = in[1];
  const pl::BlockSpec block{{1024}, [](auto i) { return tuple{i}; }};
  expectSame(pl::pallas_call(
      [](pl::Ref x, pl::Ref y, pl::Ref o) { o[_] = x[_] + y[_]; },
      {.out_shape = pl::ShapeDtype{{4096}, pl::f32}, .grid = {4}, .in_specs = {block, block}, .out_specs = {block}})(
      x, y));
}

TEST_F(Twin, AliasPartialUpdate) {
  const auto in = load("alias_partial_update");
  const pl::BlockSpec block{{8, 128}, [](auto i) { return tuple{i + 1, 0}; }};
  expectSame(
      pl::pallas_call([](pl::Ref x, pl::Ref o) { o[_] = x[_] + 1; }, {.out_shape = pl::ShapeDtype{{32, 128}, pl::i32},
                                                                      .grid = {2},
                                                                      .in_specs = {block},
                                                                      .out_specs = {block},
                                                                      .input_output_aliases = {{0, 0}}})(in[0]));
}

TEST_F(Twin, BlockSparseMatmul) {
  const auto in = load("block_sparse_matmul");
  auto kernel = [](pl::Ref rows, pl::Ref, pl::Ref x, pl::Ref y, pl::Ref, pl::Ref o, pl::Ref acc) {
    const pl::Array b = pl::program_id(1);
    const pl::Array before = rows[pl::maximum(b - 1, 0)], after = rows[pl::minimum(b + 1, 4)];
    pl::when(b == 0 || rows[b] != before, [&] { acc[_] = pl::zeros_like(acc); });
    acc[_] += pl::dot(x[{0, pl::all_of, pl::all_of}], y[_], {.preferred_element_type = pl::f32});
    pl::when(b == 4 || rows[b] != after, [&] { o[_] = acc[_]; });
  };
  const pl::Array zeros = pl::zeros({128, 256});
  expectSame(pl::pallas_call(
      kernel, {.out_shape = pl::ShapeDtype{{128, 256}, pl::f32},
               .grid = {2, 5},
               .in_specs = {{{1, 32, 32}, [](auto, auto b, auto, auto) { return tuple{b, 0, 0}; }},
                            {{32, 128}, [](auto j, auto b, auto, auto columns) { return tuple{columns[b], j}; }},
                            {{32, 128}, [](auto, auto, auto, auto) { return tuple{0, 0}; }}},
               .out_specs = {{{32, 128}, [](auto j, auto b, auto rows, auto) { return tuple{rows[b], j}; }}},
               .scratch_shapes = {pl::vmem({32, 128}, pl::f32)},
               .num_scalar_prefetch = 2,
               .input_output_aliases = {{4, 0}}})(in[0], in[1], in[2], in[3], zeros));
}

TEST_F(Twin, DynamicGrid) {
  const auto in = load("dynamic_grid");
  const pl::BlockSpec block{{8, 128}, rows};
  expectSame(
      pl::pallas_call([](pl::Ref x, pl::Ref o) { o[_] = x[_] + 1; }, {.out_shape = pl::ShapeDtype{{64, 128}, pl::f32},
                                                                      .grid = {in[0]},
                                                                      .in_specs = {block},
                                                                      .out_specs = {block},
                                                                      .input_output_aliases = {{0, 0}}})(in[1]));
}

TEST_F(Twin, FlashAttentionCausal) {
  const auto in = load("flash_attention_causal_f32");
  constexpr int64_t bq = 32, bk = 64;
  auto kernel = [](pl::Ref q, pl::Ref k, pl::Ref v, pl::Ref o, pl::Ref m, pl::Ref l, pl::Ref acc) {
    const pl::Array i = pl::program_id(0), j = pl::program_id(1);
    pl::when(j == 0, [&] {
      m[_] = pl::full_like(m, -1e30f);
      l[_] = pl::zeros_like(l);
      acc[_] = pl::zeros_like(acc);
    });
    pl::when(j * bk <= i * bq + bq - 1, [&] {
      pl::Array s = pl::dot_general(q[_], k[_], {{1}, {1}}, {.preferred_element_type = pl::f32}) * 0.0883883461f;
      const pl::Array row = i * bq + pl::broadcasted_iota(pl::i32, {bq, bk}, 0);
      const pl::Array col = j * bk + pl::broadcasted_iota(pl::i32, {bq, bk}, 1);
      s = pl::where(row >= col, s, -1e30f);
      const pl::Array m_prev = m[_], m_next = pl::maximum(m_prev, pl::max(s, {.axes = {1}, .keepdims = true}));
      const pl::Array p = pl::exp(s - m_next), alpha = pl::exp(m_prev - m_next);
      l[_] = alpha * l[_] + pl::sum(p, {.axes = {1}, .keepdims = true});
      m[_] = m_next;
      acc[_] = acc[_] * alpha + pl::dot(p, v[_]);
    });
    pl::when(j == 0, [&] { o[_] = acc[_] / l[_]; });
  };
  const pl::BlockSpec q{{bq, 128}, [](auto i, auto) { return tuple{i, 0}; }};
  const pl::BlockSpec kv{{bk, 128}, [](auto, auto j) { return tuple{j, 0}; }};
  expectSame(pl::pallas_call(
      kernel, {.out_shape = pl::ShapeDtype{{64, 128}, pl::f32},
               .grid = {2, 1},
               .in_specs = {q, kv, kv},
               .out_specs = {q},
               .scratch_shapes = {pl::vmem({bq, 1}, pl::f32), pl::vmem({bq, 1}, pl::f32), pl::vmem({bq, 128}, pl::f32)},
               .compiler_params = {.dimension_semantics = {pl::parallel, pl::arbitrary}}})(in[0], in[1], in[2]));
}

TEST_F(Twin, MatmulWithGelu) {
  const auto in = load("matmul_bf16_gelu");
  auto kernel = [](pl::Ref x, pl::Ref y, pl::Ref z, pl::Ref acc) {
    pl::when(pl::program_id(2) == 0, [&] { acc[_] = pl::zeros_like(acc); });
    acc[_] += pl::dot(x[_], y[_], {.preferred_element_type = pl::f32});
    pl::when(pl::program_id(2) == 1, [&] {
      const pl::Array a = acc[_];
      const pl::Array cdf = 0.5f * (1 + pl::tanh(0.797884583f * (a + 0.044715f * (a * (a * a)))));
      z[_] = pl::astype(a * cdf, pl::bf16);
    });
  };
  const int64_t m = in[0].dim(0), n = in[1].dim(1);
  expectSame(pl::pallas_call(
      kernel, {.out_shape = pl::ShapeDtype{{m, n}, pl::bf16},
               .grid = {m / 64, n / 128, 2},
               .in_specs = {{{64, 128}, [](auto i, auto, auto k) { return tuple{i, k}; }},
                            {{128, 128}, [](auto, auto j, auto k) { return tuple{k, j}; }}},
               .out_specs = {{{64, 128}, [](auto i, auto j, auto) { return tuple{i, j}; }}},
               .scratch_shapes = {pl::vmem({64, 128}, pl::f32)},
               .compiler_params = {.dimension_semantics = {pl::parallel, pl::parallel, pl::arbitrary}}})(in[0], in[1]));
}

TEST_F(Twin, MatmulInt8) {
  const auto in = load("matmul_int8");
  expectSame(pl::pallas_call(
      [](pl::Ref x, pl::Ref y, pl::Ref o) { o[_] = pl::dot(x[_], y[_], {.preferred_element_type = pl::i32}); },
      {.out_shape = pl::ShapeDtype{{32, 128}, pl::i32}})(in[0], in[1]));
}

TEST_F(Twin, RmsNorm) {
  const auto in = load("rmsnorm_f32");
  auto kernel = [](pl::Ref x, pl::Ref w, pl::Ref o, pl::Ref mean) {
    const pl::Array v = x[_];
    mean[_] = pl::mean(v * v, {.axes = {1}, .keepdims = true});
    o[_] = v * pl::rsqrt(mean[_] + 1e-6f) * w[_];
  };
  const pl::BlockSpec block{{16, 256}, rows};
  expectSame(pl::pallas_call(kernel, {.out_shape = pl::ShapeDtype{{32, 256}, pl::f32},
                                      .grid = {2},
                                      .in_specs = {block, {{1, 256}, [](auto) { return tuple{0, 0}; }}},
                                      .out_specs = {block},
                                      .scratch_shapes = {pl::vmem({16, 1}, pl::f32)}})(in[0], in[1]));
}

TEST_F(Twin, WhileLoopCollatz) {
  const auto in = load("while_loop_collatz");
  auto kernel = [](pl::Ref x, pl::Ref o) {
    const auto [n, steps] = pl::while_loop(
        [](const auto& c) { return std::get<0>(c) != 1; },
        [](const auto& c) {
          const auto& [n, steps] = c;
          return tuple{pl::where(pl::mod(n, 2) == 0, pl::floor_divide(n, 2), 3 * n + 1), pl::Array(steps + 1)};
        },
        tuple{pl::Array(x[0]), pl::zeros({}, pl::i32)});
    o[0] = steps;
  };
  expectSame(pl::pallas_call(kernel, {.out_shape = pl::ShapeDtype{{1}, pl::i32},
                                      .in_specs = {pl::BlockSpec(pl::smem)},
                                      .out_specs = {pl::BlockSpec(pl::smem)}})(in[0]));
}

TEST_F(Twin, ElementBlocksWithPadding) {
  const auto in = load("element_block_dim_padding");
  expectSame(pl::pallas_call(
      [](pl::Ref x, pl::Ref o) { o[_] = x[{pl::ds(8, 8), pl::all_of}]; },
      {.out_shape = pl::ShapeDtype{{16, 128}, pl::f32},
       .grid = {2},
       .in_specs = {{{pl::Element{16, {8, 0}}, pl::Element{128}}, [](auto i) { return tuple{i * 8, 0}; }}},
       .out_specs = {{{8, 128}, rows}}})(in[0]));
}

TEST_F(Twin, DmaFromHbmToSmem) {
  const auto in = load("dma_hbm_to_smem");
  auto kernel = [](pl::Ref x, pl::Ref o, pl::Ref scalars, pl::Ref sem) {
    auto copy = pl::make_async_copy(x, scalars, sem);
    copy.start();
    copy.wait();
    o[_] = pl::full(o.shape(), pl::Array(scalars[{0, 3}]) + scalars[{0, 5}]);
  };
  expectSame(
      pl::pallas_call(kernel, {.out_shape = pl::ShapeDtype{{8, 128}, pl::i32},
                               .in_specs = {pl::BlockSpec(pl::any_space)},
                               .out_specs = {pl::BlockSpec(pl::vmem)},
                               .scratch_shapes = {pl::smem({1, 128}, pl::i32), pl::semaphore_type::dma()}})(in[0]));
}

}  // namespace
