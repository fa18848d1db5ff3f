#include "Cases.h"

namespace smalti::ops::test {

std::vector<Case> tpuCases() {
  const Array m = numbers({16, 128}, DType::f32), n = numbers({16, 128}, DType::f32, 1),
              h = numbers({16, 128}, DType::bf16), i = numbers({16, 128}, DType::i32),
              u = numbers({16, 128}, DType::u32), b = numbers({32, 128}, DType::i8);
  return {
      {"pl.reciprocal(a)", {m}, [](auto& x) { return reciprocal(x[0]); }},
      {"pl.reciprocal(a, approx=True)", {m}, [](auto& x) { return reciprocal(x[0], true); }},
      {"pltpu.roll(a, 3, 0)", {m}, [](auto& x) { return roll(x[0], 3, 0); }},
      {"pltpu.roll(a, 3, 1)", {m}, [](auto& x) { return roll(x[0], 3, 1); }},
      {"pltpu.roll(a, 3, 1, stride=1, stride_axis=0)", {m}, [](auto& x) { return roll(x[0], 3, 1, 1, 0); }},
      {"pltpu.roll(a, 3, 1)", {h}, [](auto& x) { return roll(x[0], 3, 1); }},
      {"pltpu.roll(a, 3, 1)", {i}, [](auto& x) { return roll(x[0], 3, 1); }},
      {"pltpu.bitcast(a, jnp.int32)", {m}, [](auto& x) { return bitcast(x[0], DType::i32); }},
      {"pltpu.bitcast(a, jnp.int16)", {m}, [](auto& x) { return bitcast(x[0], DType::i16); }},
      {"pltpu.bitcast(a, jnp.uint32)", {h}, [](auto& x) { return bitcast(x[0], DType::u32); }},
      {"pltpu.bitcast(a, jnp.int32)", {b}, [](auto& x) { return bitcast(x[0], DType::i32); }},
      {"lax.bitcast_convert_type(a, jnp.int32)", {m}, [](auto& x) { return bitcast_convert_type(x[0], DType::i32); }},
      {"pltpu.pack_elementwise([a, b], packed_dtype=jnp.bfloat16)",
       {m, n},
       [](auto& x) { return pack_elementwise({x[0], x[1]}, DType::bf16); }},
      {"pltpu.unpack_elementwise(a, index=1, packed_dtype=jnp.bfloat16, unpacked_dtype=jnp.float32)",
       {u},
       [](auto& x) { return unpack_elementwise(x[0], 1, DType::bf16, DType::f32); }},
      {"pltpu.stochastic_round(a, b, target_dtype=jnp.bfloat16)",
       {m, u},
       [](auto& x) { return stochastic_round(x[0], x[1], DType::bf16); }},
      {"lax.broadcast_in_dim(a[0], (16, 128), (1,))",
       {m},
       [](auto& x) { return broadcast_in_dim(squeeze(slice(x[0], {0, 0}, {1, 128})), {16, 128}, {1}); }},
      {"lax.stop_gradient(a)", {m}, [](auto& x) { return stop_gradient(x[0]); }},
  };
}

}  // namespace smalti::ops::test
