// Every rewrite of random small kernels computes what the kernel computes, by the machine.
#include <map>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "../../LongTest.h"
#include "RandomRewrites.h"

namespace smalti::cpu::testing {
namespace {

using ::testing::UnorderedElementsAre;

TEST(Passes, HaveUniqueNames) {
  std::set<std::string_view> names;
  for (const RewritePass& pass : rewritePasses()) {
    EXPECT_TRUE(names.insert(pass.name).second) << pass.name;
    EXPECT_EQ(findRewritePass(pass.name), &pass);
    EXPECT_FALSE(pass.summary.empty());
  }
  EXPECT_EQ(findRewritePass("no-such-pass"), nullptr);
}

/// A sum of products over the last axis, as kernels write it, or nearly so: with mistakes that make it another
/// computation, which rewrites must not take for the usual one. `masksDepth`: the last block of the last axis is
/// partial, and masked.
Kernel someProduct(bool masksDepth) {
  const int64_t rows = steps(), columns = steps(), depth = steps();
  TextKernel k({rows, columns, depth}, "parallel,parallel,arbitrary");
  const bool isUsual = *rc::gen::inRange(0, 3) == 0;
  const auto oneIn = [&](int n) { return !isUsual && *rc::gen::inRange(0, n) == 0; };
  const int64_t m = extentOf(rows), n = extentOf(columns),
                d = depth * kBlock - (masksDepth ? *rc::gen::inRange<int64_t>(0, kBlock) : 0);
  const Val x = k.input({.array = {m, d}, .block = {kBlock, kBlock}, .map = "%i, %k"});
  const Val y = k.input({.array = {d, n}, .block = {kBlock, kBlock}, .map = "%k, %j"});
  const Val bias = k.input({.array = {m, n}, .block = {kBlock, kBlock}, .map = "%i, %j"});
  const Val o = k.output({.array = {m, n}, .block = {kBlock, kBlock}, .map = "%i, %j"});
  const Val acc = k.scratch("f32", {kBlock, kBlock}), other = k.scratch("f32", {kBlock, kBlock});
  const auto zeros = [&] { return k.splat(k.f32(0), {kBlock, kBlock}); };
  // Usually what it should be; else anything that is defined.
  const auto usually = [&](int64_t right, int64_t most) {
    return oneIn(3) ? *rc::gen::inRange<int64_t>(0, most) : right;
  };
  const int32_t end = static_cast<int32_t>(usually(depth - 1, depth));
  const int startAxis = oneIn(6) ? 0 : 2;
  const bool scales = oneIn(4), addsIndex = oneIn(5), everyStep = oneIn(5), startsAtOne = oneIn(5);
  // Loads and stores of refs other than the accumulator, before and after conditions.
  const bool usesOthers = oneIn(2);
  std::vector<Val> loaded;
  const auto maybe = [&](const auto& access) {
    if (usesOthers && *rc::gen::inRange(0, 3) == 0) access(*rc::gen::inRange(0, 2) == 0 ? o : other);
  };
  const auto load = [&](const Val& ref) { loaded.push_back(k.load(ref)); };
  const auto storeBias = [&](const Val& ref) { k.store(k.load(bias), ref); };
  maybe(load);
  k.when(k.compare("eq", k.id(startAxis), k.constant(0)), [&] {
    maybe(storeBias);
    k.store(startsAtOne ? k.splat(k.f32(1), {kBlock, kBlock}) : zeros(), acc);
  });
  maybe(load);
  if (usesOthers && *rc::gen::inRange(0, 3) == 0)
    k.when(k.compare("eq", k.id(2), k.constant(0)), [&] { storeBias(*rc::gen::inRange(0, 2) == 0 ? o : other); });
  // What another axis starts is undefined in other steps: the first one of all starts it.
  if (startAxis != 2) k.store(zeros(), acc);
  const bool wrongMask = oneIn(3);
  // The elements past the end of the last axis are 0; or, with a mistake, other ones too, or not all of them.
  const auto inside = [&](const Val& v, int dimension) {
    const int32_t extent = static_cast<int32_t>(wrongMask ? usually(d, d + 1) : d);
    const int axis = static_cast<int>(wrongMask ? usually(2, 3) : 2);
    const Val at = k.fresh(fmt::format("vector<{0}x{0}xi32>", kBlock)), kept = k.fresh(v.type),
              mask = k.fresh(fmt::format("vector<{0}x{0}xi1>", kBlock));
    k.raw(fmt::format("{} = tpu.iota {{dimensions = array<i32: {}>}} : {}", at.name, dimension, at.type));
    const Val start = k.binary("arith.muli", k.id(axis), k.constant(kBlock));
    const Val index = k.binary("arith.addi", k.splat(start, {kBlock, kBlock}), at);
    k.raw(fmt::format("{} = arith.cmpi slt, {}, {} : {}", mask.name, index.name,
                      k.splat(k.constant(extent), {kBlock, kBlock}).name, at.type));
    k.raw(fmt::format("{} = arith.select {}, {}, {} : {}, {}", kept.name, mask.name, v.name, zeros().name, mask.type,
                      v.type));
    return kept;
  };
  Val a = k.load(x), b = k.load(y);
  if (masksDepth) a = inside(a, 1), b = inside(b, 0);
  Val sum = k.binary("arith.addf", k.load(acc), dot(k, a, b, zeros()));
  if (scales) sum = k.binary("arith.mulf", sum, k.splat(k.f32(2), {kBlock, kBlock}));
  if (addsIndex) sum = k.binary("arith.addf", sum, k.splat(k.toFloat(k.id(2)), {kBlock, kBlock}));
  k.store(sum, acc);
  maybe(load);
  const bool usesPlace = oneIn(4);
  const auto finish = [&] {
    // A view, made before the stores that it follows.
    const bool usesView = usesOthers && *rc::gen::inRange(0, 2) == 0;
    const Val half = usesView ? k.slice(*rc::gen::inRange(0, 2) == 0 ? acc : other, {k.constant(0), k.constant(0)},
                                        {kBlock / 2, kBlock})
                              : Val();
    Val all = k.load(acc);
    for (const Val& v : loaded) all = k.binary("arith.addf", all, v);
    maybe([&](const Val& ref) { k.store(all, ref); });
    if (usesView) {
      k.store(all, acc);
      k.store(k.splat(k.f32(2), {kBlock / 2, kBlock}), half);
      all = k.load(acc);
    }
    k.store(k.binary("arith.addf", all, usesPlace ? k.splat(k.toFloat(k.id(0)), {kBlock, kBlock}) : all), o);
  };
  if (everyStep)
    finish();
  else
    k.when(k.compare("eq", k.id(2), k.constant(end)), finish);
  return {std::move(k), {numbers({m, d}, 1), numbers({d, n}, 3), numbers({m, n}, 6)}};
}

/// Element-wise ops, reductions of rows and places, in blocks that may be partial.
Kernel someElementwise() {
  const int64_t rows = steps(), columns = steps();
  TextKernel k({rows, columns}, "parallel,parallel");
  const int64_t m = extentOf(rows), n = extentOf(columns);
  const bool transposes = *rc::gen::inRange(0, 4) == 0;
  const Spec part{.array = {m, n}, .block = {kBlock, kBlock}, .map = "%i, %j"};
  const Val x = k.input(part);
  const Val y = k.input(transposes && rows == columns && m == n
                            ? Spec{.array = {m, n}, .block = {kBlock, kBlock}, .map = "%j, %i"}
                            : part);
  const Val o = k.output(part);
  std::vector<Val> values{k.load(x), k.load(y)};
  const auto one = [&] { return values[*rc::gen::inRange<size_t>(0, values.size())]; };
  const std::string vector = values[0].type;
  for (int n = *rc::gen::inRange(1, 5); n-- > 0;) switch (*rc::gen::inRange(0, 7)) {
      case 0:
      case 1:
        values.push_back(k.binary("arith.addf", one(), one()));
        break;
      case 2:
        values.push_back(k.binary("arith.mulf", one(), k.splat(k.f32(2), {kBlock, kBlock})));
        break;
      case 3: {  // where the element is in its block
        const Val at = k.fresh(fmt::format("vector<{0}x{0}xi32>", kBlock)), real = k.fresh(vector);
        k.raw(fmt::format("{} = tpu.iota {{dimensions = array<i32: {}>}} : {}", at.name, *rc::gen::inRange(0, 2),
                          at.type));
        k.raw(fmt::format("{} = arith.sitofp {} : {} to {}", real.name, at.name, at.type, vector));
        values.push_back(k.binary("arith.addf", one(), real));
        break;
      }
      case 4:  // which step it is
        values.push_back(
            k.binary("arith.addf", one(), k.splat(k.toFloat(k.id(*rc::gen::inRange(0, 2))), {kBlock, kBlock})));
        break;
      case 5: {  // sums over all pairs of rows, or of columns, of the block
        const int side = *rc::gen::inRange(0, 2);
        const Val pairs = k.fresh(vector), zeros = k.splat(k.f32(0), {kBlock, kBlock});
        k.raw(
            fmt::format("{0} = tpu.matmul {1}, {1}, {2} {{dimension_numbers = #tpu.dot_dimension_numbers<[{3}], [{3}], "
                        "[{4}], [{4}], [0, {4}, 1, {4}], [], []>, transpose_lhs_hint = false}} : {5}, {5}, {5} -> {5}",
                        pairs.name, one().name, zeros.name, side, 1 - side, vector));
        const std::string sums = fmt::format("vector<{}xf32>", kBlock),
                          line = side == 0 ? fmt::format("vector<1x{}xf32>", kBlock)
                                           : fmt::format("vector<{}x1xf32>", kBlock);
        const Val zero = k.fresh(sums), sum = k.fresh(sums), up = k.fresh(line), wide = k.fresh(vector);
        k.raw(fmt::format("{} = arith.constant dense<0.0> : {}", zero.name, sums));
        k.raw(fmt::format("{} = vector.multi_reduction <add>, {}, {} [{}] : {} to {}", sum.name, pairs.name, zero.name,
                          side, vector, sums));
        k.raw(fmt::format("{} = vector.shape_cast {} : {} to {}", up.name, sum.name, sums, line));
        k.raw(fmt::format("{} = vector.broadcast {} : {} to {}", wide.name, up.name, line, vector));
        values.push_back(wide);
        break;
      }
      default: {  // the sum of each row of the block
        const std::string row = fmt::format("vector<{}xf32>", kBlock), column = fmt::format("vector<{}x1xf32>", kBlock);
        const Val zero = k.fresh(row), sum = k.fresh(row), up = k.fresh(column), wide = k.fresh(vector);
        k.raw(fmt::format("{} = arith.constant dense<0.0> : {}", zero.name, row));
        k.raw(fmt::format("{} = vector.multi_reduction <add>, {}, {} [1] : {} to {}", sum.name, one().name, zero.name,
                          vector, row));
        k.raw(fmt::format("{} = vector.shape_cast {} : {} to {}", up.name, sum.name, row, column));
        k.raw(fmt::format("{} = vector.broadcast {} : {} to {}", wide.name, up.name, column, vector));
        values.push_back(wide);
      }
    }
  k.store(values.back(), o);
  return {std::move(k), {numbers({m, n}, 1), numbers({m, n}, 4)}};
}

/// A product, and loads, arithmetic and stores between it and the store that has it.
Kernel somePostponedStore() {
  TextKernel k;
  const Spec whole{.array = {kBlock, kBlock}, .space = "vmem"};
  const Val x = k.input(whole), y = k.input(whole), o = k.output(whole), other = k.output(whole);
  const Val scratch = k.scratch("f32", {kBlock, kBlock});
  for (const Val& ref : {o, other, scratch}) k.store(k.load(*rc::gen::inRange(0, 2) == 0 ? x : y), ref);
  std::vector<Val> values{k.load(x), k.load(y)};
  const auto one = [&] { return values[*rc::gen::inRange<size_t>(0, values.size())]; };
  const std::vector<Val> written{o, other, scratch};
  const auto ref = [&] { return written[*rc::gen::inRange<size_t>(0, written.size())]; };
  Val product = dot(k, one(), one(), k.splat(k.f32(0), {kBlock, kBlock}));
  for (int n = *rc::gen::inRange(0, 4); n-- > 0;) switch (*rc::gen::inRange(0, 8)) {
      case 0:
        k.store(one(), ref());
        break;
      case 1:
        values.push_back(product);
        break;
      case 2:
        product = dot(k, one(), one(), k.splat(k.f32(0), {kBlock, kBlock}));
        break;
      case 3:
      case 4:
        values.push_back(k.load(ref()));
        break;
      default:
        values.push_back(k.binary("arith.subf", one(), one()));
    }
  k.store(*rc::gen::inRange(0, 3) == 0 ? product : k.binary("arith.addf", one(), product), ref());
  if (*rc::gen::inRange(0, 3) == 0) k.store(product, ref());
  return {std::move(k), {numbers({kBlock, kBlock}, 2), numbers({kBlock, kBlock}, 5)}};
}

/// A number per row, in all columns of a scratch buffer: the running maximum or sum of attention; or, with a mistake,
/// other elements too.
Kernel someRunningNumber() {
  constexpr int64_t kLanes = 128;
  TextKernel k({2, 3}, "parallel,arbitrary");
  const Spec part{.array = {2 * kBlock, 3 * kLanes}, .block = {kBlock, kLanes}, .map = "%i, %j"};
  const Val x = k.input(part), o = k.output(part), m = k.scratch("f32", {kBlock, kLanes});
  const Shape shape{kBlock, kLanes};
  k.when(k.compare("eq", k.id(1), k.constant(0)), [&] { k.store(k.splat(k.f32(-100), shape), m); });
  const Val block = k.load(x);
  const auto reduced = [&](const char* kind) {
    const Val start = k.splat(k.f32(*rc::gen::inRange(0, 2) == 0 ? 0 : -3), {kBlock}), found = k.fresh(start.type),
              column = k.fresh(fmt::format("vector<{}x1xf32>", kBlock)), wide = k.fresh(block.type);
    k.raw(fmt::format("{} = vector.multi_reduction <{}>, {}, {} [1] : {} to {}", found.name, kind, block.name,
                      start.name, block.type, found.type));
    k.raw(fmt::format("{} = vector.shape_cast {} : {} to {}", column.name, found.name, found.type, column.type));
    k.raw(fmt::format("{} = vector.broadcast {} : {} to {}", wide.name, column.name, column.type, wide.type));
    return wide;
  };
  std::vector<Val> rows{k.load(m), reduced("maximumf"), reduced("add")};
  const auto one = [&] { return rows[*rc::gen::inRange<size_t>(0, rows.size())]; };
  for (int n = *rc::gen::inRange(1, 4); n-- > 0;) {
    static constexpr const char* kOps[] = {"arith.addf", "arith.maximumf", "arith.subf"};
    rows.push_back(k.binary(kOps[*rc::gen::inRange(0, 3)], one(), one()));
  }
  const int mistake = *rc::gen::inRange(0, 8);
  if (mistake == 0) rows.back() = k.binary("arith.addf", rows.back(), block);
  k.store(rows.back(), m);
  if (mistake == 1)
    k.store(k.load(x, {kBlock, kLanes / 2}, {k.constant(0), k.constant(0)}), m,
            {k.constant(0), k.constant(kLanes / 2)});
  const Val now = k.load(m);
  k.store(*rc::gen::inRange(0, 4) == 0 ? k.binary("arith.addf", now, one()) : k.binary("arith.subf", block, now), o);
  return {std::move(k), {numbers(part.array, 1)}};
}

/// bf16 values that are selected in f32, as TPUs demand; or changed there.
Kernel someNarrowMove() {
  TextKernel k;
  const Spec narrow{.dtype = "bf16", .array = {kBlock, 128}, .space = "vmem"};
  const Val x = k.input(narrow), y = k.input(narrow), o = k.output(narrow);
  const std::string wideType = fmt::format("vector<{}x128xf32>", kBlock),
                    bits = fmt::format("vector<{}x128xi1>", kBlock),
                    integers = fmt::format("vector<{}x128xi32>", kBlock);
  std::vector<Val> wide;
  for (const Val& ref : {x, y}) {
    const Val v = k.load(ref);
    wide.push_back(k.fresh(wideType));
    k.raw(fmt::format("{} = arith.extf {} : {} to {}", wide.back().name, v.name, v.type, wideType));
  }
  wide.push_back(k.splat(k.f32(0), {kBlock, 128}));
  wide.push_back(k.splat(k.f32(1.001F), {kBlock, 128}));  // not a bf16
  const auto one = [&] { return wide[*rc::gen::inRange<size_t>(0, wide.size())]; };
  for (int n = *rc::gen::inRange(1, 4); n-- > 0;) {
    if (*rc::gen::inRange(0, 6) == 0) {
      wide.push_back(k.binary("arith.addf", one(), one()));
      continue;
    }
    const Val at = k.fresh(integers), mask = k.fresh(bits), chosen = k.fresh(wideType);
    k.raw(fmt::format("{} = tpu.iota {{dimensions = array<i32: {}>}} : {}", at.name, *rc::gen::inRange(0, 2), at.type));
    k.raw(fmt::format("{} = arith.cmpi slt, {}, {} : {}", mask.name, at.name,
                      k.splat(k.constant(*rc::gen::inRange(0, 9)), {kBlock, 128}).name, integers));
    k.raw(fmt::format("{} = arith.select {}, {}, {} : {}, {}", chosen.name, mask.name, one().name, one().name, bits,
                      wideType));
    wide.push_back(chosen);
  }
  const Val stored = k.fresh(fmt::format("vector<{}x128xbf16>", kBlock));
  k.raw(fmt::format("{} = arith.truncf {} : {} to {}", stored.name, wide.back().name, wideType, stored.type));
  k.store(stored, o);
  const auto bf16 = [](int64_t seed) {
    Array a = Array::allocate({DType::bf16, {kBlock, 128}}).value();
    for (int64_t i = 0; i < a.elements(); ++i)
      a.as<uint16_t>()[i] = static_cast<uint16_t>(0x3f00 + (i * 37 + seed) % 500);
    return a;
  };
  return {std::move(k), {bf16(0), bf16(91)}};
}

/// Products on matrix units: weights staged and loaded in some order, results from queues and accumulators.
Kernel someUnits() {
  TextKernel k;
  constexpr int64_t kSide = 128;
  const Spec narrow{.dtype = "bf16", .array = {kSide, kSide}}, wide{.array = {kSide, kSide}};
  const std::vector<Val> refs{k.input(narrow), k.input(narrow)};
  const Val o = k.output(wide);
  std::vector<Val> values;
  for (const Val& ref : refs) values.push_back(k.load(ref));
  const auto one = [&] { return values[*rc::gen::inRange<size_t>(0, values.size())]; };
  struct Unit {
    std::set<int> staged;
    bool hasWeights = false;
    int queued = 0;
    std::set<int> accumulators;
  };
  Unit units[2];
  Val sum = k.splat(k.f32(0), {kSide, kSide});
  const auto add = [&](const std::string& op) {
    const Val made = k.fresh(sum.type);
    k.raw(fmt::format("{} = {} : {}", made.name, op, made.type));
    sum = k.binary("arith.addf", sum, made);
  };
  const auto popQueue = [&](int unit) {
    add(fmt::format("tpu.matmul_pop_fifo {}", unit));
    --units[unit].queued;
  };
  const auto popAccumulator = [&](int unit, int accumulator) {
    add(fmt::format("tpu.matmul_pop {} {{mxu_index = {} : i32}}", accumulator, unit));
    units[unit].accumulators.erase(accumulator);
  };
  for (int n = *rc::gen::inRange(3, 10); n-- > 0;) {
    const int number = *rc::gen::inRange(0, 2);
    Unit& unit = units[number];
    if (!unit.hasWeights && unit.staged.empty()) {
      const int to = *rc::gen::inRange(0, 2);
      const Val v = one();
      k.raw(fmt::format("tpu.matmul_push_rhs {} {{mxu_index = {} : i32, staging_register = {} : i32{}}} : {}", v.name,
                        number, to, *rc::gen::inRange(0, 2) == 0 ? ", transpose = true" : "", v.type));
      unit.staged.insert(to);
      continue;
    }
    std::string load;
    if (!unit.staged.empty() && (!unit.hasWeights || *rc::gen::inRange(0, 2) == 0)) {
      load = fmt::format("load_staged_rhs = {} : i32, ", *unit.staged.begin());
      unit.staged.clear();
      unit.hasWeights = true;
    }
    const auto feedQueue = [&] {
      const Val v = one();
      k.raw(fmt::format("tpu.matmul_lhs_fifo {} {{{}mxu_index = {} : i32}} : {}", v.name, load, number, v.type));
      ++unit.queued;
    };
    const auto feedAccumulator = [&] {
      const int accumulator = *rc::gen::inRange(0, 3);
      const Val v = one();
      k.raw(fmt::format("tpu.matmul_acc_lhs {}, {} {{{}mxu_index = {} : i32}} : {}", accumulator, v.name, load, number,
                        v.type));
      unit.accumulators.insert(accumulator);
    };
    // Weights that are loaded are used at least once.
    switch (*rc::gen::inRange(0, 4)) {
      case 0:
        feedQueue();
        break;
      case 1:
        feedAccumulator();
        break;
      case 2:
        if (!load.empty()) feedQueue();
        if (unit.queued > 0) popQueue(number);
        break;
      default:
        if (!load.empty()) feedAccumulator();
        if (!unit.accumulators.empty()) popAccumulator(number, *unit.accumulators.begin());
        unit.hasWeights = unit.hasWeights && *rc::gen::inRange(0, 3) > 0;  // others are pushed next
    }
  }
  for (int number : {0, 1}) {
    while (units[number].queued > 0) popQueue(number);
    while (!units[number].accumulators.empty()) popAccumulator(number, *units[number].accumulators.begin());
  }
  k.store(sum, o);
  const auto bf16 = [](int64_t seed) {
    Array a = Array::allocate({DType::bf16, {kSide, kSide}}).value();
    for (int64_t i = 0; i < a.elements(); ++i)
      a.as<uint16_t>()[i] = static_cast<uint16_t>((i * 7 + seed) % 3 == 0 ? 0x3f80 : (i + seed) % 5 == 0 ? 0xc000 : 0);
    return a;
  };
  return {std::move(k), {bf16(0), bf16(4)}};
}

/// The pass changes enough of the random kernels that its mistakes would be found.
void expectApplied(const std::map<std::string, int>& counts, const std::string& pass, int times) {
  EXPECT_GT(counts.contains(pass) ? counts.at(pass) : 0, times) << pass;
}

TEST(Passes, PreserveProducts) {
  SMALTI_LONG_TEST();
  expectApplied(applied([] { return someProduct(false); }, 3), "retile-matmul-grid", 30);
  expectApplied(applied([] { return someProduct(true); }, 3), "retile-masked-matmul-grid", 30);
}

TEST(Passes, PreserveElementwiseKernels) {
  SMALTI_LONG_TEST();
  expectApplied(applied(someElementwise, 3), "retile-without-padding", 20);
}

TEST(Passes, PreservePostponedStores) { expectApplied(applied(somePostponedStore, 2), "hoist-above-products", 50); }

TEST(Passes, PreserveNumbersOfRows) {
  SMALTI_LONG_TEST();
  expectApplied(applied(someRunningNumber, 2), "eliminate-lane-broadcasts", 50);
}

TEST(Passes, PreserveProductsOfMatrixUnits) { expectApplied(applied(someUnits, 1), "multiply-without-units", 50); }

TEST(Passes, PreserveNarrowMoves) { expectApplied(applied(someNarrowMove, 2), "move-narrow-floats", 50); }

}  // namespace
}  // namespace smalti::cpu::testing
