// What a TPU does not take is refused when a kernel is exported, and runs on `interpret` all the same.
#include <gtest/gtest.h>

#include "smalti/smalti.h"

namespace pl = smalti;
using pl::_;

namespace {

/// x + 1 by blocks of x.
pl::PallasCall addOne(const pl::ArrayType& x, std::vector<pl::BlockDim> block, std::vector<pl::GridDim> grid,
                      pl::BlockSpecOptions options = {}, pl::CompilerParams params = {}) {
  const pl::BlockSpec spec = x.shape.size() == 1
                                 ? pl::BlockSpec{block, [](auto i) { return std::tuple{i}; }, options}
                                 : pl::BlockSpec{block, [](auto i) { return std::tuple{i, 0}; }, options};
  return pl::pallas_call([](pl::Ref x, pl::Ref o) { o[_] = x[_] + 1; }, {.out_shape = pl::ShapeDtype{x.shape, x.dtype},
                                                                         .grid = std::move(grid),
                                                                         .in_specs = {spec},
                                                                         .out_specs = {spec},
                                                                         .name = "add_one",
                                                                         .compiler_params = std::move(params)});
}

pl::Diagnostic refused(const pl::PallasCall& call, const pl::Array& x, std::string_view chip = {}) {
  const auto ok = call.lower(x).legal(chip);
  return ok ? pl::Diagnostic{} : ok.error();
}

TEST(Legality, EB3_LastTwoAxesAreDivisibleBy8And128OrWhole) {
  const pl::Array x = pl::ones({64, 256});
  const auto call = addOne(x.type(), {12, 256}, {6});
  const pl::Diagnostic d = refused(call, x);
  EXPECT_EQ(d.code, "SM6601");
  EXPECT_EQ(d.need, "64 or a multiple of 8 along axis 0");
  EXPECT_EQ(d.have, "block (12, 256) of f32[64,256]");
  EXPECT_EQ(d.where, (std::vector<std::string>{"kernel 'add_one'", "every chip", "input 0"}));
  EXPECT_EQ(d.related.size(), 1u);  // the output has the same block
  EXPECT_NE(d.place.line, 0);
  EXPECT_FALSE(call.lower(x).stablehlo());
  EXPECT_FALSE(call.lower(x).bytecode());
  EXPECT_EQ(pl::Array(call(x)).as<float>()[100], 2.0f);  // runs here

  EXPECT_EQ(refused(addOne(x.type(), {8, 100}, {8}), x).need, "256 or a multiple of 128 along axis 1");
  for (const auto& block : std::vector<std::vector<pl::BlockDim>>{{8, 128}, {64, 256}, {24, 256}, {64, 128}})
    EXPECT_EQ(refused(addOne(x.type(), block, {1}), x).code, "");
  // A squeezed axis counts as 1.
  const pl::BlockSpec row{{pl::squeezed, 256}, [](auto i) { return std::tuple{i, 0}; }};
  const auto rows = pl::pallas_call(
      [](pl::Ref x, pl::Ref o) { o[_] = x[_]; },
      {.out_shape = pl::ShapeDtype{{64, 256}, pl::f32}, .grid = {64}, .in_specs = {row}, .out_specs = {row}});
  EXPECT_EQ(refused(rows, x).code, "SM6601");
}

TEST(Legality, EB4_BlocksOfRank1AreWholeOrTiles) {
  const pl::Array x = pl::ones({5000});
  for (const int64_t block : {128, 256, 1024, 2048, 3072, 5000})
    EXPECT_EQ(refused(addOne(x.type(), {block}, {1}), x).code, "") << block;
  for (const int64_t block : {64, 100, 384, 1000}) {
    const pl::Diagnostic d = refused(addOne(x.type(), {block}, {1}), x);
    EXPECT_EQ(d.code, "SM6602") << block;
    EXPECT_EQ(d.need, "5000, a multiple of 1024, or a power of 2 of at least 128");
  }
  const pl::Array narrow = pl::ones({5000}, pl::bf16);
  EXPECT_EQ(refused(addOne(narrow.type(), {128}, {1}), narrow).code, "SM6602");
  EXPECT_EQ(refused(addOne(narrow.type(), {256}, {1}), narrow).code, "");
}

TEST(Legality, VmemIsThatOfTheChip) {
  // Two windows of 5 MiB, twice each: 20 MiB.
  const pl::Array x = pl::ones({2560, 2048});
  const auto call = addOne(x.type(), {640, 2048}, {4});
  EXPECT_EQ(refused(call, x).code, "");  // v6e has room
  EXPECT_EQ(refused(call, x, "v6e").code, "");
  const pl::Diagnostic d = refused(call, x, "v5e");
  EXPECT_EQ(d.code, "SM6605");
  EXPECT_EQ(d.need, "at most 16.00 MiB");
  EXPECT_TRUE(d.have.starts_with(
      "20.00 MiB: windows and scratch 20.00 MiB, what the compiler adds about 0.00 MiB; most is input 0: 2 × "
      "f32[640,2048], 10.00 MiB ("))
      << d.have;
  EXPECT_TRUE(d.have.ends_with("test/unit/lang/LegalityTest.cpp:17:63)")) << d.have;
  EXPECT_EQ(refused(addOne(x.type(), {640, 2048}, {4}, {}, {.vmem_limit_bytes = 24 << 20}), x, "v5e").code, "");
  EXPECT_EQ(refused(addOne(x.type(), {640, 2048}, {4}, {}, {.vmem_limit_bytes = 24 << 20}), x, "v4").code, "SM6605");
  // One buffer each when asked for, or when the block never changes.
  EXPECT_EQ(refused(addOne(x.type(), {640, 2048}, {4}, {.pipeline_mode = pl::Buffered{1}}), x, "v5e").code, "");
}

TEST(Legality, MatrixUnitsOfV4TakeNoNarrowOperands) {
  const pl::Array x = pl::ones({128, 128}, pl::i8);
  const auto call = pl::pallas_call(
      [](pl::Ref x, pl::Ref y, pl::Ref o) { o[_] = pl::dot(x[_], y[_], {.preferred_element_type = pl::i32}); },
      {.out_shape = pl::ShapeDtype{{128, 128}, pl::i32}});
  const auto lowered = call.lower(x, x);
  EXPECT_TRUE(lowered.legal());
  EXPECT_TRUE(lowered.legal("v5e"));
  ASSERT_FALSE(lowered.legal("v4"));
  EXPECT_EQ(lowered.legal("v4").error().code, "SM6606");
  EXPECT_TRUE(lowered.stablehlo());
}

TEST(Legality, ACheckForAChipFindsWhatItsCompilerRefuses) {
  const pl::Array x = pl::ones({128, 128}, pl::i8);
  const auto call = pl::pallas_call(
      [](pl::Ref x, pl::Ref y, pl::Ref o) { o[_] = pl::dot(x[_], y[_], {.preferred_element_type = pl::i32}); },
      {.out_shape = pl::ShapeDtype{{128, 128}, pl::i32}});
  EXPECT_TRUE(call.check(x, x).findings.empty());
  EXPECT_TRUE(call.check({.chip = "v5e"}, x, x).findings.empty());
  const auto report = call.check({.chip = "v4,v5e"}, x, x);
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_EQ(report.findings.front().diagnostic.code, "SM6606");
  EXPECT_EQ(report.results.size(), 1U);
  pl::Settings v4;
  ASSERT_TRUE(v4.set("chip", "v4"));
  EXPECT_EQ(call.with(v4).check(x, x).findings.size(), 1U);
  EXPECT_TRUE(call.with(v4).check({.chip = "v6e"}, x, x).findings.empty());
  const auto unknown = pl::attempt([&] { return call.check({.chip = "v99"}, x, x); });
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, "SM6609");
}

TEST(Legality, VectorsOfF16AreRefused) {
  const pl::Array x = pl::ones({8, 128}, pl::f16);
  EXPECT_EQ(refused(addOne(x.type(), {8, 128}, {1}), x, "v5e").code, "SM6607");
}

TEST(Legality, ED1_DmasOfBoolAreRefused) {
  const pl::Array x = pl::ones({8, 128}, pl::pred);
  const auto call = pl::pallas_call([](pl::Ref x, pl::Ref o) { pl::sync_copy(x, o); },
                                    {.out_shape = pl::ShapeDtype{{8, 128}, pl::pred},
                                     .in_specs = {pl::BlockSpec(pl::any_space)},
                                     .out_specs = {pl::BlockSpec(pl::any_space)}});
  const auto ok = pl::attempt([&] { return call.lower(x).legal(); });
  EXPECT_TRUE(!ok || !*ok);
}

TEST(Legality, ThereAreChipsThatThereAreNot) {
  const pl::Array x = pl::ones({8, 128});
  EXPECT_EQ(refused(addOne(x.type(), {8, 128}, {1}), x, "v99").code, "SM6609");
}

}  // namespace
