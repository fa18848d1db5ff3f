// Refs that see their memory as elements of another width.
#include <array>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "../../../LongTest.h"
#include "../Native.h"

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

Val bitcast(TextKernel& k, const Val& ref, const std::string& dtype, const Shape& shape) {
  Val seen = k.fresh(machine::testing::memref(dtype, shape, "vmem"));
  k.raw(fmt::format("{} = tpu.memref_bitcast {} : {} -> {}", seen.name, ref.name, ref.type, seen.type));
  return seen;
}

Val reshape(TextKernel& k, const Val& ref, const Shape& shape) {
  Val seen = k.fresh(machine::testing::memref(elementIn(ref.type), shape, "vmem"));
  k.raw(fmt::format("{} = tpu.memref_reshape {} : {} -> {}", seen.name, ref.name, ref.type, seen.type));
  return seen;
}

Array someBits(DType dtype, Shape shape, uint32_t seed) {
  Array a = Array::allocate({dtype, std::move(shape)}).value();
  std::mt19937 random(seed);
  for (int64_t i = 0; i < a.bytes(); ++i) {
    const auto bits = static_cast<uint8_t>(random());
    // Below a byte, as arrays keep them: sign-extended.
    a.data()[i] = bit_width(dtype) == 4 ? std::byte(static_cast<int8_t>(bits << 4) >> 4) : std::byte(bits);
  }
  return a;
}

/// Each number is spread over a whole result: threads of a GPU must not see the next one.
TEST(NativeBitcastRef, SD7_ScalarsOfPartsOfWords) {
  TextKernel k;
  const Val in = k.input({.dtype = "i32", .array = {2, 3}, .space = "smem"});
  const Val seen = k.fresh(machine::testing::memref("i8", {8, 3}, "smem"));
  k.raw(fmt::format("{} = tpu.memref_bitcast {} : {} -> {}", seen.name, in.name, in.type, seen.type));
  for (const int row : {1, 6}) {
    const Val out = k.output({.dtype = "i8", .array = {8, 128}, .space = "vmem"});
    const Val v = k.fresh("i8"), spread = k.fresh("vector<8x128xi8>");
    k.raw(fmt::format("%r{0} = arith.constant {0} : index\n%c{0}_ = arith.constant 1 : index", row));
    k.raw(fmt::format("{} = memref.load {}[%r{}, %c{}_] : {}", v.name, seen.name, row, row, seen.type));
    k.raw(fmt::format("{} = vector.broadcast {} : i8 to {}", spread.name, v.name, spread.type));
    k.store(spread, out);
  }
  same(k, {words({2, 3})});
}

TEST(NativeBitcastRef, SD7_RowsInTheMiddleOfWords) {
  TextKernel k({2});
  const Val in = k.input({.dtype = "i32", .array = {8, 24}, .space = "vmem"}),
            out = k.output({.dtype = "i16", .array = {6, 24}, .block = {3, 24}, .map = "%i, %c0"});
  const Val first = k.binary("arith.addi", k.id(0), k.constant(1));  // known only when it runs
  k.store(k.load(bitcast(k, in, "i16", {16, 24}), {3, 24}, {first, k.constant(0)}), out);
  same(k, {words({8, 24})});
}

TEST(NativeBitcastRef, SD7_StoresLeaveTheOtherPartsOfWords) {
  TextKernel k({2});
  const Val words = k.input({.dtype = "i32", .array = {8, 24}, .space = "vmem"}),
            rows = k.input({.dtype = "i16", .array = {3, 24}, .space = "vmem"}),
            out = k.output({.dtype = "i32", .array = {8, 24}, .space = "vmem"}), buffer = k.scratch("i32", {8, 24});
  k.store(k.load(words), buffer);
  const Val first = k.binary("arith.addi", k.id(0), k.constant(1));
  k.store(k.load(rows), bitcast(k, buffer, "i16", {16, 24}), {first, k.constant(0)});
  k.store(k.load(buffer), out);
  same(k, {testing::words({8, 24}), someBits(DType::i16, {3, 24}, 1)});
}

TEST(NativeBitcastRef, SD7_MaskedStoresOfWords) {
  TextKernel k;
  const Val mask = k.input({.dtype = "i32", .array = {4, 40}, .space = "vmem"}),
            in = k.input({.dtype = "i32", .array = {4, 40}, .space = "vmem"}),
            out = k.output({.dtype = "i8", .array = {16, 40}, .space = "vmem"}), buffer = k.scratch("i8", {16, 40});
  k.raw(fmt::format("%zeros = arith.constant dense<0> : vector<16x40xi8>"));
  k.store({"%zeros", "vector<16x40xi8>"}, buffer);
  const Val seen = bitcast(k, buffer, "i32", {4, 40}), chosen = k.fresh("vector<4x40xi1>");
  const Val value = k.load(in), where = k.load(mask);
  k.raw(fmt::format("%none = arith.constant dense<0> : vector<4x40xi32>\n{} = arith.cmpi slt, {}, %none : {}",
                    chosen.name, where.name, where.type));
  k.raw(
      fmt::format("%at = arith.constant 0 : index\ntpu.vector_store {}[%at, %at], {} masked {} {{strides = "
                  "array<i32>}} : {}, {}, {}",
                  seen.name, value.name, chosen.name, seen.type, value.type, chosen.type));
  k.store(k.load(buffer), out);
  same(k, {words({4, 40}), words({4, 40})});
}

/// A cache of rows that hold keys and values in turns, four bytes of them in a word: as decoders keep them.
TEST(NativeBitcastRef, SG13_CopiesOfPagesThatAreSeenAsWords) {
  TextKernel k({3});
  const Val table = k.prefetch("i32", {3});
  const Val cache = k.input({.dtype = "i8", .array = {5, 8, 2, 4, 128}, .space = "any"}),
            out = k.output({.dtype = "i32", .array = {24, 128}, .block = {8, 128}, .map = "%i, %c0"}),
            buffer = k.scratch("i8", {2, 8, 2, 4, 128}), semaphore = k.dmaSemaphore();
  const Val zero = k.constant(0), page = k.scalarLoad(table, {k.id(0)});
  const Val from = k.squeeze(k.slice(cache, {page, zero, zero, zero, zero}, {1, 8, 2, 4, 128}), {8, 2, 4, 128}),
            to = k.squeeze(k.slice(buffer, {k.constant(1), zero, zero, zero, zero}, {1, 8, 2, 4, 128}), {8, 2, 4, 128});
  k.dma(from, to, semaphore);
  k.waitDma(from, to, semaphore);
  const Val seen = bitcast(k, buffer, "i32", {2, 8, 2, 1, 128});
  const Val half = k.squeeze(k.slice(seen, {k.constant(1), zero, zero, zero, zero}, {1, 8, 2, 1, 128}), {8, 2, 1, 128});
  const Val rows = reshape(k, half, {16, 128}), v = k.fresh("vector<8x128xi32>");
  k.raw("%second = arith.constant 1 : index\n%none = arith.constant 0 : index");
  k.raw(fmt::format("{} = tpu.strided_load {}[%second, %none] {{strides = array<i32: 2, 1>}} : {}, {}", v.name,
                    rows.name, rows.type, v.type));
  k.store(v, out);
  const Array places = i32Array({3}, [](int64_t i) { return static_cast<int32_t>(4 - 2 * i); });
  same(k, {places, someBits(DType::i8, {5, 8, 2, 4, 128}, 7)});
}

TEST(NativeBitcastRef, SG13_CopiesBetweenWidths) {
  for (const bool outward : {false, true}) {
    TextKernel k;
    const Val in = k.input({.dtype = outward ? "i16" : "i32", .array = {16, 128}, .space = "any"}),
              out = k.output({.dtype = outward ? "i32" : "i16", .array = {32, 128}, .space = "any"}),
              buffer = k.scratch(outward ? "i32" : "i16", {outward ? 8 : 32, 128}), semaphore = k.dmaSemaphore();
    const Val seen = bitcast(k, buffer, outward ? "i16" : "i32", {16, 128});
    k.dma(in, seen, semaphore);
    k.waitDma(in, seen, semaphore);
    const Val to = k.slice(out, {k.constant(0), k.constant(0)}, {outward ? 8 : 32, 128});
    k.dma(buffer, to, semaphore);
    k.waitDma(buffer, to, semaphore);
    same(k, {someBits(outward ? DType::i16 : DType::i32, {16, 128}, 3)});
  }
}

TEST(NativeBitcastRef, RowsOutsideFault) {
  TextKernel k;
  const Val at = k.prefetch("i32", {1});
  const Val in = k.input({.dtype = "i32", .array = {8, 24}, .space = "vmem"}),
            out = k.output({.dtype = "i16", .array = {3, 24}, .space = "vmem"});
  k.store(k.load(bitcast(k, in, "i16", {16, 24}), {3, 24}, {k.scalarLoad(at, {k.constant(0)}), k.constant(0)}), out);
  for (const int32_t row : {-1, 14, 1 << 30})
    EXPECT_TRUE(faults(k, {i32Array({1}, [=](int64_t) { return row; }), words({8, 24})})) << row;
  same(k, {i32Array({1}, [](int64_t) { return 13; }), words({8, 24})});
}

/// Chains of views that are drawn, read and written through the last of them.
class RandomViews {
 public:
  explicit RandomViews(uint32_t seed) : random_(seed) {}

  void run() {
    static constexpr std::array kTypes{DType::i4, DType::i8, DType::i16, DType::i32, DType::bf16, DType::f32};
    const DType dtype = kTypes[pick(kTypes.size())];
    const auto one = static_cast<int64_t>(pick(2)), other = static_cast<int64_t>(pick(2));
    Shape shape{one + 1, 8 * (other + 1), std::array<int64_t, 4>{1, 5, 16, 40}[pick(4)]};
    TextKernel k({2});
    const std::string element(name(dtype));
    const Val first = k.input({.dtype = element, .array = shape, .space = "vmem"});
    const Val buffer = k.scratch(element, shape);
    const Val after = k.output({.dtype = element, .array = shape, .space = "vmem"});
    k.store(k.load(first), buffer);
    Val view = buffer;
    for (size_t i = pick(4) + 1; i-- > 0;) view = next(k, view, kTypes);
    const Shape seen = shapeIn(view.type);
    const DType last = dtype_from_name(elementIn(view.type)).value();
    const Val more = k.input({.dtype = std::string(name(last)), .array = seen, .space = "vmem"}),
              read = k.output({.dtype = std::string(name(last)), .array = seen, .space = "vmem"});
    k.store(k.load(view), read);
    k.store(k.load(more), view);
    k.store(k.load(buffer), after);
    if (!whyNot(k).empty()) return;
    const std::vector<Array> operands{someBits(dtype, shape, static_cast<uint32_t>(random_())),
                                      someBits(last, seen, 5)};
    const auto got = testing::run(k, operands);
    if (!got) return;  // a view of words that begins inside of one is left to the machine
    ++native_;
    const std::vector<Array> expected = results(k, operands);
    ASSERT_EQ(got->size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_EQ(difference((*got)[i], expected[i]), "") << "result " << i << "\n" << k.text();
  }
  int native() const { return native_; }

 private:
  size_t pick(size_t n) { return random_() % n; }

  template <class Types>
  Val next(TextKernel& k, const Val& view, const Types& types) {
    Shape shape = shapeIn(view.type);
    const DType here = dtype_from_name(elementIn(view.type)).value(), there = types[pick(types.size())];
    switch (pick(3)) {
      case 0: {
        int64_t& rows = shape[shape.size() - 2];
        const int64_t bits = rows * bit_width(here);
        if (bits % bit_width(there) != 0) return view;
        rows = bits / bit_width(there);
        return bitcast(k, view, std::string(name(there)), shape);
      }
      case 1: {
        std::vector<Val> at;
        for (int64_t& size : shape) {
          const auto extent = static_cast<size_t>(size);
          const auto start = static_cast<int32_t>(pick(extent));
          size = static_cast<int64_t>(pick(extent - static_cast<size_t>(start))) + 1;
          // The last place where it fits one further is known only when it runs.
          const bool moves = static_cast<size_t>(start + size) < extent;
          at.push_back(moves ? k.binary("arith.addi", k.id(0), k.constant(start)) : k.constant(start));
        }
        return k.slice(view, at, shape);
      }
      default: {
        // The first dimensions put together, or the one before the last cut.
        if (shape.size() > 2 && pick(2) == 0) {
          shape[1] *= shape[0];
          shape.erase(shape.begin());
        } else if (shape[shape.size() - 2] % 2 == 0) {
          shape[shape.size() - 2] /= 2;
          shape.insert(shape.end() - 1, 2);
        }
        return reshape(k, view, shape);
      }
    }
  }

  std::mt19937 random_;
  int native_ = 0;
};

TEST(NativeBitcastRef, SD7_ChainsOfViewsAreThoseOfTheMachine) {
  SMALTI_LONG_TEST_OF_GENERATED_CODE();
  RandomViews views(20);
  constexpr int kKernels = 150;
  for (int i = 0; i < kKernels && !::testing::Test::HasFailure(); ++i) views.run();
  EXPECT_GT(views.native(), kKernels / 2);
}

}  // namespace
}  // namespace smalti::cpu::testing
