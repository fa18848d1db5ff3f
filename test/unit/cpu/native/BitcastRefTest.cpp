// Loads through refs that see their memory as elements of another width.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "Native.h"

namespace smalti::cpu::testing {
namespace {

std::string memref(const char* shape, const char* dtype) {
  return fmt::format("memref<{}x{}, #tpu.memory_space<vmem>>", shape, dtype);
}

Array words(Shape shape) {
  return i32Array(std::move(shape), [](int64_t i) { return static_cast<int32_t>(i * 2654435761 + 12345); });
}

TEST(NativeBitcastRef, PartsOfWords) {
  for (const int first : {0, 2, 6}) {
    TextKernel k;
    const Val in = k.input({.dtype = "i32", .array = {8, 24}, .space = "vmem"}),
              out = k.output({.dtype = "i16", .array = {10, 24}, .space = "vmem"});
    const Val seen = k.fresh(memref("16x24", "i16")), v = k.fresh("vector<10x24xi16>");
    k.raw(fmt::format("{} = tpu.memref_bitcast {} : {} -> {}", seen.name, in.name, in.type, seen.type));
    k.raw(fmt::format("%first = arith.constant {} : index\n%none = arith.constant 0 : index", first));
    k.raw(fmt::format("{} = vector.load {}[%first, %none] : {}, {}", v.name, seen.name, seen.type, v.type));
    k.store(v, out);
    same(k, {words({8, 24})});
    EXPECT_TRUE(native(k)->report().interpreted.empty());
  }
}

TEST(NativeBitcastRef, WordsOfPartsInStrides) {
  TextKernel k({2});
  const Val in = k.input({.dtype = "i8", .array = {32, 40}, .space = "vmem"}),
            out = k.output({.dtype = "i32", .array = {6, 40}, .block = {3, 40}, .map = "%i, %c0"});
  const Val seen = k.fresh(memref("8x40", "i32")), v = k.fresh("vector<3x40xi32>");
  k.raw(fmt::format("{} = tpu.memref_bitcast {} : {} -> {}", seen.name, in.name, in.type, seen.type));
  k.raw("%first = arith.index_cast %i : i32 to index\n%none = arith.constant 0 : index");
  k.raw(fmt::format("{} = tpu.strided_load {}[%first, %none] {{strides = array<i32: 3, 1>}} : {}, {}", v.name,
                    seen.name, seen.type, v.type));
  k.store(v, out);
  Array bytes = Array::allocate({DType::i8, {32, 40}}).value();
  for (int64_t i = 0; i < bytes.elements(); ++i) bytes.as<int8_t>()[i] = static_cast<int8_t>(i * 37 + i / 7);
  same(k, {bytes});
}

TEST(NativeBitcastRef, RowsInTheMiddleOfWordsAreLeftToTheMachine) {
  TextKernel k;
  const Val in = k.input({.dtype = "i32", .array = {8, 24}, .space = "vmem"}),
            out = k.output({.dtype = "i16", .array = {2, 24}, .space = "vmem"});
  const Val seen = k.fresh(memref("16x24", "i16")), v = k.fresh("vector<2x24xi16>");
  k.raw(fmt::format("{} = tpu.memref_bitcast {} : {} -> {}", seen.name, in.name, in.type, seen.type));
  k.raw("%first = arith.constant 1 : index\n%none = arith.constant 0 : index");
  k.raw(fmt::format("{} = vector.load {}[%first, %none] : {}, {}", v.name, seen.name, seen.type, v.type));
  k.store(v, out);
  EXPECT_EQ(whyNot(k), "a load through a bitcast of a ref to another width");
}

}  // namespace
}  // namespace smalti::cpu::testing
