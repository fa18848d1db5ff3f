// What kernels find in memory that nobody has written, or that has two names.
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <tuple>

#include <gtest/gtest.h>

#include "../../../Sanitized.h"
#include "../Native.h"

namespace smalti::cpu::testing {
namespace {

Array smallNumbers(Shape shape) {
  return f32Array(std::move(shape), [](int64_t i) { return static_cast<float>(i * 7 % 11) - 5; });
}

TEST(NativeMemory, AnOutputThatIsReadFirstIsUndefined) {
  TextKernel k;
  const Val out = k.output({.dtype = "i32", .array = {8, 128}, .space = "vmem"});
  k.store(k.load(out), out);
  for (int call = 0; call < 3; ++call) same(k, {});
}

TEST(NativeMemory, AnOutputThatIsReadAfterItsFirstStepIsNot) {
  TextKernel k({2, 3});
  const Val out = k.output({.dtype = "i32", .array = {6, 128}, .block = {3, 128}, .map = "%i, %c0"});
  const Val v = k.splat(k.id(1), {3, 128});
  k.store(k.binary("arith.addi", k.load(out), v), out);
  same(k, {});
}

TEST(NativeMemory, AnOutputStoredUnderUnsatisfiableConditionsIsUndefined) {
  for (const int inner : {0, 2}) {
    TextKernel k({3});
    const Val out = k.output({.dtype = "i32", .array = {8, 128}, .block = {8, 128}, .map = "%c0, %c0"});
    const Val v = k.splat(k.constant(3), {8, 128});
    k.when(k.compare("eq", k.id(0), k.constant(2)),
           [&] { k.when(k.compare("eq", k.id(0), k.constant(inner)), [&] { k.store(v, out); }); });
    const auto code = native(k);
    ASSERT_TRUE(code);
    {  // what the result's memory held before
      Array other = Array::allocate({DType::i32, {8, 128}}).value();
      std::fill_n(other.as<int32_t>(), other.elements(), 7);
    }
    bool fault = false;
    const auto results = code->call({}, 1, fault, nullptr);
    ASSERT_TRUE(results && !fault);
    const int32_t undefined = std::numeric_limits<int32_t>::min();
    EXPECT_EQ(results->front().as<int32_t>()[5], inner == 2 ? 3 : undefined);
  }
}

TEST(NativeMemory, PromisesAboutAccessesChangeNone) {
  TextKernel k;
  const Val in = k.input({.array = {8, 128}, .space = "vmem"}), out = k.output({.array = {8, 128}, .space = "vmem"});
  const Val promised = k.fresh(in.type), stored = k.fresh(out.type);
  k.raw(promised.name + " = tpu.annotate " + in.name + " {no_store = true} : " + in.type);
  k.raw(stored.name + " = tpu.annotate " + out.name + " {no_bank_conflict = true} : " + out.type);
  k.store(k.binary("arith.addf", k.load(promised), k.load(in)), stored);
  EXPECT_EQ(floats(same(k, {counting({8, 128})}).at(0))[9], 18.f);
}

TEST(NativeMemory, AnySpaceIsHbm) {
  for (const auto& [space, asked, is] :
       {std::tuple{"any", "hbm", 1}, {"any", "vmem", 0}, {"hbm", "hbm", 1}, {"vmem", "vmem", 1}, {"vmem", "hbm", 0}}) {
    TextKernel k;
    const Val in = k.input({.array = {8, 128}, .space = space}),
              out = k.output({.dtype = "i32", .array = {2}, .space = "smem"});
    const Val there = k.fresh("i1"), number = k.fresh("i32");
    k.raw(there.name + " = tpu.memref_memory_space_is " + in.name + ", <" + asked + "> : " + in.type);
    k.raw(number.name + " = arith.extui " + there.name + " : i1 to i32");
    k.scalarStore(number, out, {k.constant(0)});
    k.scalarStore(k.constant(5), out, {k.constant(1)});
    EXPECT_EQ(ints(same(k, {counting({8, 128})}).at(0))[0], is) << space << ", " << asked;
  }
}

TEST(NativeMemory, SC9_AWholeOperandInTheCoreAndTheOutputItIsAliasedToAreTwo) {
  for (const std::string space : {"vmem", "smem"}) {
    TextKernel k;
    const Val in = k.input({.dtype = "i32", .array = {4}, .space = space}),
              out = k.output({.dtype = "i32", .array = {4}, .space = space});
    k.alias(0, 0);
    if (space == "smem") {
      k.scalarStore(k.constant(7), out, {k.constant(0)});
      k.scalarStore(k.scalarLoad(in, {k.constant(0)}), out, {k.constant(1)});
    } else {
      k.store(k.binary("arith.addi", k.load(in), k.load(in)), out);
      k.store(k.binary("arith.addi", k.load(in), k.load(in)), out);
    }
    const Array got = same(k, {i32Array({4}, [](int64_t i) { return static_cast<int32_t>(i); })}).at(0);
    EXPECT_EQ(ints(got), space == "smem" ? (std::vector{7, 0, 2, 3}) : (std::vector{0, 2, 4, 6}));
  }
}

TEST(NativeMemory, SC9_AnInputThatOnlyInitialisesTheOutputMayHaveAnyWindow) {
  for (const bool windowed : {false, true})
    for (const bool read : {false, true}) {
      TextKernel k({2});
      const Val in = windowed ? k.input({.array = {8, 128}, .block = {4, 128}, .map = "%i, %c0"})
                              : k.input({.array = {8, 128}, .space = "any"}),
                more = k.input({.array = {2, 128}, .block = {1, 128}, .map = "%i, %c0"}),
                out = k.output({.array = {8, 128}, .block = {1, 128}, .map = "%i, %c0"});
      k.alias(0, 0);
      Val v = k.load(more);
      if (read && windowed) v = k.binary("arith.addf", v, k.load(in, {1, 128}, {k.constant(0), k.constant(0)}));
      k.store(v, out);
      if (read && windowed) {
        EXPECT_NE(whyNot(k), "");
        continue;
      }
      EXPECT_EQ(whyNot(k), "");
      same(k, {smallNumbers({8, 128}), smallNumbers({2, 128})});
    }
}

TEST(NativeMemory, SF4_AScalarOperandThatIsAliasedIsLeftToTheMachine) {
  TextKernel k({2});
  const Val at = k.prefetch("i32", {4});
  const Val out = k.output({.dtype = "i32", .array = {4}, .space = "smem"});
  k.alias(0, 0);
  k.scalarStore(k.scalarLoad(at, {k.constant(1)}), out, {k.constant(0)});
  EXPECT_NE(whyNot(k), "");
}

TEST(NativeMemory, NoMemoryForAScratchBufferIsADiagnostic) {
  SMALTI_SKIP_WITH_ADDRESS_SANITIZER("it reserves more address space than the limit");
  TextKernel k;
  const Val out = k.output({.dtype = "i32", .array = {1}, .space = "smem"});
  const Val scratch = k.scratch("i32", {1 << 20, 1 << 10});  // 4 GiB
  k.scalarStore(k.constant(1), out, {k.constant(0)});
  k.store(k.load(scratch, {8, 128}, {}), scratch);
  const auto code = native(k);
  ASSERT_TRUE(code);
  const auto call = [&] {
    constexpr rlim_t kLimit = rlim_t{3} << 30;
    const rlimit limit{kLimit, kLimit};
    setrlimit(RLIMIT_AS, &limit);
    bool fault = false;
    const auto got = code->call({}, 1, fault);
    const bool said = !got && got.error().str() ==
                                  "error[SM1009]: out of memory for the kernel's values\n"
                                  "  need: 4294967296 bytes for each thread\n"
                                  "  have: a limit of 3221225472 bytes for the process\n"
                                  "  help: lower --threads, use smaller blocks, or a machine with more memory\n";
    if (!said) std::fprintf(stderr, "%s\n", got ? "it ran" : got.error().str().c_str());
    std::_Exit(said ? 0 : 1);
  };
  EXPECT_EXIT(call(), ::testing::ExitedWithCode(0), "");
}

Val product(TextKernel& k, const Val& a, const Val& b) {
  const Val r = k.fresh("vector<16x16xf32>");
  k.raw("%zero" + r.name.substr(1) + " = arith.constant dense<0.0> : vector<16x16xf32>");
  k.raw(r.name + " = tpu.matmul " + a.name + ", " + b.name + ", %zero" + r.name.substr(1) +
        " {dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>, "
        "transpose_lhs_hint = false} : vector<16x16xf32>, vector<16x16xf32>, vector<16x16xf32> -> vector<16x16xf32>");
  return r;
}

TEST(NativeMemory, AProductMayBeStoredWhereItsOperandLies) {
  for (const bool left : {true, false}) {
    TextKernel k;
    const Val a = k.input({.array = {16, 16}}), b = k.input({.array = {16, 16}}), out = k.output({.array = {16, 16}});
    k.store(k.load(left ? a : b), out);
    const Val x = k.load(left ? out : a), y = k.load(left ? b : out);
    k.store(product(k, x, y), out);
    same(k, {smallNumbers({16, 16}), smallNumbers({16, 16})});
  }
}

TEST(NativeMemory, ProductsAreAddedToEachOther) {
  for (const bool reshaped : {false, true}) {
    TextKernel k;
    const Val a = k.input({.array = {16, 16}}), b = k.input({.array = {16, 16}}),
              out = k.output({.array = reshaped ? Shape{1, 16, 16} : Shape{16, 16}});
    const Val x = k.load(a), y = k.load(b);
    const std::vector<Val> products{product(k, x, y), product(k, y, x), product(k, x, x)};
    Val sum = products[0];
    for (size_t i = 1; i < products.size(); ++i) {
      Val terms[] = {sum, products[i]};
      if (reshaped)
        for (Val& t : terms)
          if (t.type.find("1x16") == std::string::npos) {
            const Val of = t;
            t = k.fresh("vector<1x16x16xf32>");
            k.raw(t.name + " = vector.shape_cast " + of.name + " : " + of.type + " to " + t.type);
          }
      sum = k.binary("arith.addf", terms[i % 2], terms[1 - i % 2]);
    }
    k.store(sum, out);
    EXPECT_EQ(whyNot(k), "");
    same(k, {smallNumbers({16, 16}), smallNumbers({16, 16})});
  }
}

TEST(NativeMemory, ALoadBeforeTheStoreOfAProductKeepsItsValue) {
  TextKernel k;
  const Val a = k.input({.array = {16, 16}}), b = k.input({.array = {16, 16}}), out = k.output({.array = {16, 16}}),
            before = k.output({.array = {16, 16}});
  const Val acc = k.scratch("f32", {16, 16});
  k.store(k.load(a), acc);
  const Val old = k.load(acc);
  const Val sum = k.binary("arith.addf", old, product(k, k.load(a), k.load(b)));
  const Val again = k.load(acc);
  k.store(sum, acc);
  k.store(k.binary("arith.mulf", again, again), before);
  k.store(k.binary("arith.addf", k.load(acc), old), out);
  same(k, {smallNumbers({16, 16}), smallNumbers({16, 16})});
}

/// The row may come from an operand, or be one of those that the product is stored over.
TEST(NativeMemory, ARowIsAddedToAProductUnlessItIsOverwritten) {
  for (const bool overwritten : {false, true}) {
    TextKernel k;
    const Val a = k.input({.array = {16, 16}}), b = k.input({.array = {16, 16}}), bias = k.input({.array = {1, 16}}),
              out = k.output({.array = {16, 16}});
    k.store(k.load(a), out);
    const Val row = overwritten ? k.load(out, {1, 16}, {k.constant(0), k.constant(0)}) : k.load(bias);
    const Val rows = k.fresh("vector<16x16xf32>");
    k.raw(rows.name + " = vector.broadcast " + row.name + " : vector<1x16xf32> to vector<16x16xf32>");
    k.store(k.binary("arith.addf", product(k, k.load(a), k.load(b)), rows), out);
    same(k, {smallNumbers({16, 16}), smallNumbers({16, 16}), smallNumbers({1, 16})});
    const auto code = native(k);
    ASSERT_TRUE(code);
    EXPECT_EQ(code->report().matmuls.at(0).ends_with(", adds a row"), !overwritten);
  }
}

TEST(NativeMemory, OperandsNeedOnlyTheAlignmentOfTheirElements) {
  TextKernel k({3});
  const Val in = k.input({.array = {24, 130}, .block = {8, 130}, .map = "%i, %c0"}),
            out = k.output({.array = {24, 130}, .block = {8, 130}, .map = "%i, %c0"});
  const Val v = k.load(in);
  k.store(k.binary("arith.addf", v, v), out);
  const Array whole = counting({24 * 130 + 1});
  const Array view = Array::view({DType::f32, {24, 130}}, const_cast<std::byte*>(whole.data()) + 4);
  same(k, {view});
}

}  // namespace
}  // namespace smalti::cpu::testing
