// Ops give the same inside a kernel and outside, bit for bit.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "Helpers.h"
#include "smalti/smalti.h"

namespace pl = smalti;
using pl::_;
using pl::Array;
using smalti::testing::codeOf;

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
      {"einsum_one", {c}, [](auto& x) { return pl::einsum("bij->jb", x[0]); }},
      {"einsum_three", {a, b, t}, [](auto& x) { return pl::einsum("ij,jk,lk->il", x[0], x[1], x[2]); }},
      {"rows_i8",
       {numbers({32, 128}, pl::i8), numbers({1, 128}, pl::i8)},
       [](auto& x) { return pl::einsum("ij,kj->ik", x[0], x[1], {.preferred_element_type = pl::i32}); }},
  };
}

std::vector<Named> tpuOps() {
  const Array m = numbers({8, 128}), b = numbers({16, 128}, pl::bf16), i = numbers({8, 128}, pl::i32);
  const auto bits = [] { return pl::random_bits(pl::random_key(3), {8, 128}); };
  return {
      {"reciprocal", {m}, [](auto& x) { return pl::reciprocal(x[0]); }},
      {"reciprocal_approx", {m}, [](auto& x) { return pl::reciprocal(x[0] + 9, true); }},
      {"roll", {m}, [](auto& x) { return pl::roll(x[0], 5, 1); }},
      {"roll_strided", {m}, [](auto& x) { return pl::roll(x[0], 3, 1, 2, 0); }},
      {"bitcast_narrow", {m}, [](auto& x) { return pl::bitcast(x[0], pl::bf16); }},
      {"bitcast_wide", {b}, [](auto& x) { return pl::bitcast(x[0], pl::u32); }},
      {"pack", {m, m}, [](auto& x) { return pl::pack_elementwise({x[0], x[1] * 2}, pl::bf16); }},
      {"unpack",
       {i},
       [](auto& x) {
         return pl::unpack_elementwise(pl::bitcast_convert_type(x[0] * 77, pl::u32), 1, pl::i8, pl::i32);
       }},
      {"stochastic_round", {m}, [=](auto& x) { return pl::stochastic_round(x[0] / 3, bits(), pl::bf16); }},
      {"einshape", {m}, [](auto& x) { return pl::einshape("a(bc)->bac", x[0], {{'b', 8}}); }},
      {"random_bits", {}, [=](auto&) { return bits(); }},
      {"split_fold",
       {},
       [](auto&) {
         const auto keys = pl::split(pl::fold_in(pl::random_key(1), 7), 3);
         return pl::uniform(keys[2], {8, 128}, pl::f32, -2, 3);
       }},
      {"uniform_bf16", {}, [](auto&) { return pl::uniform(pl::random_key(1), {16, 128}, pl::bf16); }},
      {"normal", {}, [](auto&) { return pl::normal(pl::random_key(5), {8, 128}); }},
      {"randint", {}, [](auto&) { return pl::randint(pl::random_key(5), {8, 128}, -5, 1000); }},
      {"randint_bounds", {i}, [](auto& x) { return pl::randint(pl::random_key(5), {8, 128}, x[0], x[0] * x[0] + 3); }},
      {"sample_block",
       {},
       [](auto&) {
         return pl::sample_block([](const pl::Key& k, const pl::Shape& s) { return pl::uniform(k, s); },
                                 pl::random_key(5), {16, 256}, {8, 128}, {64, 512}, {1, 1});
       }},
      {"bernoulli", {m}, [](auto& x) { return pl::where(pl::bernoulli(pl::random_key(5), 0.3, {8, 128}), x[0], 0); }},
  };
}

std::vector<Named> mathOps() {
  const Array m = numbers({8, 128}), b = numbers({16, 128}, pl::bf16), i = numbers({8, 128}, pl::i32);
  return {
      {"sign", {m}, [](auto& x) { return pl::sign(x[0]); }},
      {"sign_i32", {i}, [](auto& x) { return pl::sign(x[0]); }},
      {"exp2", {m}, [](auto& x) { return pl::exp2(x[0]); }},
      {"exp2_bf16", {b}, [](auto& x) { return pl::exp2(x[0]); }},
      {"is_finite", {m}, [](auto& x) { return pl::where(pl::is_finite(1 / x[0]), x[0], 0); }},
      {"is_finite_bf16", {b}, [](auto& x) { return pl::where(pl::is_finite(1 / x[0]), x[0], 0); }},
      {"erf_inv", {m}, [](auto& x) { return pl::erf_inv(x[0] / 6.0f); }},
      {"nextafter", {m}, [](auto& x) { return pl::nextafter(x[0], 0.5f); }},
      {"nextafter_bf16", {b}, [](auto& x) { return pl::nextafter(x[0], -1); }},
      {"compare_bools",
       {m},
       [](auto& x) {
         const Array p = x[0] > 0, q = x[0] > -3;
         Array sum = pl::zeros({8, 128}, pl::i32);
         int weight = 1;
         for (const Array& c : {p == q, p != q, p<q, p <= q, p> q, p >= q, q < p}) {
           sum = sum + pl::astype(c, pl::i32) * weight;
           weight *= 2;
         }
         return sum;
       }},
      {"stop_gradient", {m}, [](auto& x) { return pl::stop_gradient(x[0]) * 2; }},
      {"relu", {m}, [](auto& x) { return pl::relu(x[0]); }},
      {"silu", {m}, [](auto& x) { return pl::silu(x[0]); }},
      {"gelu", {m}, [](auto& x) { return pl::gelu(x[0]); }},
      {"gelu_bf16", {b}, [](auto& x) { return pl::gelu(x[0]); }},
      {"gelu_exact", {m}, [](auto& x) { return pl::gelu(x[0], false); }},
      {"softplus", {m}, [](auto& x) { return pl::softplus(x[0]); }},
      {"logsumexp", {m}, [](auto& x) { return pl::logsumexp(x[0], {{1}}); }},
      {"log_softmax", {m}, [](auto& x) { return pl::log_softmax(x[0]); }},
      {"to_i8", {m}, [](auto& x) { return pl::astype(x[0] * 60, pl::i8); }},
      {"to_u8", {m}, [](auto& x) { return pl::astype(x[0] * 60, pl::u8); }},
      {"to_f8", {m}, [](auto& x) { return pl::astype(x[0], pl::f8e4m3fn); }},
      {"bf16_to_f8", {b}, [](auto& x) { return pl::astype(pl::astype(x[0], pl::f8e5m2), pl::bf16); }},
      {"i32_to_bf16", {i}, [](auto& x) { return pl::astype(x[0] * 123457, pl::bf16); }},
      {"i8_to_f32", {numbers({32, 128}, pl::i8)}, [](auto& x) { return pl::astype(x[0], pl::f32); }},
      {"i8_to_i16", {numbers({32, 128}, pl::i8)}, [](auto& x) { return pl::astype(x[0], pl::i16); }},
      {"u8_to_bf16", {numbers({32, 128}, pl::u8)}, [](auto& x) { return pl::astype(x[0], pl::bf16); }},
      {"bf16_to_bool", {b}, [](auto& x) { return pl::where(pl::astype(x[0], pl::pred), x[0], 7); }},
  };
}

class Ops : public testing::TestWithParam<Named> {};
TEST_P(Ops, SameInsideKernelsAndOutside) { expectSame(GetParam().op, GetParam().inputs); }
const auto named = [](const auto& info) { return std::string(info.param.name); };
INSTANTIATE_TEST_SUITE_P(Shape, Ops, testing::ValuesIn(shapeOps()), named);
INSTANTIATE_TEST_SUITE_P(Reduce, Ops, testing::ValuesIn(reductions()), named);
INSTANTIATE_TEST_SUITE_P(Math, Ops, testing::ValuesIn(mathOps()), named);
INSTANTIATE_TEST_SUITE_P(Tpu, Ops, testing::ValuesIn(tpuOps()), named);
INSTANTIATE_TEST_SUITE_P(Dot, Ops, testing::ValuesIn(products()), named);

TEST(Bools, SD10_OperandsAndResultsAreBoolsOutsideAndWordsInMemory) {
  const Array x = numbers({8, 128}), mask = x > 1;
  const auto call =
      pl::pallas_call([](pl::Ref mask, pl::Ref x, pl::Ref o) { o[_] = pl::logical_and(mask[_], x[_] < 3); },
                      {.out_shape = pl::ShapeDtype{{8, 128}, pl::pred}});
  const Array inside = call(mask, x), outside = pl::logical_and(mask, x < 3);
  ASSERT_EQ(inside.type().str(), outside.type().str());
  EXPECT_EQ(std::memcmp(inside.data(), outside.data(), outside.bytes()), 0);
  EXPECT_TRUE(call.check(mask, x).findings.empty());
}

TEST(Random, SL2_SeededBitsRepeat) {
  const auto draw = [](int seed) {
    return pl::Array(pl::pallas_call(
        [=](pl::Ref o) {
          pl::prng_seed(seed, 1);
          o[_] = pl::prng_random_bits({8, 128});
        },
        {.out_shape = pl::ShapeDtype{{8, 128}, pl::i32}})());
  };
  const Array a = draw(1), b = draw(1), c = draw(2);
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.bytes()), 0);
  EXPECT_NE(std::memcmp(a.data(), c.data(), a.bytes()), 0);
}

TEST(RowProducts, NarrowNumbersAreSummedInF32) {
  // (m, k) by (1, k), which the vector unit computes: the sums are in another order than outside.
  const Array x = numbers({16, 128}, pl::bf16), y = numbers({1, 128}, pl::bf16);
  const auto product = [](const auto& x, const auto& y, auto t) {
    return pl::einsum("ij,kj->ik", x, y, {.preferred_element_type = t});
  };
  for (const pl::DType t : {pl::f32, pl::bf16}) {
    const auto call = pl::pallas_call([&](pl::Ref x, pl::Ref y, pl::Ref o) { o[_] = product(x[_], y[_], t); },
                                      {.out_shape = pl::ShapeDtype{{16, 1}, t}});
    EXPECT_EQ(call.lower(x, y).mosaic().find("tpu.matmul"), std::string::npos);
    const Array inside = pl::astype(call(x, y)[0], pl::f32), outside = pl::astype(product(x, y, t), pl::f32);
    for (int64_t i = 0; i < 16; ++i)
      EXPECT_NEAR(inside.as<float>()[i], outside.as<float>()[i], t == pl::f32 ? 1e-3 : 4) << i;
  }
}

TEST(Random, KeysComeFromSmem) {
  const pl::Key key = pl::random_key(42);
  const Array now = pl::uniform(key, {8, 128});
  pl::BlockSpec smem;
  smem.memory_space = pl::MemorySpace::smem;
  const Array kernel =
      pl::pallas_call([](pl::Ref key, pl::Ref o) { o[_] = pl::uniform({key[{0}], key[{1}]}, {8, 128}); },
                      {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32}, .in_specs = {smem}})(pl::key_data(key));
  EXPECT_EQ(std::memcmp(now.data(), kernel.data(), now.bytes()), 0);
}

TEST(MatrixUnit, ProductByHand) {
  const Array x = numbers({8, 128}), y = numbers({128, 128});
  const auto queue = pl::pallas_call(
      [](pl::Ref x, pl::Ref y, pl::Ref o) {
        pl::matmul_push_rhs(y[_], 0, 0);
        pl::matmul_lhs_fifo(x[_], 0, 0);
        o[_] = pl::matmul_pop_fifo({8, 128}, pl::f32, 0);
      },
      {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32}});
  const auto accumulator = pl::pallas_call(
      [](pl::Ref x, pl::Ref y, pl::Ref o) {
        pl::matmul_push_rhs(y[_], 0, 0);
        pl::matmul_acc_lhs(0, x[_], 0, 0);
        pl::matmul_acc_lhs(0, x[_], 0);
        o[_] = pl::matmul_pop(0, {8, 128}, pl::f32, 0);
      },
      {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32}});
  const Array product = pl::dot(x, y), once = queue(x, y), twice = accumulator(x, y);
  for (int64_t i = 0; i < product.elements(); ++i) {
    EXPECT_NEAR(once.as<float>()[i], product.as<float>()[i], 1e-2);
    EXPECT_NEAR(twice.as<float>()[i], 2 * product.as<float>()[i], 2e-2);
  }
}

TEST(OpsErrors, SM6307_ReachesOutsideTheOperand) {
  const Array x = numbers({8, 128});
  const auto sliced = pl::attempt([&] { return pl::slice(x, {0, 0}, {9, 128}); });
  ASSERT_FALSE(sliced);
  EXPECT_EQ(sliced.error().code, "SM6307");
  EXPECT_EQ(sliced.error().need, "0 <= start <= limit <= 8 in axis 0");
}

/// As in JAX, a dtype that is given is meant: it is not weak, whatever the number's own.
TEST(Ops, ArraysFilledWithADtypeAreNotWeak) {
  EXPECT_FALSE(pl::full({3}, 1.5f, pl::f32).weak_type());
  EXPECT_FALSE(pl::full({3}, 300, pl::i32).weak_type());
  EXPECT_TRUE(pl::full({3}, 1.5f).weak_type());
  const Array bytes = pl::full({3}, 1, pl::u8);
  EXPECT_EQ((pl::full({3}, 300, pl::i32) + bytes).as<int32_t>()[0], 301);
  // A sum of bf16 ones ends at 256 if its accumulator is bf16.
  const Array sum = pl::fori_loop(
      0, 512, [](auto, const Array& c) { return c + pl::ones({4}, pl::bf16); }, pl::full({4}, 0.f, pl::f32));
  EXPECT_EQ(sum.as<float>()[0], 512);
}

TEST(Ops, UnsignedNumbersKeepTheirValue) {
  EXPECT_EQ((pl::full({2}, 1.f) * 3000000000u).as<float>()[0], 3e9f);
  EXPECT_EQ(pl::full({2}, 0xffffffffu, pl::i64).as<int64_t>()[1], 0xffffffff);
  EXPECT_EQ(pl::full({2}, ~0ull, pl::u64).as<uint64_t>()[1], ~0ull);
  EXPECT_EQ((pl::full({2}, 5, pl::u32) & 0xfffffffeu).as<uint32_t>()[0], 4u);
  EXPECT_EQ((pl::full({2}, 5, pl::i32) & 0xfffffffeu).as<int32_t>()[0], 4);
  EXPECT_EQ((0xfffffffeu ^ pl::full({2}, 5, pl::i8)).as<int8_t>()[0], -5);
  EXPECT_EQ(pl::full({2}, uint8_t{200}).dtype(), pl::i32);
}

TEST(Ops, SM6302_NumbersFrom2To31AreNoneOfI32) {
  const Array x = pl::full({2}, 5);
  const auto add = pl::attempt([&] { return x + 3000000000LL; });
  ASSERT_FALSE(add);
  EXPECT_EQ(add.error().message, "'add' has no implicit conversion of 3000000000 to i32");
  EXPECT_EQ(codeOf([&] { return x < 3000000000u; }), "SM6302");
  EXPECT_EQ(codeOf([&] { return pl::where(x > 1, x, 0x80000000); }), "SM6302");
  EXPECT_EQ(codeOf([&] { return pl::full({2}, 5, pl::i16) * 0xffffffffu; }), "SM6302");
  EXPECT_EQ((pl::full({2}, 5, pl::u32) + 3000000000LL).as<uint32_t>()[0], 3000000005u);
  EXPECT_TRUE((pl::astype(x, pl::i64) < 3000000000u).as<uint8_t>()[0]);
}

TEST(Ops, PowersAndTilesOfExtremeNumbers) {
  EXPECT_EQ(pl::integer_pow(pl::full({}, 2.f), INT32_MIN).as<float>()[0], 0);
  EXPECT_EQ(pl::integer_pow(pl::full({}, 2.f), -2).as<float>()[0], 0.25f);
  const Array tiled = pl::tile(pl::arange(6, pl::f32), {2});
  EXPECT_EQ(tiled.shape(), (pl::Shape{12}));
  EXPECT_EQ(tiled.as<float>()[7], 1);
  EXPECT_EQ(codeOf([] { return pl::tile(pl::ones({4}), {int64_t{1} << 62}); }), "SM6307");
  EXPECT_NE(codeOf([] { return pl::tile(pl::ones({4}), {int64_t{1} << 45}); }), "");
}

TEST(OpsErrors, ComplexNumbersKeepTheirImaginaryPart) {
  const Array c = pl::astype(pl::ones({2}), pl::DType::c64);
  EXPECT_EQ(codeOf([&] { return pl::exp(c); }), "SM6302");
  EXPECT_EQ(codeOf([&] { return c * 2.5f; }), "SM6302");
  EXPECT_EQ(codeOf([&] { return c + pl::ones({2}); }), "SM6302");
  EXPECT_EQ(codeOf([&] { return c / c; }), "SM6302");
}

TEST(OpsErrors, NumbersOutsideOfTheirRangeAreRefused) {
  const auto refusal = [](const auto& work) {
    const auto done = pl::attempt([&] { (void)work(); });
    return done ? std::string() : done.error().code + ": " + done.error().message + ", " + done.error().have;
  };
  EXPECT_EQ(refusal([] { return pl::multiple_of(8, 0); }), "SM6307: 'multiple_of' needs a positive number, 0");
  EXPECT_EQ(refusal([] { return pl::fold_in(pl::random_key(1), pl::arange(3)); }),
            "SM6307: 'fold_in' takes one number, i32[3]");
  EXPECT_EQ(codeOf([] { return pl::fold_in(pl::random_key(1), 0.5f); }), codeOf([] { return pl::random_key(0.5f); }));
  const auto inKernel = [&](const auto& body) {
    const auto call = pl::pallas_call(
        [&](pl::Ref x, pl::Ref o) {
          body(x);
          o[_] = x[_];
        },
        {.out_shape = pl::ShapeDtype{{128, 128}, pl::f32}});
    return refusal([&] { return call(numbers({128, 128})); });
  };
  EXPECT_EQ(inKernel([](pl::Ref x) { pl::matmul_push_rhs(x[_], -1, 0); }),
            "SM6307: the staging register of 'matmul_push_rhs' is below 0, -1");
  EXPECT_EQ(inKernel([](pl::Ref x) { pl::matmul_push_rhs(x[_], 0, -2); }),
            "SM6307: the matrix unit of 'matmul_push_rhs' is below 0, -2");
  EXPECT_EQ(inKernel([](pl::Ref x) { pl::matmul_acc_lhs(-1, x[_], 0); }),
            "SM6307: the accumulator of 'matmul_acc_lhs' is below 0, -1");
  EXPECT_EQ(inKernel([](pl::Ref x) { pl::matmul_lhs_fifo(x[_], 0, -1); }),
            "SM6307: the staging register of 'matmul_lhs_fifo' is below 0, -1");
  EXPECT_EQ(inKernel([](pl::Ref) { (void)pl::matmul_pop_fifo({128, 128}, pl::f32, -1); }),
            "SM6307: the matrix unit of 'matmul_pop_fifo' is below 0, -1");
}

TEST(OpsErrors, KeysAreMadeOfWords) {
  const auto refusal = [](const auto& work) {
    const auto done = pl::attempt([&] { (void)work(); });
    return done ? std::string() : done.error().code + ": " + done.error().message + ", " + done.error().have;
  };
  EXPECT_EQ(refusal([] { return pl::Key(1.5, 2); }), "SM6302: 'Key' does not take f32, f32");
  EXPECT_EQ(refusal([] { return pl::Key(pl::full({}, 1, pl::i32), 2); }), "SM6302: 'Key' does not take i32, i32");
  EXPECT_EQ(refusal([] { return pl::Key(0, pl::ones({2}, pl::u32)); }),
            "SM6307: a word of a Key is not a scalar, u32[2]");
  EXPECT_EQ(refusal([] { return pl::split(pl::random_key(1), -1); }),
            "SM6220: 'split' of a key into a negative number of keys, -1");
  EXPECT_TRUE(pl::split(pl::random_key(1), 0).empty());
  const Array numbers = pl::random_bits(pl::Key(0, 42), {4}), same = pl::random_bits(pl::random_key(42), {4});
  EXPECT_EQ(std::memcmp(numbers.data(), same.data(), same.bytes()), 0);
}

/// As jax.random.bernoulli, which takes any number.
TEST(Random, ProbabilitiesOutsideOf0To1AreTheNearestOne) {
  const auto anyAndAll = [](double p) {
    const Array drawn = pl::bernoulli(pl::random_key(3), p, {64});
    return std::pair{*pl::any(drawn).as<uint8_t>() != 0, *pl::all(drawn).as<uint8_t>() != 0};
  };
  EXPECT_EQ(anyAndAll(1.5), std::pair(true, true));
  EXPECT_EQ(anyAndAll(0.5), std::pair(true, false));
  EXPECT_EQ(anyAndAll(-0.5), std::pair(false, false));
  EXPECT_EQ(anyAndAll(std::numeric_limits<double>::quiet_NaN()), std::pair(false, false));
}

/// As numpy.take: there is no element that an index could stand for.
TEST(OpsErrors, NothingIsTakenFromAnEmptyAxis) {
  const auto take = [](const Array& x, const Array& i) { return pl::take(x, i); };
  const Array x = pl::zeros({0, 3}), some = pl::arange(2), none = pl::arange(0);
  EXPECT_EQ(codeOf([&] { return take(x, some); }), "SM6307");
  EXPECT_EQ(codeOf([&] { return pl::jit(take)(x, some); }), "SM6307");
  EXPECT_EQ(take(x, none).shape(), (pl::Shape{0, 3}));
  EXPECT_EQ(pl::take(pl::zeros({0, 3}), some, 1).shape(), (pl::Shape{0, 2}));
}

TEST(Ops, UnsignedIntegersAndBoolsAreTheirAbsoluteValue) {
  for (const pl::DType t : {pl::u8, pl::u16, pl::u32})
    expectSame([](const auto& x) { return pl::abs(x[0]); }, {pl::full({32, 128}, 200, t)});
  const Array yes = pl::abs(pl::full({3}, true));
  EXPECT_EQ(yes.dtype(), pl::pred);
  EXPECT_EQ(yes.as<uint8_t>()[2], 1);
}

/// As jnp.matmul: whether any of the terms is true; numbers on request.
TEST(Ops, ProductsOfBoolsAreBools) {
  const Array x = pl::array(std::vector<int32_t>{1, 0, 0, 1, 1, 0, 0, 0, 0}, {3, 3}) > 0;
  const auto product = [](const Array& x) { return pl::matmul(x, x); };
  for (const Array& got : {product(x), Array(pl::jit(product)(x))}) {
    ASSERT_EQ(got.type().str(), "pred[3,3]");
    EXPECT_EQ(std::vector<int>(got.as<uint8_t>(), got.as<uint8_t>() + 9), (std::vector{1, 0, 0, 1, 1, 0, 0, 0, 0}));
  }
  const Array count = pl::matmul(x, x, {.preferred_element_type = pl::i32});
  ASSERT_EQ(count.type().str(), "i32[3,3]");
  EXPECT_EQ(count.as<int32_t>()[3], 2);
  const Array mixed = pl::matmul(x, pl::ones({3, 3}, pl::i8), {.preferred_element_type = pl::i32});
  EXPECT_EQ(mixed.as<int32_t>()[3], 2);
  expectSame([](const auto& x) { return pl::matmul(x[0] > 5, x[0] > 1); }, {numbers({128, 128})});
}

/// Index i is i modulo the size, whatever the size: as numpy's take_along_axis for those of the array.
TEST(Ops, TakeAlongAxisCountsNegativeIndicesFromTheEnd) {
  for (const int64_t size : {1, 2, 3, 5, 7, 8, 100}) {
    std::vector<float> values;
    std::vector<int32_t> indices;
    for (int64_t i = 0; i < size; ++i) values.push_back(static_cast<float>(10 * i));
    for (int64_t i = -size; i < size; ++i) indices.push_back(static_cast<int32_t>(i));
    const Array x = pl::array(values, {size, 1}), at = pl::array(indices, {2 * size, 1});
    const auto take = [](const Array& from, const Array& i) { return pl::take_along_axis(from, i, 0); };
    const Array kernel =
        inKernel([&](const std::vector<Array>& in) { return take(in[0], in[1]); }, {x, at}, pl::zeros({2 * size, 1}));
    for (const Array& got : {take(x, at), kernel, Array(pl::jit(take)(x, at))})
      for (int64_t i = 0; i < 2 * size; ++i) EXPECT_EQ(got.as<float>()[i], values[static_cast<size_t>(i % size)]) << i;
  }
}

TEST(Ops, SoftmaxOfNothing) {
  const Array none = pl::zeros({4, 0}), noRows = pl::zeros({0, 4});
  EXPECT_EQ(pl::softmax(none).shape(), none.shape());
  EXPECT_EQ(pl::log_softmax(none).shape(), none.shape());
  EXPECT_EQ(pl::softmax(noRows).shape(), noRows.shape());
  EXPECT_EQ(pl::jit([](const Array& x) { return pl::softmax(x); })(none).shape(), none.shape());
  const Array sums = pl::logsumexp(none, {.axes = {1}});
  EXPECT_EQ(sums.shape(), pl::Shape{4});
  EXPECT_EQ(sums.as<float>()[3], -std::numeric_limits<float>::infinity());
  EXPECT_EQ(*pl::logsumexp(none).as<float>(), -std::numeric_limits<float>::infinity());
  EXPECT_EQ(codeOf([&] { return pl::softmax(none, 2); }), "SM6305");
}

}  // namespace
