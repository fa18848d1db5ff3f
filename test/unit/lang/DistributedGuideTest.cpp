// The kernels of Pallas' guide to distributed kernels (test/devices/GuideKernels.h), and what is found when a line is
// missing.
#include <gtest/gtest.h>

#include "../../devices/GuideKernels.h"
#include "Helpers.h"
#include "smalti/smalti.h"

namespace pl = smalti;
using pl::_, pl::Array;
using namespace smalti::guide;
using smalti::testing::expectEqual;

namespace {

Array counting(pl::Shape shape) {
  const int64_t n = pl::num_elements(shape);
  return pl::reshape(pl::arange(n, pl::f32), std::move(shape));
}

std::set<std::string> codes(const pl::ShardMap& f, const Array& x) {
  std::set<std::string> found;
  const auto report = pl::attempt([&] { return f.check(x); });
  if (!report) {
    found.insert(report.error().code);
    for (const auto& d : report.error().related) found.insert(d.code);
    return found;
  }
  for (const auto& finding : report->findings) found.insert(finding.diagnostic.code);
  return found;
}

Array input() { return counting({8 * kDevices, 128}); }

TEST(DistributedGuide, RightPermute) {
  const Array y = rightPermute()(input());
  for (int64_t d = 0; d < kDevices; ++d)
    EXPECT_EQ(y.as<float>()[d * 1024], float((d + kDevices - 1) % kDevices * 1024));
  EXPECT_EQ(codes(rightPermute(), input()), std::set<std::string>{});
}

TEST(DistributedGuide, AllGather) {
  expectEqual(allGather()(input()), pl::reshape(input(), {kDevices, 8, 128}));
  EXPECT_EQ(codes(allGather(), input()), std::set<std::string>{});
}

TEST(DistributedGuide, AllReduce) {
  expectEqual(allReduce()(input()), pl::sum(pl::reshape(input(), {kDevices, 8, 128}), {.axes = {0}}));
  EXPECT_EQ(codes(allReduce(), input()), std::set<std::string>{});
}

TEST(DistributedGuide, MissingLinesAreFound) {
  // Without a barrier of its own a kernel begins with one of all devices (S-G9).
  EXPECT_EQ(codes(rightPermute(Missing::barrier), input()), std::set<std::string>{});
  EXPECT_EQ(codes(rightPermute(Missing::signal), input()), std::set<std::string>{"SM4103"});  // nobody signals again
  for (const Missing wait : {Missing::receive, Missing::send}) {
    const std::set<std::string> found = codes(rightPermute(wait), input());
    EXPECT_TRUE(found.contains("SM4106") && found.contains("SM4109"));  // a count that is left, a copy in flight
  }
  EXPECT_TRUE(codes(allReduce(Missing::capacity), input()).contains("SM4113"));
  EXPECT_TRUE(codes(allReduce(Missing::order), input()).contains("SM4108"));
}

TEST(DistributedGuide, SJ5_ModulesOfTheGuideSayWhatJaxSays) {
  const auto text = pl::unwrap(rightPermute().lower(input()).stablehlo());
  for (const char* part : {R"(sdy.mesh @mesh = <["x"=4]>)", R"(in_shardings=[<@mesh, [{"x"}, {}]>])",
                           "mhlo.num_partitions = 4", R"(\22has_communication\22: true)", R"(\22collective_id\22: 0)"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

}  // namespace
