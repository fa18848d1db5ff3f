// Loops over elements. A codec has a `Word` (an element as it is stored), `load` and `store`; an op is a functor
// with a static `apply` on loaded values.
#pragma once

#include "eval/Elementwise.h"
#include "eval/elementwise/isa/Isa.h"

namespace smalti::eval::SMALTI_ISA {

// `out` may be an operand (never a shifted one), so no iteration depends on another.
#define SMALTI_INDEPENDENT _Pragma("GCC ivdep")

template <class In, class Out, class Op>
void unaryLoop(const void* in, void* out, int64_t n) {
  const auto* x = static_cast<const typename In::Word*>(in);
  auto* y = static_cast<typename Out::Word*>(out);
  SMALTI_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) y[i] = Out::store(Op::apply(In::load(x[i])));
}

template <class In, class Out, class Op>
void binaryLoop(const void* a, const void* b, void* out, int64_t n, Splat splat) {
  const auto* x = static_cast<const typename In::Word*>(a);
  const auto* y = static_cast<const typename In::Word*>(b);
  auto* z = static_cast<typename Out::Word*>(out);
  if (n <= 0) return;
  switch (splat) {
    case Splat::none:
      SMALTI_INDEPENDENT
      for (int64_t i = 0; i < n; ++i) z[i] = Out::store(Op::apply(In::load(x[i]), In::load(y[i])));
      return;
    case Splat::lhs: {
      const auto left = In::load(x[0]);
      SMALTI_INDEPENDENT
      for (int64_t i = 0; i < n; ++i) z[i] = Out::store(Op::apply(left, In::load(y[i])));
      return;
    }
    case Splat::rhs: {
      const auto right = In::load(y[0]);
      SMALTI_INDEPENDENT
      for (int64_t i = 0; i < n; ++i) z[i] = Out::store(Op::apply(In::load(x[i]), right));
      return;
    }
  }
}

/// The same with a third of the code, for types that kernels rarely use: a splat is spread over a block first.
template <class In, class Out, class Op>
void binaryLoopCompact(const void* a, const void* b, void* out, int64_t n, Splat splat) {
  using Word = typename In::Word;
  constexpr int64_t kBlock = 512 / sizeof(Word);
  const auto* x = static_cast<const Word*>(a);
  const auto* y = static_cast<const Word*>(b);
  auto* z = static_cast<typename Out::Word*>(out);
  Word spread[kBlock];
  if (splat != Splat::none && n > 0) {
    const Word value = splat == Splat::lhs ? x[0] : y[0];
    for (int64_t i = 0; i < kBlock; ++i) spread[i] = value;
  }
  const int64_t step = splat == Splat::none ? n : kBlock;
  for (int64_t at = 0; at < n; at += step) {
    const int64_t count = n - at < step ? n - at : step;
    const Word* left = splat == Splat::lhs ? spread : x + at;
    const Word* right = splat == Splat::rhs ? spread : y + at;
    SMALTI_INDEPENDENT
    for (int64_t i = 0; i < count; ++i) z[at + i] = Out::store(Op::apply(In::load(left[i]), In::load(right[i])));
  }
}

/// The result of a compare: one byte, 0 or 1.
struct Pred {
  using Word = uint8_t;
  static Word store(bool b) { return b; }
};

}  // namespace smalti::eval::SMALTI_ISA
