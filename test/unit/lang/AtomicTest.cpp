// Atomic updates of Refs (D8): on every target that supports them, and the refusals.
#include <numeric>

#include <gtest/gtest.h>

#include "smalti/smalti.h"

namespace pl = smalti;
using pl::_;

namespace {

const pl::BlockSpec kShared(pl::any_space);
constexpr int64_t kPrograms = 64, kBins = 16;

pl::Settings onTarget(const std::string& name) {
  pl::Settings settings;
  EXPECT_TRUE(settings.set("target", name));
  return settings;
}

/// Programs that run in any order update an array.
pl::Call call(const pl::ShapeDtype& shape) {
  return {.out_shape = shape,
          .grid = {kPrograms},
          .in_specs = {kShared},
          .out_specs = {kShared},
          .input_output_aliases = {{0, 0}},
          .compiler_params = {.dimension_semantics = {pl::parallel}}};
}
pl::PallasCall update(pl::Kernel kernel, const pl::Array& start) {
  return pl::pallas_call(std::move(kernel), call({start.shape(), start.dtype()}));
}

class AtomicsOn : public ::testing::TestWithParam<const char*> {
 protected:
  std::vector<int32_t> run(pl::Kernel kernel, std::vector<int32_t> start) {
    const pl::Array before = pl::array(start);
    const pl::Array after = update(std::move(kernel), before).with(onTarget(GetParam()))(before);
    return {after.as<int32_t>(), after.as<int32_t>() + after.elements()};
  }
};

TEST_P(AtomicsOn, D8_NoUpdateIsLost) {
  const auto sums = run(
      [](pl::Ref, pl::Ref o) {
        const pl::Array i = pl::program_id(0);
        pl::atomic_add(o[i % static_cast<int32_t>(kBins)], i);
      },
      std::vector<int32_t>(kBins, 100));
  for (int64_t bin = 0; bin < kBins; ++bin) {
    int64_t sum = 100;
    for (int64_t i = bin; i < kPrograms; i += kBins) sum += i;
    EXPECT_EQ(sums[static_cast<size_t>(bin)], sum);
  }
}

TEST_P(AtomicsOn, D8_SlicesAreUpdatedElementByElement) {
  const auto sums = run(
      [](pl::Ref, pl::Ref o) {
        pl::atomic_add(o.at(pl::ds(pl::program_id(0) % 8, 8)), pl::broadcasted_iota(pl::i32, {8}, 0) + 1);
      },
      std::vector<int32_t>(kBins, 0));
  EXPECT_EQ(std::accumulate(sums.begin(), sums.end(), 0), kPrograms * 36);
  EXPECT_EQ(sums[0], kPrograms / 8);
  EXPECT_EQ(sums[14], kPrograms / 8 * 8);
}

TEST_P(AtomicsOn, D8_TheElementsBeforeTheUpdateAreReturned) {
  // Each program draws a number and marks it; no number is drawn twice.
  const auto marks = run(
      [](pl::Ref, pl::Ref o) {
        const pl::Array drawn = pl::atomic_add(o[0], 1);
        pl::atomic_or(o[drawn + 1], 1 << 20);
      },
      std::vector<int32_t>(1 + kPrograms, 0));
  EXPECT_EQ(marks[0], kPrograms);
  for (int64_t i = 1; i <= kPrograms; ++i) EXPECT_EQ(marks[static_cast<size_t>(i)], 1 << 20) << i;
}

TEST_P(AtomicsOn, D8_EveryKindOfUpdate) {
  const auto made = run(
      [](pl::Ref, pl::Ref o) {
        const pl::Array i = pl::program_id(0), bit = pl::shift_left(1, i % 30);
        pl::atomic_max(o[0], i * 3 % 61);
        pl::atomic_min(o[1], i * 3 % 61 - 5);
        pl::atomic_and(o[2], -1 - bit);
        pl::atomic_or(o[3], bit);
        pl::atomic_xor(o[4], i);
        pl::atomic_xchg(o[5], 7);
        pl::atomic_cas(o[6], 5, 9);
        pl::atomic_cas(o[7], 6, 9);
      },
      {0, 100, -1, 0, 0, 1, 5, 5});
  EXPECT_EQ(made, (std::vector<int32_t>{60, -5, -1 << 30, (1 << 30) - 1, 0, 7, 9, 5}));
}

TEST_P(AtomicsOn, D8_FloatsAndUnsignedNumbers) {
  const pl::Array zeros = pl::zeros({4}, pl::f32);
  const pl::Array sums = update(
                             [](pl::Ref, pl::Ref o) {
                               const pl::Array x = pl::astype(pl::program_id(0), pl::f32);
                               pl::atomic_add(o[0], x / 2);
                               pl::atomic_max(o[1], x - 10);
                               pl::atomic_min(o[2], 10 - x);
                               pl::atomic_cas(o[3], 0.0F, 2.5F);
                             },
                             zeros)
                             .with(onTarget(GetParam()))(zeros);
  const float expected[] = {kPrograms * (kPrograms - 1) / 4.0F, kPrograms - 11.0F, 11.0F - kPrograms, 2.5F};
  for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(sums.as<float>()[i], expected[i]) << i;
  const pl::Array words = pl::array(std::vector<uint32_t>{1u << 31, 1u << 31});
  const pl::Array ends = update(
                             [](pl::Ref, pl::Ref o) {
                               const pl::Array x = pl::astype(pl::program_id(0), pl::u32);
                               pl::atomic_max(o[0], x), pl::atomic_min(o[1], x);
                             },
                             words)
                             .with(onTarget(GetParam()))(words);
  EXPECT_EQ(ends.as<uint32_t>()[0], 1u << 31);
  EXPECT_EQ(ends.as<uint32_t>()[1], 0u);
}

INSTANTIATE_TEST_SUITE_P(Targets, AtomicsOn, ::testing::Values("interpret", "cpu", "cuda-host"),
                         [](const auto& p) { return p.param == std::string("cuda-host") ? "cuda_host" : p.param; });

pl::PallasCall counter(const pl::Array& start) {
  return update([](pl::Ref, pl::Ref o) { pl::atomic_add(o[0], 1); }, start);
}

TEST(Atomics, TheyDoNotRaceWithEachOther) {
  const pl::Array start = pl::zeros({kBins}, pl::i32);
  pl::Settings twoCores;
  ASSERT_TRUE(twoCores.set("cores", "2"));
  const auto report = counter(start).with(twoCores).check(start);
  for (const auto& f : report.findings) ADD_FAILURE() << f.diagnostic.str();
  EXPECT_EQ(report.results.at(0).as<int32_t>()[0], kPrograms);
}

TEST(Atomics, SM6302_ElementsOf32BitsAndIntegersForBits) {
  const auto refusal = [](const pl::Kernel& kernel, pl::DType dtype) -> pl::Diagnostic {
    const pl::Array start = pl::zeros({kBins}, dtype);
    try {
      (void)update(kernel, start).lower(start);
    } catch (const pl::Error& e) {
      return e.diagnostic();
    }
    return {};
  };
  const pl::Diagnostic narrow = refusal([](pl::Ref, pl::Ref o) { pl::atomic_add(o[0], 1); }, pl::bf16);
  EXPECT_EQ(narrow.code, "SM6302");
  EXPECT_EQ(narrow.message, "'atomic_add' of a Ref of bf16");
  EXPECT_EQ(narrow.need, "f32, i32 or u32");
  EXPECT_EQ(narrow.have, "bf16");
  EXPECT_EQ(narrow.help, "update an array with elements of 32 bits, and convert it afterwards");
  const pl::Diagnostic bits = refusal([](pl::Ref, pl::Ref o) { pl::atomic_or(o[0], 1); }, pl::f32);
  EXPECT_EQ(bits.message, "'atomic_or' of a Ref of f32");
  EXPECT_EQ(bits.need, "i32 or u32");
}

TEST(Atomics, NoTpuHasThem) {
  const pl::Array start = pl::zeros({kBins}, pl::i32);
  const pl::Lowered lowered = counter(start).lower(start);
  EXPECT_NE(lowered.mosaic().find("tpu.atomic \"add\""), std::string::npos) << lowered.mosaic();
  const auto exported = lowered.stablehlo();
  ASSERT_FALSE(exported);
  EXPECT_EQ(exported.error().code, "SM6402");
  EXPECT_EQ(exported.error().message, "'atomic_add' is in kernels for CPUs and GPUs only");
  EXPECT_EQ(exported.error().help,
            "the programs of a TensorCore run one after the other: read, compute and write in VMEM");
  EXPECT_FALSE(lowered.bytecode());
  const auto whole = update([](pl::Ref, pl::Ref o) { pl::atomic_add(o, pl::ones({kBins}, pl::i32)); }, start);
  const pl::Status onV6e = whole.lower(start).legal("v6e");
  ASSERT_FALSE(onV6e);
  EXPECT_EQ(onV6e.error().code, "SM6634");
  EXPECT_EQ(onV6e.error().message, "no TPU has atomic updates");
}

}  // namespace
