// autotune in the language, and the candidates of the library's kernels.
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include <gtest/gtest.h>

#include "smalti/kernels/grouped_matmul.h"
#include "smalti/kernels/tunable.h"
#include "smalti/smalti.h"

namespace smalti::kernels {
namespace {

/// The settings of a test, put back when it ends.
struct With {
  explicit With(std::initializer_list<std::pair<std::string_view, std::string>> options) {
    Settings s;
    for (const auto& [option, value] : options) unwrap(s.set(option, value));
    use_settings(s);
  }
  ~With() { use_settings(Settings()); }
};

struct TemporaryFile {
  std::string path =
      (std::filesystem::temp_directory_path() / ("smalti_autotune_" + std::to_string(::getpid()) + ".toml")).string();
  TemporaryFile() { std::filesystem::remove(path); }
  ~TemporaryFile() { std::filesystem::remove(path); }
  std::string text() const {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
};

constexpr int64_t kRows = 1024;

PallasCall doubled(int64_t rows) {
  const BlockSpec block{{rows, 256}, [](auto i) { return std::tuple{i, 0}; }};
  return pallas_call([](Ref x, Ref o) { o[_] = x[_] * 2; }, {.out_shape = ShapeDtype{{kRows, 256}, f32},
                                                             .grid = {cdiv(kRows, rows)},
                                                             .in_specs = {block},
                                                             .out_specs = {block}});
}

template <class F>
std::string said(const F& work) {
  const auto done = attempt([&] { (void)work(); });
  if (done) return "";
  Diagnostic d = done.error();
  d.place = {};
  d.source_line.clear();
  return d.str();
}

TEST(Autotune, ChipsAskTheModelAndRunNothing) {
  const auto tuned = autotune({{{"rows", 8}}, {{"rows", 512}}}, "double")([](auto& c) { return doubled(c["rows"]); });
  const Array x = ones({kRows, 256});
  EXPECT_EQ(tuned.best({x}, "v5e")["rows"], 512);
  EXPECT_EQ(tuned.best({x}, "sim:v6e")["rows"], 512);
  EXPECT_EQ(tuned.best({x})["rows"], 8);  // the reference counts no time
  const Ranking r = tuned.rank({x}, "v5e");
  EXPECT_EQ(r.kernel, "double");
  EXPECT_EQ(r.target, "v5e");
  EXPECT_FALSE(r.measured);
  ASSERT_EQ(r.candidates.size(), 2U);
  EXPECT_LT(r.candidates[0].us * 2, r.candidates[1].us);
  // It is the model's time of the call.
  EXPECT_TRUE(tuned.pick({x}, "v5e").call.lower(x).stablehlo());
  const With settings{{"target", "sim:v5e"}};
  const Array y = tuned(x);
  EXPECT_EQ(y.as<float>()[5], 2);
}

TEST(Autotune, CpuMeasuresAndTheFileKeepsWhatWasFound) {
  const TemporaryFile file;
  const Array x = ones({kRows, 256});
  int made = 0;
  const auto tunedCall = [&] {
    return autotune({{{"rows", 8}}, {{"rows", 256}}}, "double")([&](const Candidate& c) {
      ++made;
      return doubled(c["rows"]);
    });
  };
  const With settings{{"target", "cpu"}, {"tuned", file.path}};
  const auto first = tunedCall();
  const Array y = first(x);
  EXPECT_EQ(y.as<float>()[5], 2);
  EXPECT_EQ(made, 2);
  const std::string text = file.text();
  EXPECT_NE(text.find("kernel = \"double\"\ntarget = \"cpu/"), std::string::npos) << text;
  EXPECT_NE(text.find("operands = [\"f32[1024,256]\"]\n"), std::string::npos) << text;
  EXPECT_NE(text.find("by = \"measured\"\ncandidates = 2\n"), std::string::npos) << text;
  // The next program makes only the call that the file names.
  made = 0;
  EXPECT_EQ(Array(tunedCall()(x)).as<float>()[5], 2);
  EXPECT_EQ(made, 1);
  EXPECT_EQ(file.text(), text);
  // An entry for another list of candidates is tuned again.
  autotune({{{"rows", 16}}, {{"rows", 32}}}, "double")([](auto& c) { return doubled(c["rows"]); })(x);
  EXPECT_NE(file.text(), text);
}

TEST(Autotune, WorksUnderJit) {
  const With settings{{"target", "cpu"}};
  const auto tuned = autotune({{{"rows", 8}}, {{"rows", 256}}}, "double")([](auto& c) { return doubled(c["rows"]); });
  const Array y = jit([&](const Array& x) -> Array { return Array(tuned(x)) + 1; })(ones({kRows, 256}));
  EXPECT_EQ(y.as<float>()[5], 3);
}

TEST(Autotune, CandidatesThatThrowAreLeftOut) {
  const Array x = ones({kRows, 256});
  const auto tuned = autotune({{{"rows", 7}}, {{"rows", 9}}, {{"rows", 64}}}, "double")([](const Candidate& c) {
    if (c["rows"] == 7) throw std::runtime_error("seven");
    return doubled(c["rows"]);
  });
  const Ranking r = tuned.rank({x}, "v5e");
  EXPECT_EQ(r.candidates[0].candidate["rows"], 64);
  ASSERT_TRUE(r.candidates[1].refusal && r.candidates[2].refusal);
  EXPECT_EQ(r.candidates[1].refusal->str(),
            "error[SM6911]: candidate rows = 7 of 'double' makes no call\n  have: seven\n");
  EXPECT_EQ(r.candidates[2].refusal->code, "SM6904");
  EXPECT_EQ(tuned.best({x}, "v5e")["rows"], 64);
}

TEST(Autotune, WhatCannotBeTunedIsRefused) {
  const Array x = ones({kRows, 256});
  EXPECT_EQ(said([] { return autotune({}, "copy"); }),
            "error[SM6910]: autotune of 'copy' has no candidates\n  need: one at least\n  have: none\n"
            "  help: autotune({{{\"block\", 128}}, {{\"block\", 256}}}, \"copy\")\n");
  EXPECT_EQ(
      said([] { return autotune({{{"rows", 8}}}, ""); }),
      "error[SM6910]: autotune has no key\n  need: a name for the kernel, as the file of tuned candidates has it\n"
      "  have: \"\"\n  help: autotune({…}, \"my_matmul\")\n");
  EXPECT_EQ(said([] { return autotune({{{"rows", 8}}, {{"columns", 8}}}, "copy"); }),
            "error[SM6910]: candidate 1 of 'copy' has different size names\n  need: rows\n  have: columns = 8\n"
            "  help: give every candidate the same sizes in the same order\n");
  EXPECT_EQ(said([] { return autotune({{{"rows", 8}}, {{"rows", 8}}}, "copy"); }),
            "error[SM6910]: candidates 0 and 1 of 'copy' are equal\n  need: each once\n  have: rows = 8\n"
            "  help: leave one out\n");
  const auto unwritable = [](const char* name) {
    return std::string(
               "error[SM6910]: a name for autotune cannot be written to a file\n"
               "  need: printable characters of UTF-8\n  have: '") +
           name + "'\n  help: use letters, digits and '_'\n";
  };
  EXPECT_EQ(said([] { return autotune({{{"a\nb", 8}}}, "copy"); }), unwritable("a\\x0ab"));
  EXPECT_EQ(said([] { return autotune({{{"rows", 8}}}, "\xff"); }), unwritable("\\xff"));
  EXPECT_EQ(said([] { return Candidate{{"block_m", 8}}["blok_m"]; }),
            "error[SM6910]: a candidate does not define 'blok_m'\n  need: block_m\n  have: blok_m\n"
            "  help: did you mean 'block_m'?\n");
  const auto tuned = autotune({{{"rows", 9}}, {{"rows", 7}}}, "copy")([](auto& c) { return doubled(c["rows"]); });
  const auto none = attempt([&] { return tuned.best({x}, "v5e"); });
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message, "no candidate of 'copy' runs on v5e");
  EXPECT_EQ(none.error().have, "2 candidates, all refused");
  ASSERT_EQ(none.error().related.size(), 2U);
  EXPECT_EQ(none.error().related[0].code, "SM6904");
  EXPECT_EQ(none.error().related[0].where[0], "candidate rows = 9");
  EXPECT_EQ(said([&] { return tuned.rank({x}, "interpret"); }),
            "error[SM6911]: candidates of 'copy' cannot be ranked on interpret\n"
            "  need: a target with meaningful times\n  have: the reference, which has no timing\n"
            "  help: rank them on cpu or on a chip\n");
  const auto chip = attempt([&] { return tuned.best({x}, "v99"); });
  ASSERT_FALSE(chip);
  EXPECT_EQ(chip.error().code, "SM6609");
}

TEST(Autotune, TheLibrarysCandidatesBeatItsDefaults) {
  struct Problem {
    std::string kernel;
    std::vector<ArrayType> types;
  };
  for (const Problem& p :
       {Problem{"matmul", {{bf16, {2048, 2048}}, {bf16, {2048, 2048}}}},
        {"flash_attention", {{bf16, {1, 8, 2048, 128}}, {bf16, {1, 8, 2048, 128}}, {bf16, {1, 8, 2048, 128}}}},
        {"grouped_matmul", {{bf16, {1024, 512}}, {bf16, {4, 512, 512}}, {i32, {4}}}},
        {"softmax", {{f32, {512, 4096}}}},
        {"layer_norm", {{f32, {512, 1024}}, {f32, {1, 1024}}, {f32, {1, 1024}}}},
        {"rms_norm", {{f32, {512, 1024}}, {f32, {1, 1024}}}}}) {
    const auto t = std::find_if(tunables().begin(), tunables().end(), [&](auto& t) { return t.name == p.kernel; });
    ASSERT_NE(t, tunables().end()) << p.kernel;
    std::vector<Array> arrays;
    for (const ArrayType& type : p.types) arrays.push_back(zeros(type.shape, type.dtype));
    if (t->fill) t->fill(arrays);
    const Autotuned tuned = t->tuned(p.types);
    const Ranking r = tuned.rank({arrays.begin(), arrays.end()}, "v5e");
    ASSERT_FALSE(r.candidates[0].refusal) << p.kernel << r.candidates[0].refusal->str();
    const auto usual = std::find_if(r.candidates.begin(), r.candidates.end(),
                                    [&](auto& c) { return c.candidate == tuned.candidates()[0]; });
    EXPECT_TRUE(usual->refusal || r.candidates[0].us <= usual->us) << p.kernel;
    EXPECT_GE(tuned.candidates().size(), 4U) << p.kernel;
    // And it computes what the kernel computes.
    const TunedCall best = tuned.pick({arrays.begin(), arrays.end()}, "v5e");
    EXPECT_TRUE(best.call.lower_all(best.operands).stablehlo()) << p.kernel;
  }
}

TEST(Autotune, KeysDistinguishOptions) {
  const ArrayType x{f32, {256, 256}}, q{f32, {1, 1, 8, 128}}, k{f32, {1, 1, 4096, 128}};
  const Array a = zeros(x.shape), b = zeros(q.shape), c = zeros(k.shape);
  EXPECT_EQ(tuned_matmul(x, x).rank({a, a}, "v5e").kernel, "matmul");
  EXPECT_EQ(tuned_matmul(x, x, {.transpose_y = true}).rank({a, a}, "v5e").kernel, "matmul transpose_y");
  EXPECT_EQ(tuned_flash_attention(q, k, {.causal = true}).rank({b, c, c}, "v5e").kernel, "flash_attention causal");
  // The first candidate is what the kernel has without tuning.
  EXPECT_EQ(tuned_flash_attention(q, k).candidates()[0]["block_k"], 2048);
  const float factor = 2;
  EXPECT_EQ(tuned_matmul(x, x, {.activation = [factor](const Array& t) { return t * factor; }}).candidates().size(),
            1U);
  EXPECT_NE(said([&] {
              return tuned_flash_attention(q, k, {.bias = ones({1, 1, 8, 4096})});
            }).find("error[SM6701]: tuned_flash_attention takes no bias and no segments"),
            std::string::npos);
}

TEST(Autotune, TunedGroupedMatmulComputesTheProduct) {
  const With settings{{"target", "cpu"}};
  const Array x = ones({64, 128}), y = ones({2, 128, 128}), sizes = array(std::vector<int32_t>{24, 40});
  const Array z = tuned_grouped_matmul(x.type(), y.type())(x, y, sizes), expected = grouped_matmul(x, y, sizes);
  ASSERT_EQ(z.type(), expected.type());
  for (int64_t i = 0; i < z.elements(); ++i) ASSERT_EQ(z.as<float>()[i], expected.as<float>()[i]);
}

}  // namespace
}  // namespace smalti::kernels
