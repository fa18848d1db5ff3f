// Devices behind a plugin: the one of test/pjrt.
#include "pjrt/Client.h"

#include <array>
#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "Fake.h"
#include "pjrt/ElementTypes.h"
#include "pjrt/LoadedProgram.h"

namespace smalti::pjrt {
namespace {

constexpr std::string_view kSum =
    R"(module @sum attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3xf32>, %arg1: tensor<2x3xf32>) -> tensor<2x3xf32> {
    %0 = stablehlo.add %arg0, %arg1 : tensor<2x3xf32>
    return %0 : tensor<2x3xf32>
  }
}
)";

std::string sumForTwo() {
  std::string text(kSum);
  text.replace(text.find("num_partitions = 1"), 18, "num_partitions = 2");
  // Each device takes and returns its rows.
  text.replace(text.find("  func"), 2, "  sdy.mesh @mesh = <[\"x\"=2]>\n  ");
  text.replace(text.find("-> tensor<2x3xf32> {"), 20,
               "-> (tensor<2x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}, {}]>}) {");
  for (const std::string name : {"%arg0: tensor<2x3xf32>", "%arg1: tensor<2x3xf32>"})
    text.replace(text.find(name), name.size(), name + " {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}, {}]>}");
  for (size_t at; (at = text.find("2x3xf32")) != std::string::npos;) text.replace(at, 7, "4x3xf32");
  return text;
}

const ArrayType kType{DType::f32, {2, 3}};

Array array(float first) {
  Array a = *Array::allocate(kType);
  for (int i = 0; i < 6; ++i) a.as<float>()[i] = first + static_cast<float>(i);
  return a;
}

Result<std::vector<DeviceArrays>> runSum(const std::string& module, size_t numDevices, const RunControl& control = {},
                                         const Plugin& of = plugin()) {
  const auto client = Client::create(of);
  if (!client) return fail(client.error());
  const auto program = LoadedProgram::compile(*client, module);
  if (!program) return fail(program.error());
  std::vector<DeviceArrays> operands;
  for (size_t d = 0; d < numDevices; ++d) operands.push_back({array(100.F * static_cast<float>(d)), array(0.5F)});
  return program->run(operands, std::array{kType}, control);
}

TEST(Client, RunsAProgramOnADevice) {
  const int64_t before = liveObjects();
  {
    const auto results = runSum(std::string(kSum), 1);
    ASSERT_TRUE(results) << results.error().str();
    for (int i = 0; i < 6; ++i) EXPECT_EQ((*results)[0][0].as<float>()[i], 0.5F + 2 * static_cast<float>(i));
  }
  EXPECT_EQ(liveObjects(), before);
}

TEST(Client, RunsAProgramOnSeveralDevices) {
  const int64_t before = liveObjects();
  {
    const auto results = runSum(sumForTwo(), 2);
    ASSERT_TRUE(results) << results.error().str();
    ASSERT_EQ(results->size(), 2u);
    for (int d = 0; d < 2; ++d)
      EXPECT_EQ((*results)[static_cast<size_t>(d)][0].as<float>()[1], 100.F * static_cast<float>(d) + 2.5F);
  }
  EXPECT_EQ(liveObjects(), before);
}

TEST(Client, EveryElementTypeHasPjrtsNumber) {
  // PJRT_Buffer_Type in xla/pjrt/c/pjrt_c_api.h.
  constexpr std::array<std::pair<DType, int>, 24> kNumbers{
      {{DType::pred, 1},    {DType::i8, 2},        {DType::i16, 3},
       {DType::i32, 4},     {DType::i64, 5},       {DType::u8, 6},
       {DType::u16, 7},     {DType::u32, 8},       {DType::u64, 9},
       {DType::f16, 10},    {DType::f32, 11},      {DType::f64, 12},
       {DType::bf16, 13},   {DType::c64, 14},      {DType::c128, 15},
       {DType::f8e5m2, 16}, {DType::f8e4m3fn, 17}, {DType::f8e4m3b11fnuz, 18},
       {DType::i4, 21},     {DType::u4, 22},       {DType::i2, 24},
       {DType::u2, 25},     {DType::f4e2m1fn, 29}, {DType::f8e8m0fnu, 28}}};
  for (const auto& [dtype, number] : kNumbers) {
    const auto type = bufferType(dtype);
    ASSERT_TRUE(type) << name(dtype);
    EXPECT_EQ(*type, number) << name(dtype);
  }
  EXPECT_EQ(bufferType(DType::semaphore).error().str(),
            "error[SM6809]: arrays of semaphore cannot be on a device\n"
            "  help: semaphores and indices are inside kernels only\n");
}

TEST(Client, WaitsForLateEvents) {
  const Fault late("LATE_MS", "30");
  const auto results = runSum(std::string(kSum), 1);
  ASSERT_TRUE(results) << results.error().str();
  EXPECT_EQ((*results)[0][0].as<float>()[5], 10.5F);
}

TEST(Client, AnEventsErrorIsTheRuns) {
  const int64_t before = liveObjects();
  const Fault late("LATE_ERROR", "the interconnect is down");
  EXPECT_EQ(runSum(std::string(kSum), 1).error().str(),
            "error[SM6803]: the plugin did not take operand 0 of device 10 (fake chip)\n"
            "   in plugin '" SMALTI_FAKE_PJRT
            "'\n"
            "  have: INTERNAL: the interconnect is down\n");
  EXPECT_EQ(liveObjects(), before);
}

// Whatever call fails: a diagnostic with its words, and nothing is left behind.
TEST(Client, AnErrorOfAnyCallIsADiagnostic) {
  for (const int entry : {10, 15, 16, 20, 22, 23, 29, 44, 51, 52, 55, 70}) {
    const int64_t before = liveObjects();
    const Fault fault("ERROR", std::to_string(entry) + ":13:something broke");
    const auto results = runSum(std::string(kSum), 1);
    ASSERT_FALSE(results) << entry;
    EXPECT_NE(results.error().have.find("INTERNAL: something broke"), std::string::npos) << results.error().str();
    EXPECT_EQ(liveObjects(), before) << entry;
  }
}

TEST(Client, ACallThatGivesNothingIsADiagnostic) {
  for (const int entry : {10, 16, 20, 22, 51, 52, 55}) {
    const int64_t before = liveObjects();
    const Fault fault("NOTHING", std::to_string(entry));
    const auto results = runSum(std::string(kSum), 1);
    ASSERT_FALSE(results) << entry;
    EXPECT_EQ(results.error().code, "SM6802") << results.error().str();
    EXPECT_EQ(liveObjects(), before) << entry;
  }
}

TEST(Client, AnEventWithoutItsBufferIsDestroyed) {
  const int64_t before = liveObjects();
  const Fault fault("NO_BUFFER", "1");
  EXPECT_EQ(runSum(std::string(kSum), 1).error().have, "it reported success and gave no buffer");
  EXPECT_EQ(liveObjects(), before);
}

// A table with a hole: what cannot be done without the entry is refused, what can is done.
TEST(Client, ANullPointerInTheTableIsADiagnostic) {
  for (const int entry : {8, 10, 15, 16, 20, 22, 23, 29, 44, 51, 55, 70}) {
    const Fault fault("NULL", std::to_string(entry));
    const CopiedPlugin copy;
    const auto results = runSum(std::string(kSum), 1, {}, *copy.load());
    ASSERT_FALSE(results) << entry;
    EXPECT_EQ(results.error().have, "UNIMPLEMENTED: the plugin has no entry " + std::to_string(entry));
  }
  for (const int entry : {5, 6, 9, 11, 26, 40, 50, 52, 58, 59, 60}) {
    const Fault fault("NULL", std::to_string(entry));
    const CopiedPlugin copy;
    const auto results = runSum(std::string(kSum), 1, {}, *copy.load());
    EXPECT_TRUE(results) << entry << results.error().str();
  }
}

TEST(Client, APluginThatRequiresLargerStructsIsIncompatible) {
  for (const int entry : {10, 15, 16, 20, 22, 23, 29, 44, 51, 52, 55, 70}) {
    const int64_t before = liveObjects();
    const Fault fault("LARGER", std::to_string(entry));
    const auto results = runSum(std::string(kSum), 1);
    ASSERT_FALSE(results) << entry;
    EXPECT_EQ(results.error().code, "SM6803");
    EXPECT_EQ(results.error().help,
              "the plugin's version of PJRT does not match this client: install another version of it");
    EXPECT_EQ(liveObjects(), before) << entry;
  }
}

TEST(Client, ARunThatIsStoppedDoesNotWait) {
  const int64_t before = liveObjects();
  const auto begin = std::chrono::steady_clock::now();
  std::atomic<bool> stop{true};
  {
    const Fault late("LATE_MS", "500");
    EXPECT_EQ(runSum(std::string(kSum), 1, {.stop = &stop}).error().str(),
              "error[SM9006]: the run was stopped before its end\n"
              "  need: devices that finish within the caller's time limit\n"
              "  have: waited for the plugin to take operand 0 of device 10 (fake chip)\n"
              "  help: give it more time, or smaller inputs\n");
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(400));
  EXPECT_EQ(liveObjects(), before);
}

TEST(Client, AStopInTheMiddleLosesNothing) {
  const int64_t before = liveObjects();
  int numStopped = 0;
  for (const int afterMs : {25, 60, 90, 120}) {  // two operands, the program, the result: 20 ms each
    const Fault late("LATE_MS", "20");
    std::atomic<bool> stop{false};
    const std::jthread alarm([&stop, afterMs] {
      std::this_thread::sleep_for(std::chrono::milliseconds(afterMs));
      stop = true;
    });
    const auto results = runSum(std::string(kSum), 1, {.stop = &stop});
    if (results) continue;  // it came to the end before the alarm
    EXPECT_EQ(results.error().code, "SM9006");
    ++numStopped;
  }
  EXPECT_GE(numStopped, 1);
  // What was given up is destroyed when its events happen.
  for (int i = 0; i < 100 && liveObjects() != before; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(liveObjects(), before);
}

TEST(Client, ResultsComeFromAsManyDevicesAsAreAskedFor) {
  const auto results = runSum(sumForTwo(), 2, {.numFetched = 1});
  ASSERT_TRUE(results) << results.error().str();
  EXPECT_EQ(results->size(), 1u);
}

TEST(Client, TheDevicesOfOtherProcessesAreNotOnesOwn) {
  const Fault devices("DEVICES", "4"), process("PROCESS", "1/2:/nowhere");
  const auto client = Client::create(plugin());
  ASSERT_TRUE(client) << client.error().str();
  std::vector<bool> here;
  for (const Device& d : client->devices()) here.push_back(d.here);
  EXPECT_EQ(here, (std::vector<bool>{false, false, true, true}));
  // A program that fits runs on the own ones, a larger one with those of all.
  EXPECT_EQ((*client->choose(2))[0]->id, 12);
  EXPECT_EQ((*client->choose(3))[0]->id, 10);
  EXPECT_EQ(client->choose(5).error().have, "4 (fake chip)");
}

TEST(Client, AProgramOnDevicesOfOtherHostsIsRefusedHere) {
  const Fault devices("DEVICES", "6"), process("PROCESS", "2/3:/nowhere");  // 2 of 6, the last ones
  const auto client = Client::create(plugin());
  ASSERT_TRUE(client) << client.error().str();
  EXPECT_EQ(client->choose(3).error().str(),
            "error[SM6804]: the program runs on devices of other hosts\n"
            "  need: one of the first 3 devices of all hosts in this process\n"
            "  have: 2 of 6, the first of id 14\n"
            "  help: run it on the hosts of the first devices only, or as a program for all devices\n");
  EXPECT_TRUE(client->choose(5));
}

TEST(Client, AProgramForMoreDevicesThanThereAreIsRefused) {
  const Fault one("DEVICES", "1");
  EXPECT_EQ(runSum(sumForTwo(), 2).error().str(),
            "error[SM6804]: the program is for more devices than there are\n"
            "  need: 2 devices\n"
            "  have: 1 (fake chip)\n"
            "  help: run it where there are as many, or on the interpret target, which has any number\n");
}

TEST(Client, ResultsOfAnotherTypeAreRefused) {
  const auto client = Client::create(plugin());
  const auto program = LoadedProgram::compile(*client, std::string(kSum));
  ASSERT_TRUE(program) << program.error().str();
  const std::vector<DeviceArrays> operands{{array(0), array(1)}};
  EXPECT_EQ(program->run(operands, std::array{ArrayType{DType::f32, {3, 2}}}).error().str(),
            "error[SM6808]: result 0 of device 10 (fake chip) is not what the program returns\n"
            "  need: f32[3,2]\n"
            "  have: an array 2x3 of PJRT's element type 11\n");
  EXPECT_EQ(program->run({}, std::array{kType}).error().have, "0 devices, 1 results");
}

TEST(Client, AProgramThatIsNoneIsRefused) {
  const auto client = Client::create(plugin());
  const auto program = LoadedProgram::compile(*client, "no module");
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().code, "SM6806");
}

}  // namespace
}  // namespace smalti::pjrt
