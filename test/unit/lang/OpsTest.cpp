// Ops give the same inside a kernel and outside, bit for bit.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "smalti/smalti.h"

namespace pl = smalti;
using pl::_;
using pl::Array;

namespace {

using Op = std::function<Array(const std::vector<Array>&)>;

/// `op` on whole arrays in one program; results of rank 0 leave through SMEM.
Array inKernel(const Op& op, const std::vector<Array>& inputs, const Array& like) {
  const auto kernel = [&](const std::vector<pl::Ref>& refs) {
    std::vector<Array> read;
    for (size_t i = 0; i + 1 < refs.size(); ++i) read.push_back(refs[i][_]);
    const Array result = op(read);
    if (result.rank() == 0)
      refs.back()[{0}] = result;
    else
      refs.back()[_] = result;
  };
  const bool scalar = like.rank() == 0;
  std::vector<pl::BlockSpec> in(inputs.size());
  pl::BlockSpec out;
  if (scalar) out.memory_space = pl::MemorySpace::smem;
  std::vector<pl::Operand> operands(inputs.begin(), inputs.end());
  const auto call = pl::pallas_call(
      kernel, {.out_shape = pl::ShapeDtype{scalar ? pl::Shape{1} : like.shape(), like.dtype()}, .out_specs = {out}});
  const Array result = call.run(operands);
  return scalar ? pl::reshape(result, {}) : result;
}

void expectSame(const Op& op, const std::vector<Array>& inputs) {
  const Array now = op(inputs), kernel = inKernel(op, inputs, now);
  ASSERT_EQ(now.type().str(), kernel.type().str());
  EXPECT_EQ(std::memcmp(now.data(), kernel.data(), now.bytes()), 0);
}

Array numbers(pl::Shape shape, pl::DType t = pl::f32) {
  std::vector<float> v(pl::num_elements(shape));
  for (size_t i = 0; i < v.size(); ++i) v[i] = static_cast<float>((i * 7919) % 101) / 8 - 6;
  return pl::astype(pl::array(v, std::move(shape)), t);
}

struct Named {
  const char* name;
  std::vector<Array> inputs;
  Op op;
};
void PrintTo(const Named& n, std::ostream* out) { *out << n.name; }

std::vector<Named> shapeOps() {
  const Array m = numbers({8, 128}), c = numbers({2, 8, 128});
  return {
      {"reshape", {c}, [](auto& x) { return pl::reshape(x[0], {16, -1}); }},
      {"transpose", {m}, [](auto& x) { return pl::transpose(x[0]); }},
      {"permute", {c}, [](auto& x) { return pl::transpose(x[0], {1, 0, 2}); }},
      {"swapaxes", {c}, [](auto& x) { return pl::swapaxes(x[0], -1, -2); }},
      {"expand_squeeze", {m}, [](auto& x) { return pl::squeeze(pl::expand_dims(x[0], 1)); }},
      {"concatenate", {m, m}, [](auto& x) { return pl::concatenate({x[0], x[1] * 2, x[0]}, 0); }},
      {"stack", {m, m}, [](auto& x) { return pl::stack({x[0], x[1] + 1}, 1); }},
      {"slice", {m}, [](auto& x) { return pl::slice(x[0], {2, 0}, {6, 128}); }},
      {"pad", {m}, [](auto& x) { return pl::pad(x[0], {{1, 2}, {0, 128}}, 0.5f); }},
      {"tile", {m}, [](auto& x) { return pl::tile(x[0], {2, 1, 3}); }},
      {"repeat", {m}, [](auto& x) { return pl::repeat(x[0], 3, 0); }},
      {"split", {m}, [](auto& x) { return pl::split(x[0], 4, 1)[2]; }},
      {"tril", {m}, [](auto& x) { return pl::tril(x[0], 3); }},
      {"triu", {m}, [](auto& x) { return pl::triu(x[0], -2); }},
      {"take",
       {m},
       [](auto& x) {
         const Array i = pl::broadcasted_iota(pl::i32, {8, 128}, 1);
         return pl::take_along_axis(x[0], 127 - i, 1);
       }},
      {"broadcast_in_dim", {m}, [](auto& x) { return pl::broadcast_in_dim(x[0], {8, 2, 128}, {0, 2}); }},
      {"iota", {m}, [](auto& x) { return x[0] + pl::arange(128) * pl::broadcasted_iota(pl::f32, {8, 128}, 0); }},
  };
}

std::vector<Named> reductions() {
  const Array m = numbers({8, 128}), b = numbers({16, 128}, pl::bf16), i = numbers({8, 128}, pl::i32);
  const Array c = numbers({4, 8, 128});
  return {
      {"sum", {m}, [](auto& x) { return pl::sum(x[0], 1); }},
      {"sum_rows", {m}, [](auto& x) { return pl::sum(x[0], pl::Axes{{0}, true}); }},
      {"sum_all", {m}, [](auto& x) { return pl::sum(x[0]); }},
      {"sum_two", {c}, [](auto& x) { return pl::sum(x[0], pl::Axes{{0, 2}}); }},
      {"sum_bf16", {b}, [](auto& x) { return pl::sum(x[0], 1); }},
      {"sum_i32", {i}, [](auto& x) { return pl::sum(x[0], 1); }},
      {"max", {m}, [](auto& x) { return pl::max(x[0], 1); }},
      {"min_all", {m}, [](auto& x) { return pl::min(x[0]); }},
      {"max_bf16", {b}, [](auto& x) { return pl::max(x[0], 0); }},
      {"max_i32", {i}, [](auto& x) { return pl::max(x[0], 0); }},
      {"mean", {m}, [](auto& x) { return pl::mean(x[0], 1); }},
      {"var", {m}, [](auto& x) { return pl::var(x[0], pl::Axes{{1}, true}); }},
      {"any", {m}, [](auto& x) { return pl::where(pl::any(x[0] > 6.4f, pl::Axes{{1}, true}), x[0], 0); }},
      {"all_scalar", {m}, [](auto& x) { return pl::where(pl::all(x[0] > -7), x[0], 0); }},
      {"argmax", {m}, [](auto& x) { return pl::argmax(x[0], 1); }},
      {"argmin_bf16", {b}, [](auto& x) { return pl::argmin(x[0], 0); }},
      {"softmax", {m}, [](auto& x) { return pl::softmax(x[0]); }},
      {"softmax_bf16", {b}, [](auto& x) { return pl::softmax(x[0], 0); }},
  };
}

std::vector<Named> products() {
  const Array a = numbers({8, 128}), b = numbers({128, 128}), t = numbers({16, 128});
  const Array c = numbers({2, 8, 128}), d = numbers({2, 128, 128});
  return {
      {"matmul", {a, b}, [](auto& x) { return pl::matmul(x[0], x[1]); }},
      {"matmul_batch", {c, d}, [](auto& x) { return pl::matmul(x[0], x[1]); }},
      {"matmul_shared", {c, b}, [](auto& x) { return pl::matmul(x[0], x[1]); }},
      {"einsum_transposed", {a, t}, [](auto& x) { return pl::einsum("ij,kj->ik", x[0], x[1]); }},
      {"einsum_output", {a, t}, [](auto& x) { return pl::einsum("ij,kj->ki", x[0], x[1]); }},
      {"einsum_batch", {c, d}, [](auto& x) { return pl::einsum("bij,bjk->bik", x[0], x[1]); }},
  };
}

class Ops : public testing::TestWithParam<Named> {};
TEST_P(Ops, SameInsideKernelsAndOutside) { expectSame(GetParam().op, GetParam().inputs); }
const auto named = [](const auto& info) { return std::string(info.param.name); };
INSTANTIATE_TEST_SUITE_P(Shape, Ops, testing::ValuesIn(shapeOps()), named);
INSTANTIATE_TEST_SUITE_P(Reduce, Ops, testing::ValuesIn(reductions()), named);
INSTANTIATE_TEST_SUITE_P(Dot, Ops, testing::ValuesIn(products()), named);

TEST(OpsErrors, SM6307_ReachesOutsideTheOperand) {
  const Array x = numbers({8, 128});
  const auto sliced = pl::attempt([&] { return pl::slice(x, {0, 0}, {9, 128}); });
  ASSERT_FALSE(sliced);
  EXPECT_EQ(sliced.error().code, "SM6307");
  EXPECT_EQ(sliced.error().need, "0 <= start <= limit <= 8 in axis 0");
}

}  // namespace
