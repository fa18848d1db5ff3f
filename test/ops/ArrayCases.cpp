#include "Cases.h"

namespace smalti::ops::test {
namespace {

constexpr double kSum = 2e-6;  ///< sums and products in another order
constexpr double kBf16 = 1.0 / 128;

void conversions(std::vector<Case>& cases) {
  const DType types[] = {DType::f32, DType::bf16, DType::f8e5m2, DType::f8e4m3fn, DType::i8,
                         DType::i16, DType::i32,  DType::u8,     DType::u32,      DType::pred};
  const char* names[] = {"float32", "bfloat16", "float8_e5m2", "float8_e4m3fn", "int8",
                         "int16",   "int32",    "uint8",       "uint32",        "bool_"};
  for (const DType from : types)
    for (size_t to = 0; to < std::size(types); ++to) {
      // Negative floats to unsigned integers are nobody's to say.
      const bool wild = is_float(from) && !is_float(types[to]) && types[to] != DType::pred;
      const Array x = wild ? abs(numbers({32, 128}, from)) : numbers({32, 128}, from);
      cases.push_back(
          {std::string("a.astype(jnp.") + names[to] + ")", {x}, [t = types[to]](auto& x) { return astype(x[0], t); }});
    }
}

void shapes(std::vector<Case>& cases) {
  for (const DType t : {DType::f32, DType::bf16, DType::i32, DType::i8}) {
    const Array m = numbers({32, 128}, t), c = numbers({2, 32, 128}, t);
    const std::vector<Case> rows{
        {"jnp.reshape(a, (64, -1))", {c}, [](auto& x) { return reshape(x[0], {64, -1}); }},
        {"a.T", {m}, [](auto& x) { return transpose(x[0]); }},
        {"jnp.transpose(a, (1, 0, 2))", {c}, [](auto& x) { return transpose(x[0], {1, 0, 2}); }},
        {"jnp.swapaxes(a, -1, -2)", {c}, [](auto& x) { return swapaxes(x[0], -1, -2); }},
        {"jnp.expand_dims(a, 1)", {m}, [](auto& x) { return expand_dims(x[0], 1); }},
        {"jnp.concatenate([a, b], 1)", {m, m}, [](auto& x) { return concatenate({x[0], x[1]}, 1); }},
        {"jnp.stack([a, b], 0)", {m, m}, [](auto& x) { return stack({x[0], x[1]}); }},
        {"a[8:24]", {m}, [](auto& x) { return slice(x[0], {8, 0}, {24, 128}); }},
        {"a[::3, 1::2]", {m}, [](auto& x) { return slice(x[0], {0, 1}, {32, 128}, {3, 2}); }, 0, false},
        {"jnp.pad(a, ((1, 2), (0, 3)), constant_values=5)",
         {m},
         [](auto& x) { return pad(x[0], {{1, 2}, {0, 3}}, 5); }},
        {"jnp.tile(a, (2, 1, 3))", {m}, [](auto& x) { return tile(x[0], {2, 1, 3}); }},
        {"jnp.repeat(a, 3, 0)", {m}, [](auto& x) { return repeat(x[0], 3, 0); }},
        {"jnp.split(a, 4, 0)[1]", {m}, [](auto& x) { return split(x[0], 4, 0)[1]; }},
        {"jnp.tril(a, 2)", {m}, [](auto& x) { return tril(x[0], 2); }},
        {"jnp.triu(a, -3)", {m}, [](auto& x) { return triu(x[0], -3); }},
        {"jnp.roll(a, 5, 1)", {m}, [](auto& x) { return roll(x[0], 5, 1); }},
        {"jnp.broadcast_to(a, (3, 32, 128))", {m}, [](auto& x) { return broadcast_to(x[0], {3, 32, 128}); }},
    };
    cases.insert(cases.end(), rows.begin(), rows.end());
  }
  const Array m = numbers({8, 128}, DType::f32);
  cases.push_back({"jnp.take_along_axis(a, 127 - lax.broadcasted_iota(np.int32, (8, 128), 1), 1)", {m}, [](auto& x) {
                     return take_along_axis(x[0], 127 - broadcasted_iota(DType::i32, {8, 128}, 1), 1);
                   }});
  cases.push_back(
      {"jnp.arange(128) + a.astype(jnp.int32)", {m}, [](auto& x) { return arange(128) + astype(x[0], DType::i32); }});
  cases.push_back({"a.reshape(8, 8, 16).transpose(1, 0, 2)", {m}, [](auto& x) {
                     return einshape("a(bc)->bac", x[0], {{'b', 8}});
                   }});
}

void reductions(std::vector<Case>& cases) {
  for (const DType t : {DType::f32, DType::bf16}) {
    const double sums = t == DType::bf16 ? kBf16 : kSum;
    for (const Array& m : {numbers({16, 128}, t), special({16, 128}, t)}) {
      const std::vector<Case> rows{
          {"jnp.sum(a, 1)", {m}, [](auto& x) { return sum(x[0], 1); }, sums},
          {"jnp.sum(a)", {m}, [](auto& x) { return sum(x[0]); }, sums, t == DType::f32},
          {"jnp.max(a, 1)", {m}, [](auto& x) { return max(x[0], 1); }},
          {"jnp.min(a, 0, keepdims=True)", {m}, [](auto& x) { return min(x[0], Axes{{0}, true}); }},
          {"jnp.mean(a, 0)", {m}, [](auto& x) { return mean(x[0], 0); }, sums},
          {"jnp.argmax(a, 1)", {m}, [](auto& x) { return argmax(x[0], 1); }},
          {"jnp.argmin(a, 0)", {m}, [](auto& x) { return argmin(x[0], 0); }},
          {"jnp.any(a > 6, 1)", {m}, [](auto& x) { return any(x[0] > 6, Axes{{1}}); }},
          {"jnp.all(a > -6, 1)", {m}, [](auto& x) { return all(x[0] > -6, Axes{{1}}); }},
          {"jnp.var(a, 1)", {m}, [](auto& x) { return var(x[0], Axes{{1}}); }, sums * 4},
          {"jax.nn.softmax(a, 1)", {m}, [](auto& x) { return softmax(x[0], 1); }, sums * 2},
          {"jax.nn.log_softmax(a, 1)", {m}, [](auto& x) { return log_softmax(x[0], 1); }, sums * 2},
          {"jax.nn.logsumexp(a, 1)", {m}, [](auto& x) { return logsumexp(x[0], {{1}}); }, sums * 2},
      };
      cases.insert(cases.end(), rows.begin(), rows.end());
    }
  }
  for (const DType t : {DType::i32, DType::i8, DType::u8, DType::pred}) {
    const Array m = numbers({32, 128}, t);
    const bool kernel = t == DType::i32;
    cases.push_back({"jnp.sum(a, 1)", {m}, [](auto& x) { return sum(x[0], 1); }, 0, t != DType::u8});
    cases.push_back({"jnp.prod(a, 1)", {m}, [](auto& x) { return prod(x[0], Axes{{1}}); }, 0, false});
    cases.push_back({"jnp.max(a, 0)", {m}, [](auto& x) { return max(x[0], 0); }, 0, kernel});
    cases.push_back({"jnp.min(a)", {m}, [](auto& x) { return min(x[0]); }, 0, kernel});
    cases.push_back({"jnp.argmax(a, 1)", {m}, [](auto& x) { return argmax(x[0], 1); }, 0, false});
    cases.push_back({"jnp.any(a, 1)", {m}, [](auto& x) { return any(x[0], Axes{{1}}); }});
    cases.push_back({"jnp.mean(a, 1)", {m}, [](auto& x) { return mean(x[0], 1); }, kSum, t != DType::u8});
  }
  const Array none = numbers({0, 128}, DType::f32);
  cases.push_back({"jnp.sum(a, 0)", {none}, [](auto& x) { return sum(x[0], 0); }, 0, false});
  cases.push_back({"jnp.prod(a)", {none}, [](auto& x) { return prod(x[0]); }, 0, false});
}

void products(std::vector<Case>& cases) {
  for (const DType t : {DType::f32, DType::bf16}) {
    const double tolerance = t == DType::bf16 ? kBf16 : kSum;
    const Array a = numbers({8, 128}, t), b = numbers({128, 256}, t, 1), c = numbers({2, 8, 128}, t),
                d = numbers({2, 128, 128}, t, 2), e = numbers({16, 128}, t, 3);
    const std::vector<Case> rows{
        {"jnp.dot(a, b)", {a, b}, [](auto& x) { return dot(x[0], x[1]); }, tolerance},
        {"jnp.matmul(a, b)", {a, b}, [](auto& x) { return matmul(x[0], x[1]); }, tolerance},
        {"jnp.matmul(a, b)", {c, d}, [](auto& x) { return matmul(x[0], x[1]); }, tolerance},
        {"jnp.matmul(a, b)", {c, b}, [](auto& x) { return matmul(x[0], x[1]); }, tolerance},
        {"jnp.einsum('ij,kj->ik', a, b)", {a, e}, [](auto& x) { return einsum("ij,kj->ik", x[0], x[1]); }, tolerance},
        {"jnp.einsum('ij,kj->ki', a, b)", {a, e}, [](auto& x) { return einsum("ij,kj->ki", x[0], x[1]); }, tolerance},
        {"jnp.einsum('bij,bjk->bik', a, b)",
         {c, d},
         [](auto& x) { return einsum("bij,bjk->bik", x[0], x[1]); },
         tolerance},
        {"jnp.dot(a[0], b)",
         {a, b},
         [](auto& x) { return dot(squeeze(slice(x[0], {0, 0}, {1, 128})), x[1]); },
         tolerance},
        {"jnp.dot(a, b[1])",
         {a, e},
         [](auto& x) { return dot(x[0], squeeze(slice(x[1], {1, 0}, {2, 128}))); },
         tolerance},
        {"jnp.dot(a[0], b[1])",
         {a, e},
         [](auto& x) { return dot(squeeze(slice(x[0], {0, 0}, {1, 128})), squeeze(slice(x[1], {1, 0}, {2, 128}))); },
         tolerance,
         t == DType::f32},
        {"jnp.einsum('bij,bkj->bik', a, a)",
         {c},
         [](auto& x) { return einsum("bij,bkj->bik", x[0], x[0]); },
         tolerance},
        {"jnp.dot(a, b, preferred_element_type=jnp.float32)",
         {a, b},
         [](auto& x) { return dot(x[0], x[1], {.preferred_element_type = DType::f32}); },
         kSum},
    };
    cases.insert(cases.end(), rows.begin(), rows.end());
  }
  for (const DType t : {DType::f32, DType::bf16}) {
    const double tolerance = t == DType::bf16 ? kBf16 : kSum;
    const Array a = numbers({16, 128}, t), b = numbers({16, 8, 128}, t), c = numbers({128, 8}, t, 1),
                row = numbers({1, 128}, t, 2);
    const std::vector<Case> rows{
        // XLA on the CPU would round every partial sum of this one to bf16.
        {"jnp.einsum('ij,ikl->jkl', a.astype(jnp.float32), b.astype(jnp.float32)).astype(a.dtype)",
         {a, b},
         [](auto& x) { return einsum("ij,ikl->jkl", x[0], x[1]); },
         tolerance},
        {"jnp.einsum('ij->ji', a)", {a}, [](auto& x) { return einsum("ij->ji", x[0]); }},
        {"jnp.einsum('ba', a)", {a}, [](auto& x) { return einsum("ba", x[0]); }},
        // Between products JAX rounds to the operands' dtype too, after another order of sums.
        {"jnp.einsum('ij,jk,kl->il', a, b, c)",
         {a, c, numbers({8, 128}, t, 2)},
         [](auto& x) { return einsum("ij,jk,kl->il", x[0], x[1], x[2]); },
         t == DType::bf16 ? 3 * kBf16 : 4 * kSum},
        {"jnp.einsum('ij,kj->ik', a, b)",
         {a, row},
         [](auto& x) { return einsum("ij,kj->ik", x[0], x[1]); },
         tolerance,
         t == DType::f32},
        {"lax.dot_general(a.astype(jnp.float32), b.astype(jnp.float32), (((1,), (1,)), ((), ())))",
         {a, row},
         [](auto& x) { return dot_general(x[0], x[1], {{1}, {1}, {}, {}}, {.preferred_element_type = DType::f32}); },
         kSum,
         t == DType::f32},
    };
    cases.insert(cases.end(), rows.begin(), rows.end());
  }
  cases.push_back(
      {"lax.dot_general(a, b, (((1,), (1,)), ((), ())), preferred_element_type=jnp.int32)",
       {numbers({32, 128}, DType::i8), numbers({1, 128}, DType::i8, 1)},
       [](auto& x) { return dot_general(x[0], x[1], {{1}, {1}, {}, {}}, {.preferred_element_type = DType::i32}); }});
  const Array few = numbers({16, 128}, DType::f32), wide = numbers({128, 256}, DType::f32, 1);
  cases.push_back({"jnp.matmul(a > 5, b > 5)", {few, wide}, [](auto& x) { return matmul(x[0] > 5, x[1] > 5); }});
  cases.push_back({"jnp.matmul(a > 5, b > 5, preferred_element_type=jnp.int32)",
                   {few, wide},
                   [](auto& x) { return matmul(x[0] > 5, x[1] > 5, {.preferred_element_type = DType::i32}); },
                   0,
                   false});
  cases.push_back({"jnp.dot(a, b, preferred_element_type=jnp.int32)",
                   {numbers({32, 128}, DType::i8), numbers({128, 128}, DType::i8, 1)},
                   [](auto& x) { return dot(x[0], x[1], {.preferred_element_type = DType::i32}); }});
}

/// S-L1: bits of jax.random. (XLA on the CPU fuses the multiplication and addition of a range.)
void random(std::vector<Case>& cases) {
  const auto key = [] { return random_key(42); };
  cases.push_back({"jax.random.bits(key(42), (8, 128))", {}, [=](auto&) { return random_bits(key(), {8, 128}); }});
  cases.push_back({"jax.random.bits(key(42), (16, 128), 'uint16')", {}, [=](auto&) {
                     return random_bits(key(), {16, 128}, DType::u16);
                   }});
  cases.push_back({"jax.random.uniform(key(42), (8, 128))", {}, [=](auto&) { return uniform(key(), {8, 128}); }});
  cases.push_back({"jax.random.uniform(key(42), (8, 128), minval=-3., maxval=2.)",
                   {},
                   [=](auto&) { return uniform(key(), {8, 128}, DType::f32, -3, 2); },
                   5e-7});
  cases.push_back({"jax.random.uniform(key(42), (16, 128), jnp.bfloat16)", {}, [=](auto&) {
                     return uniform(key(), {16, 128}, DType::bf16);
                   }});
  cases.push_back({"jax.random.normal(key(42), (8, 128))", {}, [=](auto&) { return normal(key(), {8, 128}); }, 1e-5});
  cases.push_back(
      {"jax.random.bernoulli(key(42), 0.3, (8, 128))", {}, [=](auto&) { return bernoulli(key(), 0.3, {8, 128}); }});
  cases.push_back({"jax.random.bits(jax.random.split(key(42), 3)[2], (8, 128))", {}, [=](auto&) {
                     return random_bits(split(key(), 3)[2], {8, 128});
                   }});
  cases.push_back({"jax.random.bits(jax.random.fold_in(key(42), 7), (8, 128))", {}, [=](auto&) {
                     return random_bits(fold_in(key(), 7), {8, 128});
                   }});
  const auto integers = [&](const char* jax, int64_t low, int64_t high, DType t = DType::i32) {
    cases.push_back({jax, {}, [=](auto&) { return randint(key(), {32, 128}, low, high, t); }});
  };
  integers("jax.random.randint(key(42), (32, 128), 0, 10)", 0, 10);
  integers("jax.random.randint(key(42), (32, 128), -1000, 100000)", -1000, 100000);
  integers("jax.random.randint(key(42), (32, 128), 5, 5)", 5, 5);
  integers("jax.random.randint(key(42), (32, 128), -2**31, 2**31 - 1)", INT32_MIN, INT32_MAX);
  integers("jax.random.randint(key(42), (32, 128), -5, 100, 'int8')", -5, 100, DType::i8);
  integers("jax.random.randint(key(42), (32, 128), -1000, 1000, 'int8')", -1000, 1000, DType::i8);
  integers("jax.random.randint(key(42), (32, 128), 0, 256, 'uint8')", 0, 256, DType::u8);
  integers("jax.random.randint(key(42), (32, 128), 3, 20, 'uint8')", 3, 20, DType::u8);
  integers("jax.random.randint(key(42), (32, 128), -7, 30000, 'int16')", -7, 30000, DType::i16);
  integers("jax.random.randint(key(42), (32, 128), 0, 2**31 - 1, 'uint32')", 0, INT32_MAX, DType::u32);
  cases.push_back({"jax.random.randint(key(42), (32, 128), a, a + 1 + b)",
                   {numbers({32, 128}, DType::i32), abs(numbers({32, 128}, DType::i32, 3))},
                   [=](auto& x) { return randint(key(), {32, 128}, x[0], x[0] + 1 + x[1]); }});
  cases.push_back(
      {"pltpu.sample_block(jax.random.uniform, key(42), (16, 256), (8, 128), (64, 512), (2, 1))", {}, [=](auto&) {
         return sample_block([](const Key& k, const Shape& shape) { return uniform(k, shape); }, key(), {16, 256},
                             {8, 128}, {64, 512}, {2, 1});
       }});
}

}  // namespace

std::vector<Case> arrayCases() {
  std::vector<Case> cases;
  conversions(cases);
  shapes(cases);
  reductions(cases);
  products(cases);
  random(cases);
  return cases;
}

}  // namespace smalti::ops::test
