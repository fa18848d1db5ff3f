// Integer ops on every integer type, against arithmetic on 128-bit values.
#include <functional>
#include <map>
#include <string>

#include "ElementwiseTesting.h"

namespace smalti::eval::test {
namespace {

__extension__ typedef __int128 Wide;

/// Operands as the type's bits, their signed values and the width; the result is cut to the width by the caller.
struct Operands {
  Wide a, b;  ///< unsigned
  Wide signedA, signedB;
  int width;
};
using Reference = std::function<Wide(const Operands&)>;

const std::map<std::string, Reference>& binaryReferences() {
  static const std::map<std::string, Reference> all = {
      {"arith.addi", [](const Operands& o) { return o.a + o.b; }},
      {"arith.subi", [](const Operands& o) { return o.a - o.b; }},
      {"arith.muli", [](const Operands& o) { return o.signedA * o.signedB; }},
      {"arith.andi", [](const Operands& o) { return o.a & o.b; }},
      {"arith.ori", [](const Operands& o) { return o.a | o.b; }},
      {"arith.xori", [](const Operands& o) { return o.a ^ o.b; }},
      {"arith.maxsi", [](const Operands& o) { return std::max(o.signedA, o.signedB); }},
      {"arith.minsi", [](const Operands& o) { return std::min(o.signedA, o.signedB); }},
      {"arith.maxui", [](const Operands& o) { return std::max(o.a, o.b); }},
      {"arith.minui", [](const Operands& o) { return std::min(o.a, o.b); }},
      {"arith.divsi", [](const Operands& o) { return o.b == 0 ? Wide{-1} : o.signedA / o.signedB; }},
      {"arith.divui", [](const Operands& o) { return o.b == 0 ? Wide{-1} : o.a / o.b; }},
      {"arith.remsi", [](const Operands& o) { return o.b == 0 ? o.a : o.signedA % o.signedB; }},
      {"arith.remui", [](const Operands& o) { return o.b == 0 ? o.a : o.a % o.b; }},
      {"arith.shli", [](const Operands& o) { return o.b >= o.width ? Wide{0} : o.a << static_cast<int>(o.b); }},
      {"arith.shrui", [](const Operands& o) { return o.b >= o.width ? Wide{0} : o.a >> static_cast<int>(o.b); }},
      {"arith.shrsi",
       [](const Operands& o) { return o.signedA >> static_cast<int>(std::min<Wide>(o.b, o.width - 1)); }},
  };
  return all;
}

const std::map<std::string, Reference>& compareReferences() {
  static const std::map<std::string, Reference> all = {
      {"eq", [](const Operands& o) { return o.a == o.b; }},
      {"ne", [](const Operands& o) { return o.a != o.b; }},
      {"slt", [](const Operands& o) { return o.signedA < o.signedB; }},
      {"sle", [](const Operands& o) { return o.signedA <= o.signedB; }},
      {"sgt", [](const Operands& o) { return o.signedA > o.signedB; }},
      {"sge", [](const Operands& o) { return o.signedA >= o.signedB; }},
      {"ult", [](const Operands& o) { return o.a < o.b; }},
      {"ule", [](const Operands& o) { return o.a <= o.b; }},
      {"ugt", [](const Operands& o) { return o.a > o.b; }},
      {"uge", [](const Operands& o) { return o.a >= o.b; }},
  };
  return all;
}

Operands operandsOf(const Elements& a, const Elements& b, int64_t i) {
  const int width = bit_width(a.dtype);
  const auto asSigned = [&](uint64_t x) {
    return (x >> (width - 1)) & 1 ? static_cast<Wide>(x) - (Wide{1} << width) : static_cast<Wide>(x);
  };
  return {static_cast<Wide>(a.bits(i)), static_cast<Wide>(b.bits(i)), asSigned(a.bits(i)), asSigned(b.bits(i)), width};
}

/// Up to 4 bits every pair; above, all pairs of special values and random ones.
std::pair<Elements, Elements> integerOperands(DType t) {
  const int width = bit_width(t);
  std::vector<uint64_t> a, b, special;
  if (width <= 4) {
    for (uint64_t x = 0; x < (uint64_t{1} << width); ++x) special.push_back(x);
  } else {
    const uint64_t minimum = uint64_t{1} << (width - 1);
    special = {0, 1, 2, 3, 7, 10, 100, ~uint64_t{0}, ~uint64_t{1}, ~uint64_t{9}, minimum, minimum - 1, minimum + 1};
    for (const int k : {width - 2, width - 1, width, width + 1, 2 * width}) special.push_back(static_cast<uint64_t>(k));
  }
  for (const uint64_t x : special)
    for (const uint64_t y : special) a.push_back(x), b.push_back(y);
  std::mt19937_64 random(static_cast<uint64_t>(t));
  for (int i = 0; i < 2003; ++i) {
    a.push_back(random() >> (random() % 64));
    b.push_back(random() >> (random() % 64));
  }
  const int64_t n = static_cast<int64_t>(a.size());
  std::pair<Elements, Elements> result{{t, n}, {t, n}};
  for (int64_t i = 0; i < n; ++i) result.first.setBits(i, a[i]), result.second.setBits(i, b[i]);
  return result;
}

class Integers : public OnEveryIsa {};
INSTANTIATE_TEST_SUITE_P(Isa, Integers, everyIsa(), isaName);

void expectAsReference(const std::string& op) {
  for (const DType t : integerTypes()) {
    const auto [a, b] = integerOperands(t);
    const Elements out = run(findBinary(op, t), a, b, t);
    int failures = 0;
    for (int64_t i = 0; i < a.size() && failures < 5; ++i) {
      Elements expected(t, 1);
      expected.setBits(0, static_cast<uint64_t>(binaryReferences().at(op)(operandsOf(a, b, i))));
      failures += out.raw(i) != expected.raw(0);
      EXPECT_EQ(out.raw(i), expected.raw(0)) << op << " " << name(t) << " of " << a.value(i) << ", " << b.value(i);
    }
  }
}

TEST_P(Integers, EveryBinaryOpOnEveryType) {
  for (const auto& [op, reference] : binaryReferences()) expectAsReference(op);
}

TEST_P(Integers, SE8_DivisionTruncatesAndNeverTraps) {
  for (const char* op : {"arith.divsi", "arith.divui", "arith.remsi", "arith.remui"}) expectAsReference(op);
  const Elements a(DType::i32, {-7, 7, 5, -5, -2147483648.0, -2147483648.0});
  const Elements b(DType::i32, {2, -2, 0, 0, -1, 0});
  const Elements quotient = run(findBinary("arith.divsi", DType::i32), a, b, DType::i32);
  const Elements rest = run(findBinary("arith.remsi", DType::i32), a, b, DType::i32);
  const std::vector<double> quotients = {-3, -3, -1, -1, -2147483648.0, -1}, rests = {-1, 1, 5, -5, 0, -2147483648.0};
  for (int64_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(quotient.value(i), quotients[i]);
    EXPECT_EQ(rest.value(i), rests[i]);
  }
}

TEST_P(Integers, SE9_ShiftsByTheWidthOrMoreLeaveZeroOrTheSign) {
  for (const char* op : {"arith.shli", "arith.shrui", "arith.shrsi"}) expectAsReference(op);
  const Elements x(DType::i8, {-128, 127, -1}), count(DType::i8, {8, 100, -1});
  for (int64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(run(findBinary("arith.shli", DType::i8), x, count, DType::i8).value(i), 0);
    EXPECT_EQ(run(findBinary("arith.shrui", DType::i8), x, count, DType::i8).value(i), 0);
    EXPECT_EQ(run(findBinary("arith.shrsi", DType::i8), x, count, DType::i8).value(i), x.value(i) < 0 ? -1 : 0);
  }
}

TEST_P(Integers, EveryCompareOnEveryType) {
  for (const auto& [predicate, reference] : compareReferences()) {
    for (const DType t : integerTypes()) {
      const auto [a, b] = integerOperands(t);
      const Elements out = run(findBinary("arith.cmpi." + predicate, t), a, b, DType::pred);
      for (int64_t i = 0; i < a.size(); ++i)
        ASSERT_EQ(out.raw(i), reference(operandsOf(a, b, i)) ? 1u : 0u) << predicate << " " << name(t) << " " << i;
    }
  }
}

TEST_P(Integers, UnaryOpsOnEveryType) {
  const auto count = [](const Operands& o, auto stop) {
    int n = 0;
    while (n < o.width && !stop(n)) ++n;
    return Wide{n};
  };
  const std::map<std::string, Reference> references = {
      {"math.absi", [](const Operands& o) { return o.signedA < 0 ? -o.signedA : o.signedA; }},
      {"math.ctpop",
       [](const Operands& o) { return Wide{__builtin_popcountll(static_cast<unsigned long long>(o.a))}; }},
      {"math.ctlz", [&](const Operands& o) { return count(o, [&](int n) { return o.a >> (o.width - 1 - n) & 1; }); }},
      {"math.cttz", [&](const Operands& o) { return count(o, [&](int n) { return o.a >> n & 1; }); }},
  };
  for (const auto& [op, reference] : references) {
    for (const DType t : integerTypes()) {
      const auto [a, b] = integerOperands(t);
      const Elements out = run(findUnary(op, t), a, t);
      for (int64_t i = 0; i < a.size(); ++i) {
        Elements expected(t, 1);
        expected.setBits(0, static_cast<uint64_t>(reference(operandsOf(a, b, i))));
        ASSERT_EQ(out.raw(i), expected.raw(0)) << op << " " << name(t) << " of " << a.value(i);
      }
    }
  }
}

TEST_P(Integers, PowersWrapAndNegativeExponentsTruncate) {
  const Elements base(DType::i32, {3, -2, 2, 1, -1, -1, 5, 0}), exponent(DType::i32, {4, 5, -1, -7, -7, -8, 0, 0});
  const Elements out = run(findBinary("math.ipowi", DType::i32), base, exponent, DType::i32);
  const std::vector<double> expected = {81, -32, 0, 1, -1, 1, 1, 1};
  for (int64_t i = 0; i < out.size(); ++i) EXPECT_EQ(out.value(i), expected[i]) << i;
}

TEST_P(Integers, SplatsAndInPlaceGiveTheSameAsWholeArrays) {
  for (const DType t : {DType::i32, DType::i8, DType::i4, DType::i64, DType::pred}) {
    const auto [a, b] = integerOperands(t);
    for (const char* op : {"arith.subi", "arith.shli", "arith.divsi", "arith.cmpi.slt"}) {
      const BinaryKernel kernel = findBinary(op, t);
      const DType to = std::string_view(op).starts_with("arith.cmpi") ? DType::pred : t;
      for (const int64_t n : {0, 1, 3, 16, 63, 127, 600}) {
        Elements left(t, n), right(t, n), one(t, 1);
        one.setBits(0, a.bits(5));
        for (int64_t i = 0; i < n; ++i) left.setBits(i, a.bits(i)), right.setBits(i, b.bits(i + 100));
        Elements spread(t, n);
        for (int64_t i = 0; i < n; ++i) spread.setBits(i, one.bits(0));
        Elements splatLeft(to, n), splatRight(to, n);
        kernel(one.bytes.data(), right.bytes.data(), splatLeft.bytes.data(), n, Splat::lhs);
        kernel(left.bytes.data(), one.bytes.data(), splatRight.bytes.data(), n, Splat::rhs);
        EXPECT_EQ(splatLeft.bytes, run(kernel, spread, right, to).bytes) << op << " " << name(t) << " " << n;
        EXPECT_EQ(splatRight.bytes, run(kernel, left, spread, to).bytes) << op << " " << name(t) << " " << n;
        if (to != t) continue;
        const Elements expected = run(kernel, left, right, t);
        Elements inLeft = left, inRight = right;
        kernel(inLeft.bytes.data(), right.bytes.data(), inLeft.bytes.data(), n, Splat::none);
        kernel(left.bytes.data(), inRight.bytes.data(), inRight.bytes.data(), n, Splat::none);
        EXPECT_EQ(inLeft.bytes, expected.bytes) << op << " " << name(t) << " " << n;
        EXPECT_EQ(inRight.bytes, expected.bytes) << op << " " << name(t) << " " << n;
      }
    }
  }
}

TEST(IntegerLookup, UnknownNamesAndTypesHaveNoKernel) {
  EXPECT_EQ(findBinary("arith.addi", DType::f32), nullptr);
  EXPECT_EQ(findBinary("arith.addf", DType::i32), nullptr);
  EXPECT_EQ(findBinary("arith.nothing", DType::i32), nullptr);
  EXPECT_EQ(findBinary("arith.addi", DType::semaphore), nullptr);
  EXPECT_EQ(findUnary("math.absi", DType::bf16), nullptr);
}

}  // namespace
}  // namespace smalti::eval::test
