// From a functor, a template over the width, to its row. The tables of newer instruction sets have the widths from 8 to
// 32 bits only; the others fall back to the baseline's.
#pragma once

#include "eval/elementwise/Tables.h"
#include "eval/elementwise/isa/Integers.h"
#include "eval/elementwise/isa/Loops.h"

namespace smalti::eval::SMALTI_ISA {

#ifdef SMALTI_ISA_BASELINE
#define SMALTI_RARE(kernel) kernel
#else
#define SMALTI_RARE(kernel) nullptr
#endif

template <template <class> class Op, class W>
constexpr UnaryKernel intUnary = unaryLoop<W, W, Op<W>>;
template <template <class> class Op, class W>
constexpr BinaryKernel intBinary = binaryLoopCompact<W, W, Op<W>>;
template <template <class> class Op, class W>
constexpr BinaryKernel intCompare = binaryLoopCompact<W, Pred, Op<W>>;

template <template <class> class Op>
constexpr IntUnaryRow intUnaryRow(std::string_view name) {
  return {name,
          {SMALTI_RARE((intUnary<Op, IntPred>)), SMALTI_RARE((intUnary<Op, IntI2>)), SMALTI_RARE((intUnary<Op, IntU2>)),
           SMALTI_RARE((intUnary<Op, IntI4>)), SMALTI_RARE((intUnary<Op, IntU4>)), intUnary<Op, IntW8>,
           intUnary<Op, IntW16>, intUnary<Op, IntW32>, SMALTI_RARE((intUnary<Op, IntW64>))}};
}

template <template <class> class Op>
constexpr IntBinaryRow intBinaryRow(std::string_view name) {
  return {
      name,
      {SMALTI_RARE((intBinary<Op, IntPred>)), SMALTI_RARE((intBinary<Op, IntI2>)), SMALTI_RARE((intBinary<Op, IntU2>)),
       SMALTI_RARE((intBinary<Op, IntI4>)), SMALTI_RARE((intBinary<Op, IntU4>)), intBinary<Op, IntW8>,
       intBinary<Op, IntW16>, binaryLoop<IntW32, IntW32, Op<IntW32>>, intBinary<Op, IntW64>}};
}

template <template <class> class Op>
constexpr IntBinaryRow intCompareRow(std::string_view name) {
  return {
      name,
      {SMALTI_RARE((intCompare<Op, IntPred>)), SMALTI_RARE((intCompare<Op, IntI2>)),
       SMALTI_RARE((intCompare<Op, IntU2>)), SMALTI_RARE((intCompare<Op, IntI4>)), SMALTI_RARE((intCompare<Op, IntU4>)),
       intCompare<Op, IntW8>, intCompare<Op, IntW16>, binaryLoop<IntW32, Pred, Op<IntW32>>, intCompare<Op, IntW64>}};
}

}  // namespace smalti::eval::SMALTI_ISA
