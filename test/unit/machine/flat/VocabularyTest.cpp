// Every op that TensorCore kernels use compiles for every dtype it has; element-wise ones run on scalars and vectors.
#include <fmt/format.h>

#include "Harness.h"

namespace smalti::machine::test {
namespace {

const std::vector<std::string> kFloats{"f32", "bf16", "f16", "f8E5M2", "f8E4M3FN", "f8E4M3B11FNUZ"};
const std::vector<std::string> kIntegers{"i32", "i16", "i8", "i4", "i2", "i1", "index"};

class Ops : public Kernel {
 protected:
  void expectRuns(const std::string& op, const std::string& from, const std::string& to, int operands,
                  const std::string& suffix) {
    for (const bool vector : {false, true}) {
      const std::string in = vector ? "vector<5x" + from + ">" : from, result = vector ? "vector<5x" + to + ">" : to;
      const bool isFloat = from[0] == 'f' || from[0] == 'b';
      const std::string one = from == "i1" ? "true" : isFloat ? "1.0" : "1";
      std::string body = vector         ? fmt::format("%x = arith.constant dense<{}> : {}\n", one, in)
                         : from == "i1" ? "%x = arith.constant true\n"
                                        : fmt::format("%x = arith.constant {} : {}\n", one, in);
      body += fmt::format("%r = {} {} : {}\n", op, operands == 1 ? "%x" : "%x, %x",
                          in + (suffix.empty() ? "" : " to " + result));
      body += fmt::format("\"tpu.log\"(%r) <{{formatted = false, tag = \"\"}}> : ({}) -> ()", result);
      EXPECT_EQ(failure(body), "") << body << diagnostic.str();
    }
  }
};

TEST_F(Ops, FloatOpsHaveEveryFloatType) {
  for (const std::string& t : kFloats) {
    for (const char* op : {"arith.negf", "math.absf", "math.ceil", "math.cos", "math.erf", "math.exp", "math.exp2",
                           "math.floor", "math.log", "math.log1p", "math.round", "math.roundeven", "math.rsqrt",
                           "math.sin", "math.sqrt", "math.tan", "math.tanh"})
      expectRuns(op, t, t, 1, "");
    for (const char* op : {"arith.addf", "arith.subf", "arith.mulf", "arith.divf", "arith.remf", "arith.maximumf",
                           "arith.minimumf", "math.atan2", "math.powf"})
      expectRuns(op, t, t, 2, "");
    for (const char* p : {"oeq", "one", "olt", "ole", "ogt", "oge", "une", "uno", "ord"})
      expectRuns(fmt::format("arith.cmpf {},", p), t, "i1", 2, "");
  }
}

TEST_F(Ops, IntegerOpsHaveEveryIntegerType) {
  for (const std::string& t : kIntegers) {
    for (const char* op : {"arith.addi", "arith.subi", "arith.muli", "arith.andi", "arith.ori", "arith.xori",
                           "arith.divsi", "arith.divui", "arith.remsi", "arith.remui", "arith.shli", "arith.shrsi",
                           "arith.shrui", "arith.maxsi", "arith.maxui", "arith.minsi", "arith.minui"})
      expectRuns(op, t, t, 2, "");
    for (const char* p : {"eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"})
      expectRuns(fmt::format("arith.cmpi {},", p), t, "i1", 2, "");
    if (t == "i1" || t == "index") continue;
    for (const char* op : {"math.absi", "math.ctlz", "math.ctpop"}) expectRuns(op, t, t, 1, "");
  }
}

TEST_F(Ops, ConversionsBetweenAllTypes) {
  const auto bits = [](const std::string& t) {
    return t == "bf16" ? 16 : t.starts_with("f8") ? 8 : std::stoi(t.substr(1));
  };
  for (const std::string i : {"i32", "i16", "i8", "i4", "i2", "i1"}) {
    for (const std::string& f : kFloats) {
      expectRuns("arith.sitofp", i, f, 1, "to");
      expectRuns("arith.uitofp", i, f, 1, "to");
      if (i == "i1") continue;
      expectRuns("arith.fptosi", f, i, 1, "to");
      expectRuns("arith.fptoui", f, i, 1, "to");
    }
    for (const std::string j : {"i32", "i16", "i8", "i4", "i2", "i1"})
      if (bits(i) > bits(j)) {
        expectRuns("arith.trunci", i, j, 1, "to");
        expectRuns("arith.extsi", j, i, 1, "to");
        expectRuns("arith.extui", j, i, 1, "to");
      }
    if (i != "i1") expectRuns("arith.index_cast", i, "index", 1, "to");
  }
  for (const std::string& a : kFloats)
    for (const std::string& b : kFloats)
      if (bits(a) > bits(b)) {
        expectRuns("arith.truncf", a, b, 1, "to");
        expectRuns("arith.extf", b, a, 1, "to");
      }
  expectRuns("arith.bitcast", "f32", "i32", 1, "to");
  expectRuns("arith.bitcast", "i16", "bf16", 1, "to");
}

}  // namespace
}  // namespace smalti::machine::test
