// staysOutside() against brute force: random kernels on partial blocks, and for each element of a value whether it
// depends on elements past the end of the first input's array.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "../../LongTest.h"
#include "../../machine/runtime/TextKernel.h"
#include "cpu/check/Outside.h"

namespace smalti::cpu {
namespace {

using machine::testing::TextKernel;
using machine::testing::Val;

constexpr int64_t kBlock = 4, kArray = 6, kGrid = 2;  // along each of two dimensions
constexpr int kInputs = 2, kOutputs = 2, kRefs = 5;   // the last one is scratch

/// By element of a block, row-major: whether it depends on what is past the array's end.
using Taint = std::array<bool, kBlock * kBlock>;

/// Grid axes that are the block's coordinates; -1: 0.
using BlockMap = std::array<int, 2>;

struct Step {
  enum Kind : uint8_t {
    load,
    loadRows,
    add,
    select,
    transpose,
    rowSums,
    product,
    mask,
    zero,
    store,
    storeRows,
    storeUnderMask
  } kind;
  size_t ref = 0;       ///< of a load or a store
  size_t a = 0, b = 0;  ///< numbers of values
  int64_t row = 0;      ///< first of the two rows of loadRows and storeRows
  int firstOf = -1;     ///< a store under a condition: in steps with index 0 of this axis only
  int axis = 0;         ///< of a mask: zero for positions of `dimension` past `end` in blocks along this axis
  int dimension = 0;
  int64_t end = kArray;
};

struct Body {
  std::array<BlockMap, kRefs> maps{};  ///< unused for scratch
  std::vector<Step> steps;
};

Body someBody() {
  static const std::vector<BlockMap> kMaps{{0, 1}, {1, 0}, {0, -1}, {-1, 1}, {1, -1}};
  Body body;
  // One map for all refs in most kernels: only then can anything be proved.
  const size_t common = *rc::gen::inRange<size_t>(0, kMaps.size());
  for (BlockMap& map : body.maps)
    map = kMaps[*rc::gen::inRange(0, 8) == 0 ? *rc::gen::inRange<size_t>(0, kMaps.size()) : common];
  body.steps.push_back({.kind = Step::load, .ref = 0});
  size_t values = 1;
  const auto anyValue = [&] { return *rc::gen::inRange<size_t>(0, values); };
  for (int n = *rc::gen::inRange(1, 9); n-- > 0;) {
    Step s{.kind = Step::load, .a = anyValue(), .b = anyValue()};
    const int kind = *rc::gen::inRange(0, 28);
    if (kind < 4) {
      s.ref = *rc::gen::inRange<size_t>(0, kind < 2 ? kRefs : kInputs);
    } else if (kind == 4) {
      s.kind = Step::loadRows;
      s.ref = *rc::gen::inRange<size_t>(0, kInputs);
      s.row = 2 * *rc::gen::inRange<int64_t>(0, 2);
    } else if (kind < 12) {
      s.kind = kind < 9 ? Step::add : Step::select;
    } else if (kind < 15) {
      s.kind = kind < 14 ? Step::transpose : Step::rowSums;
    } else if (kind < 24) {
      s.kind = kind < 22 ? Step::store : kind == 22 ? Step::storeRows : Step::storeUnderMask;
      s.ref = kInputs + *rc::gen::inRange<size_t>(0, kRefs - kInputs);
      s.row = 2 * *rc::gen::inRange<int64_t>(0, 2);
      if (*rc::gen::inRange(0, 4) == 0) s.firstOf = *rc::gen::inRange(0, 2);
    } else if (kind < 26) {
      s.kind = Step::product;
    } else {
      s = {.kind = Step::mask, .a = s.a, .axis = *rc::gen::inRange(0, 2), .dimension = *rc::gen::inRange(0, 2)};
      if (*rc::gen::inRange(0, 4) == 0) s.end = kArray + *rc::gen::inRange<int64_t>(-1, 2);
    }
    values += s.kind < Step::store;
    body.steps.push_back(s);
  }
  // What a kernel reads back from an output and transposes.
  if (*rc::gen::inRange(0, 4) == 0) {
    body.steps.push_back({.kind = Step::store, .ref = kInputs, .a = anyValue()});
    body.steps.push_back({.kind = Step::load, .ref = kInputs});
    body.steps.push_back({.kind = Step::transpose, .a = values});
    body.steps.push_back({.kind = Step::store, .ref = kInputs + 1, .a = values + 1});
    values += 2;
  }
  body.steps.push_back({.kind = Step::store, .ref = kInputs, .a = anyValue()});
  return body;
}

struct Writer {
  TextKernel k{{kGrid, kGrid}};
  std::vector<Val> refs{}, values{};

  Val raw(const std::string& type, const std::string& op) {
    const Val v = k.fresh(type);
    k.raw(v.name + " = " + op);
    return v;
  }
  Val mask(const Val& a, const Val& b) {
    return raw("vector<4x4xi1>", fmt::format("arith.cmpi slt, {}, {} : {}", a.name, b.name, a.type));
  }
  void store(const Step& s) {
    const Val &value = values[s.a], &ref = refs[s.ref];
    if (s.kind == Step::store) return k.store(value, ref);
    const Val row = k.constant(static_cast<int32_t>(s.row)), zero = k.constant(0);
    if (s.kind == Step::storeRows)
      return k.store(raw("vector<2x4xi32>", fmt::format("vector.extract_strided_slice {} {{offsets = [{}, 0], sizes = "
                                                        "[2, 4], strides = [1, 1]}} : {} to vector<2x4xi32>",
                                                        value.name, s.row, value.type)),
                     ref, {row, zero});
    const Val chosen = mask(value, values[s.b]);
    const Val at = raw("index", fmt::format("arith.index_cast {} : i32 to index", zero.name));
    k.raw(
        fmt::format("\"tpu.vector_store\"({0}, {1}, {2}, {2}, {3}) <{{operandSegmentSizes = array<i32: 1, 1, 2, 1>, "
                    "strides = array<i32>, add = false}}> : ({4}, {5}, index, index, {6}) -> ()",
                    value.name, ref.name, at.name, chosen.name, value.type, ref.type, chosen.type));
  }
  void write(const Step& s) {
    const auto type = "vector<4x4xi32>";
    switch (s.kind) {
      case Step::load:
        values.push_back(k.load(refs[s.ref]));
        return;
      case Step::loadRows: {
        const Val rows = k.load(refs[s.ref], {2, 4}, {k.constant(static_cast<int32_t>(s.row)), k.constant(0)});
        values.push_back(raw(type, fmt::format("\"tpu.concatenate\"({0}, {0}) <{{dimension = 0 : i32}}> : ({1}, {1}) "
                                               "-> vector<4x4xi32>",
                                               rows.name, rows.type)));
        return;
      }
      case Step::add:
        values.push_back(k.binary("arith.addi", values[s.a], values[s.b]));
        return;
      case Step::select: {
        const Val chosen = mask(values[s.a], values[s.b]);
        values.push_back(raw(type, fmt::format("arith.select {}, {}, {} : {}, {}", chosen.name, values[s.a].name,
                                               values[s.b].name, chosen.type, type)));
        return;
      }
      case Step::transpose:
        values.push_back(
            raw(type, fmt::format("\"tpu.transpose\"({}) <{{permutation = array<i64: 1, 0>}}> : ({}) -> {}",
                                  values[s.a].name, type, type)));
        return;
      case Step::rowSums: {
        const Val zeros = k.splat(k.constant(0), {4});
        const Val sums =
            raw("vector<4xi32>", fmt::format("vector.multi_reduction <add>, {}, {} [1] : {} to vector<4xi32>",
                                             values[s.a].name, zeros.name, type));
        const Val column =
            raw("vector<4x1xi32>", fmt::format("vector.shape_cast {} : vector<4xi32> to vector<4x1xi32>", sums.name));
        values.push_back(
            raw(type, fmt::format("vector.broadcast {} : vector<4x1xi32> to vector<4x4xi32>", column.name)));
        return;
      }
      case Step::product: {
        const Val zeros = k.splat(k.constant(0), {kBlock, kBlock});
        values.push_back(raw(
            type, fmt::format("tpu.matmul {0}, {1}, {2} {{dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], "
                              "[0], [1], [0, 0, 1, 1], [], []>, transpose_lhs_hint = false}} : {3}, {3}, {3} -> {3}",
                              values[s.a].name, values[s.b].name, zeros.name, type)));
        return;
      }
      case Step::mask: {
        const Val first = k.splat(k.binary("arith.muli", k.id(s.axis), k.constant(kBlock)), {kBlock, kBlock});
        const Val at = raw(type, fmt::format("tpu.iota {{dimensions = array<i32: {}>}} : {}", s.dimension, type));
        const Val inside =
            mask(k.binary("arith.addi", first, at), k.splat(k.constant(static_cast<int32_t>(s.end)), {kBlock, kBlock}));
        const Val zeros = k.splat(k.constant(0), {kBlock, kBlock});
        values.push_back(raw(type, fmt::format("arith.select {}, {}, {} : {}, {}", inside.name, values[s.a].name,
                                               zeros.name, inside.type, type)));
        return;
      }
      case Step::zero:
        values.push_back(k.splat(k.constant(0), {kBlock, kBlock}));
        return;
      default:
        if (s.firstOf >= 0)
          k.when(k.compare("eq", k.id(s.firstOf), k.constant(0)), [&] { store(s); });
        else
          store(s);
    }
  }
};

/// A sum of products over the blocks along one axis, as in a matmul, in which now and then something is missing.
Body someMatmul() {
  const auto pick = [](int below) { return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, below)); };
  const auto mostly = [&] { return pick(8) != 0; };
  const int along = pick(2), rows = 1 - along;
  const bool isLeft = pick(2) == 0;  // input 0
  Body body;
  const BlockMap left{rows, along}, right{along, -1};
  body.maps = {isLeft ? left : right, isLeft ? right : left, BlockMap{rows, -1}, BlockMap{rows, -1}, BlockMap{-1, -1}};
  const size_t acc = kInputs + kOutputs;
  // Without any mask, nothing depends on the index along the sum.
  const Step::Kind mask = mostly() ? Step::mask : Step::zero;
  const bool masksLeft = mask == Step::mask && mostly(), masksRight = mask == Step::mask && mostly();
  body.steps = {
      {.kind = Step::load, .ref = isLeft ? size_t{0} : size_t{1}},
      {.kind = Step::load, .ref = isLeft ? size_t{1} : size_t{0}},
      {.kind = mask, .a = 0, .axis = along, .dimension = 1},
      {.kind = mask, .a = 1, .axis = along, .dimension = 0},
      {.kind = Step::product, .a = masksLeft ? size_t{2} : size_t{0}, .b = masksRight ? size_t{3} : size_t{1}},
      {.kind = Step::zero}};
  if (mostly()) body.steps.push_back({.kind = Step::store, .ref = acc, .a = 5, .firstOf = mostly() ? along : rows});
  body.steps.push_back({.kind = Step::load, .ref = acc});
  body.steps.push_back({.kind = Step::add, .a = 6, .b = 4});
  body.steps.push_back({.kind = Step::store, .ref = acc, .a = 7});
  body.steps.push_back({.kind = Step::store, .ref = kInputs, .a = 7});
  return body;
}

TextKernel kernelOf(const Body& body) {
  Writer w;
  const auto coordinate = [](int axis) { return axis < 0 ? std::string("%c0") : std::string("%") + "ij"[axis]; };
  for (size_t ref = 0; ref < kRefs; ++ref) {
    const machine::testing::Spec spec{.dtype = "i32",
                                      .array = {kArray, kArray},
                                      .block = {kBlock, kBlock},
                                      .map = coordinate(body.maps[ref][0]) + ", " + coordinate(body.maps[ref][1])};
    w.refs.push_back(ref < kInputs              ? w.k.input(spec)
                     : ref < kInputs + kOutputs ? w.k.output(spec)
                                                : w.k.scratch("i32", {kBlock, kBlock}));
  }
  for (const Step& s : body.steps) w.write(s);
  return std::move(w.k);
}

/// Runs all steps of the grid on taints. Blocks keep their contents while their window stays, as on a TPU.
class Simulation {
 public:
  explicit Simulation(const Body& body) : body_(body) {}

  /// Whether an element past the end of input 0 reaches an element of a result's array.
  bool leaks() {
    for (int64_t i = 0; i < kGrid; ++i)
      for (int64_t j = 0; j < kGrid; ++j) step({i, j});
    for (size_t ref = kInputs; ref < kInputs + kOutputs; ++ref) writeBack(ref);
    return leaks_;
  }

 private:
  struct Block {
    std::array<int64_t, 2> start{-1, -1};
    Taint taint{};
    bool isInside(int64_t row, int64_t column) const { return start[0] + row < kArray && start[1] + column < kArray; }
  };

  void writeBack(size_t ref) {
    const Block& block = blocks_[ref];
    for (int64_t r = 0; r < kBlock; ++r)
      for (int64_t c = 0; c < kBlock; ++c)
        leaks_ |= block.taint[static_cast<size_t>(r * kBlock + c)] && block.isInside(r, c);
  }

  void step(const std::array<int64_t, 2>& point) {
    for (size_t ref = 0; ref < kInputs + kOutputs; ++ref) {
      Block now;
      for (size_t d = 0; d < 2; ++d)
        now.start[d] = body_.maps[ref][d] < 0 ? 0 : kBlock * point[static_cast<size_t>(body_.maps[ref][d])];
      if (now.start == blocks_[ref].start) continue;
      if (ref >= kInputs && blocks_[ref].start[0] >= 0) writeBack(ref);
      for (int64_t e = 0; e < kBlock * kBlock && ref == 0; ++e)
        now.taint[static_cast<size_t>(e)] = !now.isInside(e / kBlock, e % kBlock);
      blocks_[ref] = now;
    }
    std::vector<Taint> values;
    for (const Step& s : body_.steps) {
      if (s.kind < Step::store)
        values.push_back(valueOf(s, values, point));
      else if (s.firstOf < 0 || point[static_cast<size_t>(s.firstOf)] == 0)
        store(s, values);
    }
  }

  Taint valueOf(const Step& s, const std::vector<Taint>& values, const std::array<int64_t, 2>& point) const {
    Taint made{};
    for (int64_t r = 0; r < kBlock; ++r)
      for (int64_t c = 0; c < kBlock; ++c) {
        const auto at = [&](int64_t row, int64_t column) { return static_cast<size_t>(row * kBlock + column); };
        bool& e = made[at(r, c)];
        switch (s.kind) {
          case Step::load:
            e = blocks_[s.ref].taint[at(r, c)];
            break;
          case Step::loadRows:
            e = blocks_[s.ref].taint[at(s.row + r % 2, c)];
            break;
          case Step::transpose:
            e = values[s.a][at(c, r)];
            break;
          case Step::rowSums:
            for (int64_t other = 0; other < kBlock; ++other) e |= values[s.a][at(r, other)];
            break;
          case Step::product:
            for (int64_t k = 0; k < kBlock; ++k) e |= values[s.a][at(r, k)] || values[s.b][at(k, c)];
            break;
          case Step::mask:
            e = values[s.a][at(r, c)] &&
                kBlock * point[static_cast<size_t>(s.axis)] + (s.dimension == 0 ? r : c) < s.end;
            break;
          case Step::zero:
            break;
          default:
            e = values[s.a][at(r, c)] || values[s.b][at(r, c)];
        }
      }
    return made;
  }

  void store(const Step& s, const std::vector<Taint>& values) {
    Taint& to = blocks_[s.ref].taint;
    for (size_t e = 0; e < to.size(); ++e) {
      const auto row = static_cast<int64_t>(e) / kBlock;
      if (s.kind == Step::storeUnderMask)
        to[e] |= values[s.a][e] || values[s.b][e];
      else if (s.kind == Step::store || (row >= s.row && row < s.row + 2))
        to[e] = values[s.a][e];
    }
  }

  const Body& body_;
  std::array<Block, kRefs> blocks_{};
  bool leaks_ = false;
};

/// A test failure where a proof holds although an element past the end reaches a result; unless enough kernels are
/// proved, and enough not.
void noProofIsWrong(Body (*some)(), int minProved, int minLeaking) {
  constexpr int kBodies = 6;  // per case of rapidcheck
  int proved = 0, leaking = 0;
  EXPECT_TRUE(rc::check([&] {
    for (int n = 0; n < kBodies; ++n) {
      const Body body = some();
      const TextKernel kernel = kernelOf(body);
      const KernelPackage package = kernel.package();
      const bool stays = staysOutside(package, 0), leaks = Simulation(body).leaks();
      if (stays && leaks) RC_FAIL(kernel.text());
      proved += stays;
      leaking += leaks;
    }
  }));
  EXPECT_GT(proved, minProved) << "bodies are such that there is something to prove";
  EXPECT_GT(leaking, minLeaking);
}

TEST(Outside, NoProofHoldsWhereUndefinedElementsReachAResult) {
  SMALTI_LONG_TEST();
  noProofIsWrong(someBody, 50, 50);
}
TEST(Outside, NoProofHoldsWhereUndefinedElementsReachASumOfProducts) {
  SMALTI_LONG_TEST();
  noProofIsWrong(someMatmul, 50, 100);
}

}  // namespace
}  // namespace smalti::cpu
