// Products of operands whose elements are contiguous in neither dimension, such as w[:, :, 1]: they are copied first.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "../../../LongTest.h"
#include "../Native.h"
#include "../SmallProducts.h"

namespace smalti::cpu::testing {
namespace {

struct StridedCase {
  std::string dtype = "f32";
  int64_t rows = 16, columns = 48, depth = 64;
  bool transposed = false;  ///< the right operand is columns × depth
  bool stridedLeft = false, stridedRight = true;
  int64_t blocks = 1, steps = 1;  ///< of the right operand, and steps that use each of them
};

/// Elements [:, :, 1] of a ref of […, 2], or all of one that is a matrix.
Val matrixOf(TextKernel& k, const Val& ref, int64_t rows, int64_t columns, const std::string& dtype, bool strided) {
  const Val zero = k.constant(0);
  const Val loaded = strided ? k.load(ref, {1, rows, columns, 1}, {zero, zero, zero, k.constant(1)}) : k.load(ref);
  const Val matrix = k.fresh(fmt::format("vector<{}x{}x{}>", rows, columns, dtype));
  k.raw(fmt::format("{} = vector.shape_cast {} : {} to {}", matrix.name, loaded.name, loaded.type, matrix.type));
  return matrix;
}

void check(const StridedCase& c) {
  SCOPED_TRACE(fmt::format("{} {}x{}x{} transposed {} left {} right {} blocks {} steps {}", c.dtype, c.rows, c.columns,
                           c.depth, c.transposed, c.stridedLeft, c.stridedRight, c.blocks, c.steps));
  TextKernel k({c.blocks, c.steps});
  const auto operand = [&](int64_t blocks, int64_t rows, int64_t columns, bool strided, const std::string& map) {
    const int64_t lanes = strided ? 2 : 1;
    return k.input({.dtype = c.dtype,
                    .array = {blocks, rows, columns, lanes},
                    .block = {1, rows, columns, lanes},
                    .map = map + ", %c0, %c0, %c0"});
  };
  const int64_t bRows = c.transposed ? c.columns : c.depth, bColumns = c.transposed ? c.depth : c.columns;
  const Val x = operand(c.steps, c.rows, c.depth, c.stridedLeft, "%j"),
            w = operand(c.blocks, bRows, bColumns, c.stridedRight, "%i");
  const Val o =
      k.output({.array = {c.steps * c.rows, c.blocks * c.columns}, .block = {c.rows, c.columns}, .map = "%j, %i"});
  k.store(multiplied(k, matrixOf(k, x, c.rows, c.depth, c.dtype, c.stridedLeft),
                     matrixOf(k, w, bRows, bColumns, c.dtype, c.stridedRight), c.transposed,
                     k.splat(k.f32(0), {c.rows, c.columns})),
          o);
  same(k, {smallNumbers(c.dtype, {c.steps, c.rows, c.depth, c.stridedLeft ? 2 : 1}),
           smallNumbers(c.dtype, {c.blocks, bRows, bColumns, c.stridedRight ? 2 : 1}, 3)});
}

TEST(StridedOperands, AreCopiedToMemoryOfTheirOwn) {
  SMALTI_LONG_TEST();
  for (const char* dtype : {"f32", "bf16"})
    for (const int64_t rows : {1, 4, 16, 64})
      for (const bool transposed : {false, true})
        for (const auto& [left, right] : {std::pair{false, true}, {true, false}, {true, true}})
          check({.dtype = dtype, .rows = rows, .transposed = transposed, .stridedLeft = left, .stridedRight = right});
}

TEST(StridedOperands, AreCopiedAgainForAnotherBlock) {
  for (const char* dtype : {"f32", "bf16"})
    for (const bool transposed : {false, true})
      check({.dtype = dtype,
             .rows = 64,
             .columns = 128,
             .depth = 128,
             .transposed = transposed,
             .blocks = 3,
             .steps = 4});
}

}  // namespace
}  // namespace smalti::cpu::testing
