// Every recorded kernel of several devices computes the same when its messages travel as bytes and arrive late.
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "../LoopbackTransport.h"
#include "../Recordings.h"
#include "driver/Module.h"
#include "driver/RunSettings.h"
#include "driver/case/Case.h"
#include "driver/program/RunProgram.h"
#include "machine/observers/Registry.h"

namespace smalti::driver {
namespace {

std::vector<std::string> casesOfSeveralDevices() {
  std::vector<std::string> found;
  for (const auto& root :
       {test::recordingsFolder(), std::filesystem::path(SMALTI_SOURCE_DIR) / "test" / "data" / "cases"}) {
    const auto cases = findCases(root.string());
    if (!cases) continue;
    for (const std::string& folder : *cases) {
      const auto c = readCase(folder);
      if (!c) continue;
      std::ifstream in(c->modulePath);
      const std::string text(std::istreambuf_iterator<char>(in), {});
      const size_t at = text.find("mhlo.num_partitions = ");
      if (at != std::string::npos && std::atoi(text.c_str() + at + 22) > 1) found.push_back(folder);
    }
  }
  return found;
}

TEST(Transport, SG6_RecordedKernelsOfSeveralDevicesComputeTheSameOverLateMessages) {
  test::LoopbackTransport::Traffic traffic;
  const auto folders = casesOfSeveralDevices();
  ASSERT_GE(folders.size(), 2u);
  for (const std::string& folder : folders) {
    const auto recorded = readCase(folder);
    ASSERT_TRUE(recorded) << recorded.error().str();
    auto loaded = loadModule(recorded->modulePath);
    ASSERT_TRUE(loaded) << loaded.error().str();
    const auto inputs = readInputs(*recorded, argumentTypes(*loaded->program), "random", 0);
    ASSERT_TRUE(inputs) << inputs.error().str();
    for (int seed = 0; seed < 3; ++seed) {
      Options options;
      options.seed = seed;
      RunSettings settings = runSettings(options, recorded->poison);
      settings.compile.contract.checks = machine::allChecks();
      const auto local = runProgram(*loaded->program, *inputs, settings);
      settings.execute.transport = [&](machine::Endpoint& e) {
        return std::make_unique<test::LoopbackTransport>(e, 5 * seed, traffic);
      };
      const auto late = runProgram(*loaded->program, *inputs, settings);
      ASSERT_EQ(local.has_value(), late.has_value()) << folder << (late ? "" : late.error().str());
      if (!local) continue;
      ASSERT_EQ(local->results.size(), late->results.size());
      EXPECT_EQ(local->findings.size(), late->findings.size()) << folder;
      for (size_t i = 0; i < local->results.size(); ++i) {
        const Array &a = local->results[i], &b = late->results[i];
        ASSERT_EQ(a.type(), b.type());
        EXPECT_EQ(std::memcmp(a.data(), b.data(), static_cast<size_t>(a.type().bytes())), 0)
            << folder << " result " << i << " seed " << seed;
      }
    }
  }
  EXPECT_GT(traffic.puts, 0);
  EXPECT_GT(traffic.signals, 0);
  EXPECT_GT(traffic.mostInFlight, 1);
}

}  // namespace
}  // namespace smalti::driver
