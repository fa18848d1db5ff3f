// Every element-wise op and conversion gives natively what it gives on the machine, for numbers of all kinds: the same
// bits, but for mathematical functions, which may differ by as much as both may err.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "../../LongTest.h"
#include "ElementwiseRows.h"

namespace smalti::cpu::testing {
namespace {

/// One kernel with an output per row; rows that the machine refuses for this dtype are left out.
class Sheet {
 public:
  Sheet(std::vector<std::string> in, Shape shape) : in_(std::move(in)), shape_(std::move(shape)) {}

  void add(const Row& row, const std::string& in, const std::string& out) {
    TextKernel alone;
    std::vector<Val> values;
    start(alone, values);
    append(alone, values, row, in, out);
    if (accepted(alone.text())) rows_.push_back({row, in, out});
  }

  void check(uint64_t seed) {
    if (rows_.empty()) return;
    TextKernel k;
    std::vector<Val> values;
    start(k, values);
    for (const auto& [row, in, out] : rows_) append(k, values, row, in, out);
    std::vector<Array> operands;
    for (const std::string& t : in_)
      for (int i = 0; i < 2; ++i) operands.push_back(sampleNumbers(dtype_from_name(t).value(), shape_, ++seed));
    const auto code = native(k);
    ASSERT_TRUE(code);
    bool fault = false;
    auto ours = code->call(operands, 1, fault);
    ASSERT_TRUE(ours && !fault);
    const auto theirs = results(k, operands);
    ASSERT_EQ(theirs.size(), rows_.size());
    for (size_t i = 0; i < rows_.size(); ++i)
      EXPECT_EQ(apart((*ours)[i], theirs[i], rows_[i].row.ulp), "")
          << rows_[i].row.op << " " << rows_[i].row.attributes << " " << rows_[i].in << " " << rows_[i].out << " "
          << fmt::format("{}", fmt::join(shape_, "x"));
  }
  size_t rows() const { return rows_.size(); }

 private:
  struct Entry {
    Row row;
    std::string in, out;
  };

  /// Two values of each input dtype.
  void start(TextKernel& k, std::vector<Val>& values) {
    for (const std::string& t : in_)
      for (int i = 0; i < 2; ++i) values.push_back(k.input({.dtype = t, .array = shape_, .space = "vmem"}));
    for (Val& v : values) v = k.load(v);
  }
  void append(TextKernel& k, const std::vector<Val>& values, const Row& row, const std::string& in,
              const std::string& out) {
    const auto at = static_cast<size_t>(2 * (std::ranges::find(in_, in) - in_.begin()));
    const Val target = k.output({.dtype = out == "i1" ? "i32" : out, .array = shape_, .space = "vmem"});
    const std::string inType = vectorOf(in, shape_), outType = vectorOf(out, shape_);
    Val v = k.fresh(outType);
    k.raw(fmt::format("{} = \"{}\"({}{}) {{{}}} : ({}{}) -> {}", v.name, row.op, values[at].name,
                      row.operands == 2 ? ", " + values[at + 1].name : "", row.attributes, inType,
                      row.operands == 2 ? ", " + inType : "", outType));
    if (out == "i1") {
      const Val wide = k.fresh(vectorOf("i32", shape_));
      k.raw(fmt::format("{} = arith.extui {} : {} to {}", wide.name, v.name, outType, wide.type));
      v = wide;
    }
    k.store(v, target);
  }

  std::vector<std::string> in_;
  Shape shape_;
  std::vector<Entry> rows_;
};

/// One element, fewer than a vector, more than some, of three dimensions, one column.
const std::vector<Shape> kShapes{{1}, {7}, {8, 127}, {3, 5, 130}, {130, 1}};

/// All shapes for the dtypes that kernels compute in, one for the others.
std::span<const Shape> shapesFor(const std::string& t) {
  return t == "f32" || t == "bf16" || t == "i32" ? std::span(kShapes) : std::span(kShapes).subspan(2, 1);
}

TEST(NativeAgreement, FloatOps) {
  SMALTI_LONG_TEST_OF_GENERATED_CODE();
  for (const std::string& t : kFloatTypes)
    for (const Shape& shape : shapesFor(t)) {
      Sheet sheet({t}, shape);
      for (const Row& row : floatRows()) sheet.add(row, t, row.result == Row::pred ? "i1" : t);
      EXPECT_GT(sheet.rows(), 30u) << t;
      sheet.check(1);
    }
}

TEST(NativeAgreement, IntegerOps) {
  for (const std::string& t : kIntegerTypes)
    for (const Shape& shape : shapesFor(t)) {
      Sheet sheet({t}, shape);
      for (const Row& row : integerRows()) sheet.add(row, t, row.result == Row::pred ? "i1" : t);
      EXPECT_GT(sheet.rows(), 25u) << t;
      sheet.check(2);
    }
}

TEST(NativeAgreement, Conversions) {
  SMALTI_LONG_TEST();
  for (const Shape& shape : {Shape{7}, Shape{8, 127}}) {
    std::vector<std::string> all = kFloatTypes;
    all.insert(all.end(), kIntegerTypes.begin(), kIntegerTypes.end());
    for (const std::string& from : all) {
      Sheet sheet({from}, shape);
      for (const std::string& to : all)
        for (const std::string& op : conversionOps()) sheet.add({op, "", 1}, from, to);
      sheet.check(3);
    }
  }
}

}  // namespace
}  // namespace smalti::cpu::testing
