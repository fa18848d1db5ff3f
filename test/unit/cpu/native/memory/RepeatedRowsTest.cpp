// Loads with stride 0: one row, fanned out over the rows of a vector.
#include <array>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "../Native.h"

namespace smalti::cpu::testing {
namespace {

Array numbers(Shape shape) {
  return i32Array(std::move(shape), [](int64_t i) { return static_cast<int32_t>(i * 37 % 101); });
}

struct Case {
  Shape size;  ///< of the vector
  std::array<int, 2> strides, first;
};

/// `v` loads the case's box of the ref `from`.
Val load(TextKernel& k, const Val& from, const Case& c, const char* dtype = "i32") {
  const Val v = k.fresh(fmt::format("vector<{}x{}x{}>", c.size[0], c.size[1], dtype));
  k.raw(fmt::format("%first = arith.constant {} : index\n%second = arith.constant {} : index", c.first[0], c.first[1]));
  k.raw(fmt::format("{} = tpu.strided_load {}[%first, %second] {{strides = array<i32: {}, {}>}} : {}, {}", v.name,
                    from.name, c.strides[0], c.strides[1], from.type, v.type));
  return v;
}

const std::vector<Case> kCases{{{8, 24}, {0, 1}, {2, 0}},  {{5, 7}, {0, 1}, {5, 17}}, {{6, 8}, {1, 0}, {0, 23}},
                               {{40, 12}, {0, 2}, {1, 1}}, {{3, 9}, {0, 0}, {4, 4}},  {{1, 24}, {0, 1}, {0, 0}}};

TEST(NativeRepeatedRows, AreStored) {
  for (const Case& c : kCases) {
    TextKernel k;
    const Val in = k.input({.dtype = "i32", .array = {6, 24}, .space = "vmem"}),
              out = k.output({.dtype = "i32", .array = c.size, .space = "vmem"});
    k.store(load(k, in, c), out);
    same(k, {numbers({6, 24})});
    EXPECT_EQ(whyNot(k), "");
  }
}

TEST(NativeRepeatedRows, AreComputedWith) {
  for (const Case& c : kCases) {
    TextKernel k;
    const Val in = k.input({.dtype = "i32", .array = {6, 24}, .space = "vmem"}),
              other = k.input({.dtype = "i32", .array = c.size, .space = "vmem"}),
              out = k.output({.dtype = "i32", .array = c.size, .space = "vmem"});
    const Val row = load(k, in, c), with = k.load(other), product = k.fresh(row.type);
    k.raw(fmt::format("{} = arith.muli {}, {} : {}", product.name, row.name, with.name, row.type));
    k.store(product, out);
    same(k, {numbers({6, 24}), numbers(c.size)});
    EXPECT_EQ(whyNot(k), "");
  }
}

/// The row is overwritten after it was loaded: the copies keep the old one.
TEST(NativeRepeatedRows, AreLoadedBeforeLaterStores) {
  TextKernel k;
  const Val in = k.input({.dtype = "i32", .array = {8, 24}, .space = "vmem"}),
            out = k.output({.dtype = "i32", .array = {8, 24}, .space = "vmem"});
  k.store(k.load(in), out);
  k.store(load(k, out, {{8, 24}, {0, 1}, {3, 0}}), out);
  same(k, {numbers({8, 24})});
  EXPECT_EQ(whyNot(k), "");
}

TEST(NativeRepeatedRows, OfRefsOfAnotherWidth) {
  for (const Case& c : {Case{{8, 24}, {0, 1}, {5, 0}}, Case{{6, 24}, {2, 1}, {1, 0}}, Case{{4, 9}, {1, 0}, {3, 7}}}) {
    TextKernel k;
    const Val in = k.input({.dtype = "i32", .array = {6, 24}, .space = "vmem"}),
              out = k.output({.dtype = "i16", .array = c.size, .space = "vmem"});
    const Val seen = k.fresh("memref<12x24xi16, #tpu.memory_space<vmem>>");
    k.raw(fmt::format("{} = tpu.memref_bitcast {} : {} -> {}", seen.name, in.name, in.type, seen.type));
    k.store(load(k, seen, c, "i16"), out);
    same(k, {numbers({6, 24})});
    EXPECT_EQ(whyNot(k), "");
  }
}

}  // namespace
}  // namespace smalti::cpu::testing
