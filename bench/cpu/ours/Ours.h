// Smalti's side: real kernels through the public interface, on the target that SMALTI_TARGET names.
#pragma once

#include "actor/Actor.h"
#include "smalti/smalti.h"

namespace smalti::bench {

/// Operand number `seed` of every actor, in f32, bf16 or int8.
inline Array operand(Shape shape, DType dtype, uint32_t seed) {
  Array a = unwrap(Array::allocate({dtype, std::move(shape)}));
  const auto n = static_cast<uint32_t>(a.elements());
  for (uint32_t i = 0; i < n; ++i) {
    if (dtype == bf16)
      a.as<uint16_t>()[i] = bf16Bits(element(i, seed));
    else if (dtype == i8)
      a.as<int8_t>()[i] = elementI8(i, seed);
    else
      a.as<float>()[i] = element(i, seed);
  }
  return a;
}

inline DType dtypeOf(const Spec& s) {
  const std::string name = s.text("dtype", "f32");
  return name == "bf16" ? bf16 : name == "int8" ? i8 : f32;
}

/// A call whose single result is probed.
inline Work work(std::function<Array()> call) {
  auto result = std::make_shared<Array>();
  return {[=] {
            *result = Array();  // its memory is free for the next
            *result = call();
          },
          [=] {
            return probes(result->elements(), [&](int64_t i) -> double {
              if (result->dtype() == bf16) return fromBf16(result->as<uint16_t>()[i]);
              if (result->dtype() == i32) return result->as<int32_t>()[i];
              return result->as<float>()[i];
            });
          }};
}

std::map<std::string, Maker> matmuls();
std::map<std::string, Maker> attentions();
std::map<std::string, Maker> rowKernels();
std::map<std::string, Maker> calls();
std::map<std::string, Maker> gradients();
std::map<std::string, Maker> miniLm();

/// Seconds that the first call of a new kernel takes; `nonce` becomes a constant in it. Kinds: plain, matmul,
/// attention.
double firstCall(const std::string& kind, uint32_t nonce);

}  // namespace smalti::bench
