// From a functor, a template over the width, to its row.
#pragma once

#include "eval/elementwise/Tables.h"
#include "eval/elementwise/isa/Integers.h"
#include "eval/elementwise/isa/Loops.h"

namespace smalti::eval::SMALTI_ISA {

template <template <class> class Op>
constexpr IntUnaryRow intUnaryRow(std::string_view name) {
#ifdef SMALTI_ISA_BASELINE
  return {name,
          {unaryLoop<IntPred, IntPred, Op<IntPred>>, unaryLoop<IntI2, IntI2, Op<IntI2>>,
           unaryLoop<IntU2, IntU2, Op<IntU2>>, unaryLoop<IntI4, IntI4, Op<IntI4>>, unaryLoop<IntU4, IntU4, Op<IntU4>>,
           unaryLoop<IntW8, IntW8, Op<IntW8>>, unaryLoop<IntW16, IntW16, Op<IntW16>>,
           unaryLoop<IntW32, IntW32, Op<IntW32>>, unaryLoop<IntW64, IntW64, Op<IntW64>>}};
#else
  return {
      name,
      {nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, unaryLoop<IntW32, IntW32, Op<IntW32>>, nullptr}};
#endif
}

template <template <class> class Op>
constexpr IntBinaryRow intBinaryRow(std::string_view name) {
#ifdef SMALTI_ISA_BASELINE
  return {name,
          {binaryLoopCompact<IntPred, IntPred, Op<IntPred>>, binaryLoopCompact<IntI2, IntI2, Op<IntI2>>,
           binaryLoopCompact<IntU2, IntU2, Op<IntU2>>, binaryLoopCompact<IntI4, IntI4, Op<IntI4>>,
           binaryLoopCompact<IntU4, IntU4, Op<IntU4>>, binaryLoopCompact<IntW8, IntW8, Op<IntW8>>,
           binaryLoopCompact<IntW16, IntW16, Op<IntW16>>, binaryLoop<IntW32, IntW32, Op<IntW32>>,
           binaryLoopCompact<IntW64, IntW64, Op<IntW64>>}};
#else
  return {
      name,
      {nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, binaryLoop<IntW32, IntW32, Op<IntW32>>, nullptr}};
#endif
}

template <template <class> class Op>
constexpr IntBinaryRow intCompareRow(std::string_view name) {
#ifdef SMALTI_ISA_BASELINE
  return {name,
          {binaryLoopCompact<IntPred, Pred, Op<IntPred>>, binaryLoopCompact<IntI2, Pred, Op<IntI2>>,
           binaryLoopCompact<IntU2, Pred, Op<IntU2>>, binaryLoopCompact<IntI4, Pred, Op<IntI4>>,
           binaryLoopCompact<IntU4, Pred, Op<IntU4>>, binaryLoopCompact<IntW8, Pred, Op<IntW8>>,
           binaryLoopCompact<IntW16, Pred, Op<IntW16>>, binaryLoop<IntW32, Pred, Op<IntW32>>,
           binaryLoopCompact<IntW64, Pred, Op<IntW64>>}};
#else
  return {
      name,
      {nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, binaryLoop<IntW32, Pred, Op<IntW32>>, nullptr}};
#endif
}

}  // namespace smalti::eval::SMALTI_ISA
