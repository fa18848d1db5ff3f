// Every element-wise op and conversion gives natively what it gives on the machine, for numbers of all kinds: the same
// bits, but for mathematical functions, which may differ by as much as both may err.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "Native.h"
#include "machine/FlatProgram.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

namespace smalti::cpu::testing {
namespace {

struct Row {
  std::string op, attributes;
  int operands = 2;
  enum Result { same, pred } result = same;
  int64_t ulp = 0;  ///< of f32
};

const std::vector<Row>& floatRows() {
  static const std::vector<Row> kRows = [] {
    std::vector<Row> rows;
    for (const char* op : {"addf", "subf", "mulf", "divf", "remf", "maximumf", "minimumf", "maxnumf", "minnumf"})
      rows.push_back({std::string("arith.") + op, "", 2});
    for (int p = 0; p < 16; ++p) rows.push_back({"arith.cmpf", fmt::format("predicate = {} : i64", p), 2, Row::pred});
    rows.push_back({"arith.negf", "", 1});
    for (const char* op : {"absf", "ceil", "floor", "trunc", "round", "roundeven", "sqrt"})
      rows.push_back({std::string("math.") + op, "", 1});
    rows.push_back({"math.copysign", "", 2});
    rows.push_back({"tpu.weird", "", 1, Row::pred});
    rows.push_back({"tpu.reciprocal", "approx = false, full_range = false", 1});
    rows.push_back({"tpu.reciprocal", "approx = true, full_range = false", 1});
    for (const char* op :
         {"acos", "acosh", "asin", "asinh", "atan",  "atanh", "cbrt",  "cos", "cosh", "erf", "erfc", "exp",
          "exp2", "expm1", "log",  "log10", "log1p", "log2",  "rsqrt", "sin", "sinh", "tan", "tanh"})
      rows.push_back({std::string("math.") + op, "", 1, Row::same, 4});
    for (const char* op : {"atan2", "powf"}) rows.push_back({std::string("math.") + op, "", 2, Row::same, 4});
    return rows;
  }();
  return kRows;
}

const std::vector<Row>& integerRows() {
  static const std::vector<Row> kRows = [] {
    std::vector<Row> rows;
    for (const char* op :
         {"addi", "subi", "muli", "divsi", "divui", "remsi", "remui", "floordivsi", "ceildivsi", "ceildivui",
          "andi", "ori",  "xori", "shli",  "shrsi", "shrui", "maxsi", "minsi",      "maxui",     "minui"})
      rows.push_back({std::string("arith.") + op, "", 2});
    for (int p = 0; p < 10; ++p) rows.push_back({"arith.cmpi", fmt::format("predicate = {} : i64", p), 2, Row::pred});
    for (const char* op : {"absi", "ctlz", "cttz", "ctpop"}) rows.push_back({std::string("math.") + op, "", 1});
    return rows;
  }();
  return kRows;
}

std::string vectorOf(std::string element, const Shape& shape) {
  if (element.starts_with("f8"))
    std::transform(element.begin() + 1, element.end(), element.begin() + 1,
                   [](unsigned char c) { return std::toupper(c); });
  return fmt::format("vector<{}x{}>", fmt::join(shape, "x"), element);
}

/// Random bits, and every tenth element one of the values that go wrong first.
Array numbers(DType t, const Shape& shape, uint64_t seed) {
  std::mt19937_64 random(seed);
  auto a = Array::allocate({t, shape}).value();
  const int bytes = storage_bytes(t), bits = bit_width(t);
  static constexpr uint32_t kFloats[] = {0,          0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0x3f800000,
                                         0xbf800000, 1,          0x80000001, 0x007fffff, 0x00800000, 0x7f7fffff,
                                         0x4f000000, 0xcf000000, 0x4f800000, 0x3f000000, 0x3fc00000, 0x40200000};
  for (int64_t i = 0; i < a.elements(); ++i) {
    uint64_t v = random();
    if (t == DType::f32) {
      if (random() % 10 == 0) v = kFloats[random() % std::size(kFloats)];
      if (random() % 2) {  // of moderate size
        const float f = static_cast<float>(static_cast<int64_t>(random() % 2000001) - 1000000) / 65536.0f;
        v = std::bit_cast<uint32_t>(f);
      }
    } else if (t == DType::bf16 && random() % 10 == 0) {
      v = kFloats[random() % std::size(kFloats)] >> 16;
    } else if (is_integer(t) && random() % 4 == 0) {
      v = random() % 5 == 0 ? uint64_t{1} << (bits - 1) : static_cast<uint64_t>(static_cast<int64_t>(random() % 7) - 3);
    }
    if (t == DType::pred) v &= 1;
    if (bits < 8 && t != DType::pred) {
      const int shift = 64 - bits;
      v = static_cast<uint64_t>(static_cast<int64_t>(v << shift) >> shift);
      if (is_float(t)) v &= (uint64_t{1} << bits) - 1;
    }
    std::memcpy(a.data() + i * bytes, &v, static_cast<size_t>(bytes));
  }
  return a;
}

double valueOf(DType t, const std::byte* p) {
  uint32_t bits = 0;
  std::memcpy(&bits, p, static_cast<size_t>(storage_bytes(t)));
  if (t == DType::f32) return std::bit_cast<float>(bits);
  if (t == DType::bf16) return std::bit_cast<float>(bits << 16);
  if (t == DType::f16) {
    const int e = (bits >> 10) & 31, m = bits & 1023;
    const double size = e == 31 ? (m ? NAN : INFINITY) : e ? std::ldexp(1024 + m, e - 25) : std::ldexp(m, -24);
    return bits & 0x8000 ? -size : size;
  }
  return NAN;
}

/// "" or the first element where they differ by more than `ulp` (0: not at all), a NaN being a NaN.
std::string apart(const Array& a, const Array& b, int64_t ulp) {
  const DType t = a.dtype();
  const int bytes = storage_bytes(t);
  for (int64_t i = 0; i < a.elements(); ++i) {
    const std::byte *p = a.data() + i * bytes, *q = b.data() + i * bytes;
    if (std::memcmp(p, q, static_cast<size_t>(bytes)) == 0) continue;
    if (t == DType::f32 || t == DType::bf16 || t == DType::f16) {
      const double x = valueOf(t, p), y = valueOf(t, q);
      if (std::isnan(x) && std::isnan(y)) continue;
      const double unit = t == DType::f32 ? 0x1p-23 : t == DType::bf16 ? 0x1p-7 : 0x1p-10;
      const double most = static_cast<double>(t == DType::f32 ? ulp : std::min<int64_t>(ulp, 1)) * unit;
      const double least = t == DType::f16 ? 0x1p-14 : 0x1p-126;
      if (std::isfinite(x) && std::isfinite(y) && std::abs(x - y) <= most * std::max({std::abs(x), std::abs(y), least}))
        continue;
      return fmt::format("element {}: {} natively, {} on the machine", i, x, y);
    }
    return fmt::format("element {} differs", i);
  }
  return "";
}

/// True when the op is one of the dialects for these types, and the machine runs it.
bool accepted(const std::string& text) {
  static const auto context = makeContext();
  mlir::ScopedDiagnosticHandler quiet(context.get(), [](mlir::Diagnostic&) { return mlir::success(); });
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
  return module && machine::compile(*module->getOps<mlir::func::FuncOp>().begin(), {});
}

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
      for (int i = 0; i < 2; ++i) operands.push_back(numbers(dtype_from_name(t).value(), shape_, ++seed));
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

const std::vector<Shape> kShapes{{1}, {7}, {8, 127}, {3, 5, 130}};

TEST(NativeAgreement, FloatOps) {
  for (const std::string t : {"f32", "bf16", "f16"})
    for (const Shape& shape : kShapes) {
      Sheet sheet({t}, shape);
      for (const Row& row : floatRows()) sheet.add(row, t, row.result == Row::pred ? "i1" : t);
      EXPECT_GT(sheet.rows(), 30u) << t;
      sheet.check(1);
    }
}

TEST(NativeAgreement, IntegerOps) {
  for (const std::string t : {"i32", "i16", "i8"})
    for (const Shape& shape : kShapes) {
      Sheet sheet({t}, shape);
      for (const Row& row : integerRows()) sheet.add(row, t, row.result == Row::pred ? "i1" : t);
      EXPECT_GT(sheet.rows(), 25u) << t;
      sheet.check(2);
    }
}

TEST(NativeAgreement, Conversions) {
  const std::vector<std::string> floats{"f32", "bf16", "f16", "f8e4m3fn", "f8e5m2"}, integers{"i32", "i16", "i8", "i4"};
  for (const Shape& shape : {Shape{7}, Shape{8, 127}}) {
    std::vector<std::string> all = floats;
    all.insert(all.end(), integers.begin(), integers.end());
    for (const std::string& from : all) {
      Sheet sheet({from}, shape);
      for (const std::string& to : all)
        for (const char* op :
             {"extf", "truncf", "extsi", "extui", "trunci", "sitofp", "uitofp", "fptosi", "fptoui", "bitcast"})
          sheet.add({std::string("arith.") + op, "", 1}, from, to);
      sheet.check(3);
    }
  }
}

}  // namespace
}  // namespace smalti::cpu::testing
