// Convolutions as products of windows and weights. The numbers are small whole ones: every order of additions gives the
// same.
#include <random>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "../../../LongTest.h"
#include "../Native.h"
#include "../OpSamples.h"

namespace smalti::cpu::testing {
namespace {

struct ConvCase {
  Shape lhs, rhs, out;
  std::string text;  ///< of the attributes
};

class ConvChooser {
 public:
  explicit ConvChooser(uint64_t seed) : engine_(seed) {}
  int64_t in(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(engine_); }

  /// Dimensions in any places, any attributes.
  ConvCase problem() {
    while (true) {
      const int64_t spatial = in(0, 3), groups = in(0, 1) == 0 ? 1 : in(2, 3);
      const bool ofBatches = in(0, 1) == 0;
      const Shape l = places(spatial), r = places(spatial), o = places(spatial);
      ConvCase p;
      for (Shape* s : {&p.lhs, &p.rhs, &p.out}) s->resize(static_cast<size_t>(spatial) + 2);
      const auto at = [](Shape& s, int64_t d) -> int64_t& { return s[static_cast<size_t>(d)]; };
      const int64_t batch = in(1, 2), inputs = in(1, 9), outputs = groups * in(1, 9);
      at(p.lhs, l[0]) = batch * (ofBatches ? groups : 1);
      at(p.lhs, l[1]) = inputs * (ofBatches ? 1 : groups);
      at(p.rhs, r[0]) = inputs;
      at(p.rhs, r[1]) = outputs;
      at(p.out, o[0]) = batch;
      at(p.out, o[1]) = outputs;
      Shape strides, padding, lhsDilation, rhsDilation;
      std::vector<std::string> reversal;
      bool fits = true;
      for (size_t d = 2; d < l.size(); ++d) {
        const int64_t size = in(1, 9), window = in(1, 3), low = in(-2, 3), high = in(-2, 3);
        strides.push_back(in(1, 3));
        lhsDilation.push_back(in(0, 2) == 0 ? in(2, 3) : 1);
        rhsDilation.push_back(in(1, 2));
        padding.insert(padding.end(), {low, high});
        reversal.push_back(in(0, 1) == 0 ? "false" : "true");
        at(p.lhs, l[d]) = size;
        at(p.rhs, r[d]) = window;
        const int64_t rest = (size - 1) * lhsDilation.back() + low + high - (window - 1) * rhsDilation.back();
        fits &= rest >= 0;
        at(p.out, o[d]) = rest / strides.back() + 1;
      }
      if (!fits) continue;
      const auto array = [](const char* type, const auto& list) {
        return fmt::format("array<{}{}{}>", type, list.empty() ? "" : ": ", fmt::join(list, ", "));
      };
      p.text = fmt::format(
          "dimension_numbers = #tpu.conv_dimension_numbers<{}, {}, {}>, window_strides = {}, padding = {}, "
          "lhs_dilation = {}, rhs_dilation = {}, window_reversal = {}, {} = {} : i64",
          numbers(l), numbers(r), numbers(o), array("i64", strides), array("i64", padding), array("i64", lhsDilation),
          array("i64", rhsDilation), array("i1", reversal), ofBatches ? "batch_group_count" : "feature_group_count",
          groups);
      return p;
    }
  }

 private:
  Shape places(int64_t spatial) {
    Shape p;
    for (int64_t d = 0; d < spatial + 2; ++d) p.push_back(d);
    if (in(0, 2) != 0) std::shuffle(p.begin(), p.end(), engine_);
    return p;
  }
  static std::string numbers(const Shape& p) {
    return fmt::format("{}, {}, [{}]", p[0], p[1], fmt::join(p.begin() + 2, p.end(), ", "));
  }
  std::mt19937_64 engine_;
};

/// The operands of the kernel that is made, of small whole numbers.
std::vector<Array> convolution(TextKernel& k, const ConvCase& p, const std::string& in, const std::string& out,
                               bool added) {
  const Val a = k.input({.dtype = in, .array = p.lhs}), b = k.input({.dtype = in, .array = p.rhs}),
            s = k.input({.dtype = out, .array = p.out}), c = k.output({.dtype = out, .array = p.out});
  const Val x = k.load(a), y = k.load(b);
  Val start = k.load(s);
  if (!added) {
    start = k.fresh(start.type);
    k.raw(fmt::format("{} = arith.constant dense<{}> : {}", start.name, out[0] == 'i' ? "0" : "0.0", start.type));
  }
  const Val r = k.fresh(start.type);
  k.raw(fmt::format("{} = tpu.conv {}, {}, {} {{{}}} : {}, {}, {} -> {}", r.name, x.name, y.name, start.name, p.text,
                    x.type, y.type, start.type, r.type));
  k.store(r, c);
  return {sampleNumbers(*dtype_from_name(in), p.lhs, 1, true), sampleNumbers(*dtype_from_name(in), p.rhs, 2, true),
          sampleNumbers(*dtype_from_name(out), p.out, 3, true)};
}

TEST(NativeConv, EveryAttributeGivesWhatTheMachineGives) {
  SMALTI_LONG_TEST_OF_GENERATED_CODE();
  ConvChooser choose(7);
  const std::vector<std::pair<std::string, std::string>> kTypes{
      {"f32", "f32"}, {"bf16", "f32"}, {"bf16", "bf16"}, {"i8", "i32"}, {"i8", "i8"}};
  for (int trial = 0; trial < 40; ++trial) {
    const ConvCase p = choose.problem();
    const auto& [in, out] = kTypes[static_cast<size_t>(trial) % kTypes.size()];
    SCOPED_TRACE(fmt::format("{} {} · {} → {}", p.text, fmt::join(p.lhs, "x"), fmt::join(p.rhs, "x"), out));
    TextKernel kernel;
    same(kernel, convolution(kernel, p, in, out, trial % 3 == 0));
    const auto code = native(kernel);
    ASSERT_TRUE(code);
    EXPECT_TRUE(code->report().interpreted.empty());
  }
}

TEST(NativeConv, LargeWindowsAndRareDtypesAreComputedInside) {
  const ConvCase large{{2, 100, 3},
                       {65, 3, 5},
                       {2, 36, 5},
                       "dimension_numbers = #tpu.conv_dimension_numbers<0, 2, [1], 1, 2, [0], 0, 2, [1]>, "
                       "window_strides = array<i64: 1>, padding = array<i64: 0, 0>, lhs_dilation = array<i64: 1>, "
                       "rhs_dilation = array<i64: 1>, window_reversal = array<i1: false>"};
  ConvCase small = large;
  small.rhs[0] = 2;
  small.out[1] = 99;
  for (const auto& [p, dtype] : {std::pair{large, "f32"}, std::pair{small, "i32"}}) {
    TextKernel kernel;
    same(kernel, convolution(kernel, p, dtype, dtype, true));
    const auto code = native(kernel);
    ASSERT_TRUE(code);
    EXPECT_EQ(code->report().interpreted, (std::vector<std::string>{"tpu.conv"}));
  }
}

}  // namespace
}  // namespace smalti::cpu::testing
