#include "ElementwiseRows.h"

#include <fmt/format.h>

namespace smalti::cpu::testing {

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
    for (const char* op : {"math.isfinite", "math.isinf", "math.isnan", "tpu.weird"})
      rows.push_back({op, "", 1, Row::pred});
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

const std::vector<std::string>& conversionOps() {
  static const std::vector<std::string> kOps{"arith.extf",   "arith.truncf", "arith.extsi",  "arith.extui",
                                             "arith.trunci", "arith.sitofp", "arith.uitofp", "arith.fptosi",
                                             "arith.fptoui", "arith.bitcast"};
  return kOps;
}

std::vector<OpSample> elementwiseSamples() {
  const Shape shape{8, 127};
  std::vector<OpSample> all;
  const auto add = [&](const Row& row, const std::string& from, const std::string& to, const std::string& of) {
    const std::string in = vectorOf(from, shape), out = vectorOf(to, shape);
    OpSample s{row.op, of, std::vector<SampleValue>(static_cast<size_t>(row.operands), {from, shape}), {to, shape}, ""};
    s.lines = fmt::format("$r = \"{}\"($0{}) {{{}}} : ({}{}) -> {}", row.op, row.operands == 2 ? ", $1" : "",
                          row.attributes, in, row.operands == 2 ? ", " + in : "", out);
    if (to == "i1") {
      s.out.dtype = "i32";
      s.lines = fmt::format("$a{}\n$r = arith.extui $a : {} to {}", s.lines.substr(2), out, vectorOf("i32", shape));
    }
    TextKernel alone;
    addSample(alone, s, addOperands(alone, s));
    if (accepted(alone.text())) all.push_back(std::move(s));
  };
  for (const std::string& t : kFloatTypes)
    for (const Row& row : floatRows()) add(row, t, row.result == Row::pred ? "i1" : t, t);
  for (const std::string& t : kIntegerTypes)
    for (const Row& row : integerRows()) add(row, t, row.result == Row::pred ? "i1" : t, t);
  std::vector<std::string> types = kFloatTypes;
  types.insert(types.end(), kIntegerTypes.begin(), kIntegerTypes.end());
  for (const std::string& from : types)
    for (const std::string& to : types)
      for (const std::string& op : conversionOps()) add({op, "", 1}, from, to, from + " → " + to);
  return all;
}

}  // namespace smalti::cpu::testing
