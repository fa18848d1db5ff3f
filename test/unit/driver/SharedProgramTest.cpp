// Programs whose meshes are spread over processes: each recorded program of several devices gives in every process what
// one process computes. The processes are threads here; over MPI: test/python/test_mpi.py.
#include <cstring>
#include <thread>

#include <gmock/gmock.h>

#include "../LongTest.h"
#include "../Recordings.h"
#include "../ThreadProcesses.h"
#include "RunText.h"
#include "driver/Module.h"
#include "driver/RunSettings.h"
#include "driver/Version.h"
#include "driver/case/Case.h"
#include "driver/processes/ProgramIdentity.h"
#include "driver/program/ProgramRunner.h"

namespace smalti::driver {
namespace {

using namespace testing;
using test::Post, test::ThreadProcesses;
using ::testing::Each, ::testing::StartsWith;

/// What each of `count` processes gets; `programOf(rank)` need not be one program. `lag`: of all but the first.
/// `messages`, if not null: how many they send in two runs, and before the first.
template <class ProgramOf>
std::vector<Result<RunOutcome>> runShared(int count, const ProgramOf& programOf, const std::vector<Array>& inputs,
                                          const RunSettings& settings, std::chrono::microseconds lag = {},
                                          int* messages = nullptr) {
  Post post(count);
  std::vector<Result<RunOutcome>> outcomes(static_cast<size_t>(count), Result<RunOutcome>(RunOutcome{}));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < count; ++rank) {
    auto compiled = compileProgram(programOf(rank), settings.compile);
    EXPECT_TRUE(compiled) << compiled.error().str();
    if (!compiled) return {};
    threads.emplace_back([&, rank, compiled = *compiled] {
      ThreadProcesses processes(post, rank, rank == 0 ? std::chrono::microseconds(0) : lag);
      ProcessGroup group(processes);
      CompiledProgram mine(*compiled);
      mine.group = &group;
      mine.identity = programIdentity(*compiled->program);
      for (int times = 0; times < 2; ++times)  // messages of one run are not taken for the next one's
        outcomes[static_cast<size_t>(rank)] = run(mine, inputs, settings.execute);
    });
  }
  for (std::thread& t : threads) t.join();
  if (messages) *messages = post.sent();
  return outcomes;
}

std::vector<std::string> programsOfSeveralDevices() {
  std::vector<std::string> found;
  for (const auto& root :
       {test::recordingsFolder(), std::filesystem::path(SMALTI_SOURCE_DIR) / "test" / "data" / "cases"})
    if (const auto cases = findCases(root.string()))
      for (const std::string& folder : *cases)
        if (const auto c = readCase(folder))
          if (auto loaded = loadModule(c->modulePath); loaded && !loaded->program->meshes.empty())
            found.push_back(folder);
  return found;
}

bool sameElements(const Array& a, const Array& b) {
  return a.type() == b.type() && std::memcmp(a.data(), b.data(), static_cast<size_t>(a.bytes())) == 0;
}

TEST(SharedProgram, EveryProcessGetsWhatOneWouldCompute) {
  SMALTI_LONG_TEST();
  int shared = 0;
  for (const std::string& folder : programsOfSeveralDevices()) {
    const auto recorded = readCase(folder);
    auto loaded = loadModule(recorded->modulePath);
    const auto program = std::make_shared<const Program>(std::move(*loaded->program));
    const auto inputs = readInputs(*recorded, argumentTypes(*program), "random", 0);
    ASSERT_TRUE(inputs) << inputs.error().str();
    for (const char* target : {"interpret", "cpu"}) {
      Options options;
      options.target = target;
      options.mpi = options.cache = "off";
      const RunSettings settings = runSettings(options, recorded->poison);
      const auto alone = runProgram(*program, *inputs, settings);
      const auto together = runShared(2, [&](int) { return program; }, *inputs, settings);
      for (const auto& outcome : together) {
        if (!outcome && outcome.error().code == "SM5013") continue;  // a mesh of one device
        ++shared;
        ASSERT_EQ(alone.has_value(), outcome.has_value())
            << folder << " on " << target << ": " << (outcome ? alone.error() : outcome.error()).str();
        if (!alone) continue;
        for (size_t r = 0; r < alone->results.size(); ++r)
          EXPECT_TRUE(sameElements(alone->results[r], outcome->results[r])) << folder << " on " << target;
      }
    }
  }
  EXPECT_GE(shared, 4);
}

// It answers two rounds of questions whether it stands still before it goes on after a message that lets it.
TEST(SharedProgram, ASlowProcessIsNotTakenForOneThatWaits) {
  const auto recorded = readCase(std::string(SMALTI_SOURCE_DIR) + "/test/data/cases/dist_all_reduce_ring");
  ASSERT_TRUE(recorded) << recorded.error().str();
  auto loaded = loadModule(recorded->modulePath);
  ASSERT_TRUE(loaded) << loaded.error().str();
  const auto program = std::make_shared<const Program>(std::move(*loaded->program));
  const auto inputs = readInputs(*recorded, argumentTypes(*program), "random", 0);
  ASSERT_TRUE(inputs) << inputs.error().str();
  for (const char* target : {"interpret", "cpu"}) {
    Options options;
    options.target = target;
    options.mpi = options.cache = "off";
    const RunSettings settings = runSettings(options, recorded->poison);
    for (const auto& outcome :
         runShared(2, [&](int) { return program; }, *inputs, settings, std::chrono::milliseconds(3)))
      EXPECT_TRUE(outcome) << target << ": " << outcome.error().str();
  }
}

/// A mesh of devices, each with a row of a 4x4 array, which return what `body` makes of %arg1.
std::shared_ptr<const Program> onFourDevices(const std::string& body, const std::string& out = "{\"x\"}, {}",
                                             const std::string& result = "tensor<4x4xi32>") {
  auto program = interop::importStableHlo(
      "module @m {\n  sdy.mesh @mesh = <[\"x\"=4]>\n"
      "  func.func public @main(%arg0: tensor<4x4xi32>) -> " +
          result +
          " {\n"
          "    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{\"x\"}, {}]>] out_shardings=[<@mesh, [" +
          out + "]>] manual_axes={\"x\"} (%arg1: tensor<1x4xi32>) {\n" + body + "\n    } : (tensor<4x4xi32>) -> " +
          result + "\n    return %0 : " + result + "\n  }\n}\n",
      "test.mlir");
  EXPECT_TRUE(program) << program.error().str();
  return std::make_shared<const Program>(std::move(*program));
}
constexpr const char* kItself = "      sdy.return %arg1 : tensor<1x4xi32>";
const std::string kSum =
    "      %1 = \"stablehlo.all_reduce\"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, "
    "replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> ({\n"
    "^bb0(%a: tensor<i32>, %b: tensor<i32>):\n%s = stablehlo.add %a, %b : tensor<i32>\n"
    "stablehlo.return %s : tensor<i32>\n}) : (tensor<1x4xi32>) -> tensor<1x4xi32>\n"
    "      sdy.return %1 : tensor<1x4xi32>";

std::vector<Array> rows() { return {make({DType::i32, {4, 4}}, {1, 1, 1, 1, 2, 2, 2, 2, 4, 4, 4, 4, 8, 8, 8, 8})}; }

TEST(SharedProgram, CollectivesReachAllProcesses) {
  for (const int count : {1, 2, 4}) {
    const auto program = onFourDevices(kSum);
    for (const auto& outcome : runShared(count, [&](int) { return program; }, rows(), {})) {
      ASSERT_TRUE(outcome) << outcome.error().str();
      EXPECT_THAT(numbers(outcome->results[0]), Each(15));
    }
  }
}

TEST(SharedProgram, ResultsThatAreEqualAnywayAreNotSent) {
  const auto messagesOf = [](const std::string& body, const std::string& out, const std::string& result) {
    const auto program = onFourDevices(body, out, result);
    int messages = 0;
    const std::vector<Array> same{make({DType::i32, {4, 4}}, {3})};
    for (const auto& outcome : runShared(2, [&](int) { return program; }, same, {}, {}, &messages))
      EXPECT_TRUE(outcome) << outcome.error().str();
    return messages;
  };
  constexpr int kIdentities = 2, kRuns = 2, kSums = 2, kResults = 2, kAgreements = 2;
  EXPECT_EQ(messagesOf(kSum, "{}, {}", "tensor<1x4xi32>"), kIdentities + kRuns * kSums);
  EXPECT_EQ(messagesOf(kSum, "{\"x\"}, {}", "tensor<4x4xi32>"), kIdentities + kRuns * kSums);
  EXPECT_EQ(messagesOf(kItself, "{\"x\"}, {}", "tensor<4x4xi32>"), kIdentities + kRuns * kResults);
  EXPECT_EQ(messagesOf(kItself, "{}, {}", "tensor<1x4xi32>"), kIdentities + kRuns * (kResults + kAgreements));
}

TEST(SharedProgram, SM5012_ConstantsMeshAndVersionAreCompared) {
  const auto plus = [](int n) {
    return onFourDevices("      %c = stablehlo.constant dense<" + std::to_string(n) +
                         "> : tensor<1x4xi32>\n      %1 = stablehlo.add %arg1, %c : tensor<1x4xi32>\n"
                         "      sdy.return %1 : tensor<1x4xi32>");
  };
  const auto one = plus(1), two = plus(2);
  for (const auto& outcome : runShared(2, [&](int rank) { return rank == 0 ? one : two; }, rows(), {})) {
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, "SM5012");
  }
  const auto withMesh = [](const std::string& axes) {
    auto program = interop::importStableHlo(
        "module @m {\n  sdy.mesh @mesh = <[" + axes +
            "]>\n  func.func public @main(%arg0: tensor<4xi32>) -> tensor<4xi32> {\n"
            "    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{\"x\"}]>] out_shardings=[<@mesh, "
            "[{\"x\"}]>] manual_axes={\"x\"} (%arg1: tensor<2xi32>) {\n      sdy.return %arg1 : tensor<2xi32>\n"
            "    } : (tensor<4xi32>) -> tensor<4xi32>\n    return %0 : tensor<4xi32>\n  }\n}\n",
        "test.mlir");
    EXPECT_TRUE(program) << program.error().str();
    return programIdentity(*program);
  };
  const std::string line = withMesh("\"x\"=2"), other = withMesh("\"x\"=2, \"y\"=1");
  EXPECT_THAT(line, StartsWith("program 'm' on mesh (x=2), "));
  EXPECT_THAT(line, ::testing::EndsWith(" of " + versionText()));
  EXPECT_THAT(other, StartsWith("program 'm' on mesh (x=2, y=1), "));
}

TEST(SharedProgram, SM5012_ProcessesWithOtherProgramsAreNamed) {
  const auto sum = onFourDevices(kSum), itself = onFourDevices(kItself);
  const auto outcomes = runShared(2, [&](int rank) { return rank == 0 ? sum : itself; }, rows(), {});
  ASSERT_FALSE(outcomes[0]);
  EXPECT_EQ(outcomes[0].error().code, "SM5012");
  EXPECT_EQ(outcomes[0].error().message, "the processes do not run the same program");
  EXPECT_THAT(outcomes[0].error().have, StartsWith("thread 1 at program 'm' on mesh (x=4), "));
  EXPECT_NE(outcomes[0].error().need, outcomes[0].error().have);
}

TEST(SharedProgram, SM5013_DevicesThatProcessesCannotShare) {
  const auto program = onFourDevices(kSum);
  for (const auto& outcome : runShared(3, [&](int) { return program; }, rows(), {})) {
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().str(),
              "error[SM5013]: the processes cannot share the devices of a mesh evenly\n"
              "  --> test.mlir:4:10\n"
              "  need: a multiple of 3 devices, as many for each process\n"
              "  have: a mesh of 4\n"
              "  help: start it with a number of processes that divides 4, or run each process by itself with "
              "SMALTI_MPI=off\n");
  }
}

// The fourth device returns another row than the first: the second process sees it, and the first one learns that.
TEST(SharedProgram, SM5011_AProcessThatGivesUpIsNamed) {
  const auto program = onFourDevices(kItself, "{}, {}", "tensor<1x4xi32>");
  const std::vector<Array> inputs{make({DType::i32, {4, 4}}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2})};
  const auto outcomes = runShared(2, [&](int) { return program; }, inputs, {});
  ASSERT_FALSE(outcomes[0]);
  EXPECT_EQ(outcomes[0].error().str(),
            "error[SM5011]: another process has stopped running the program\n"
            "  --> test.mlir:4:10\n"
            "  need: every process to run it to its end\n"
            "  have: thread 1: it has given up\n"
            "  help: see the output of that process\n");
  ASSERT_FALSE(outcomes[1]);
  EXPECT_EQ(outcomes[1].error().code, "SM5003");
}

}  // namespace
}  // namespace smalti::driver
