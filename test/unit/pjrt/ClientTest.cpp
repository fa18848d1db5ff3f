// Devices behind a plugin: the one of test/pjrt, whose devices are the abstract machine.
#include "pjrt/Client.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "base/File.h"

namespace smalti::pjrt {
namespace {

/// A fault of the fake plugin, as long as this lives.
class Fault {
 public:
  Fault(std::string name, const std::string& value) : name_("FAKE_PJRT_" + std::move(name)) {
    ::setenv(name_.c_str(), value.c_str(), 1);
  }
  ~Fault() { ::unsetenv(name_.c_str()); }
  Fault(const Fault&) = delete;
  Fault& operator=(const Fault&) = delete;

 private:
  std::string name_;
};

Plugin plugin() { return *Plugin::load(SMALTI_FAKE_PJRT); }

int64_t liveObjects() {
  static void* library = ::dlopen(SMALTI_FAKE_PJRT, RTLD_NOW);
  return reinterpret_cast<int64_t (*)()>(::dlsym(library, "FakePjrtLiveObjects"))();
}

/// What is loaded from elsewhere is another plugin, which has not been started yet.
class CopiedPlugin {
 public:
  CopiedPlugin() : path_(testing::TempDir() + "pjrt_" + std::to_string(::getpid()) + "_" + std::to_string(++count_)) {
    std::filesystem::copy_file(SMALTI_FAKE_PJRT, path_);
  }
  ~CopiedPlugin() { std::filesystem::remove(path_); }
  std::string str() const {
    const auto loaded = Plugin::load(path_);
    if (loaded) return "loaded " + loaded->apiVersion();
    std::string text = loaded.error().str();
    for (size_t at; (at = text.find(path_)) != std::string::npos;) text.replace(at, path_.size(), "PLUGIN");
    return text;
  }

 private:
  static inline int count_ = 0;
  std::string path_;
};

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
  for (size_t at; (at = text.find("2x3xf32")) != std::string::npos;) text.replace(at, 7, "4x3xf32");
  return text;
}

const ArrayType kType{DType::f32, {2, 3}};

Array array(float first) {
  Array a = *Array::allocate(kType);
  for (int i = 0; i < 6; ++i) a.as<float>()[i] = first + static_cast<float>(i);
  return a;
}

Result<std::vector<DeviceArrays>> runSum(const std::string& module, size_t numDevices) {
  const auto client = Client::create(plugin());
  if (!client) return fail(client.error());
  const auto program = LoadedProgram::compile(*client, module);
  if (!program) return fail(program.error());
  std::vector<DeviceArrays> operands;
  for (size_t d = 0; d < numDevices; ++d) operands.push_back({array(100.F * static_cast<float>(d)), array(0.5F)});
  return program->run(operands, std::array{kType});
}

TEST(Plugin, IsLoaded) { EXPECT_EQ(CopiedPlugin().str(), "loaded 0.117"); }

TEST(Plugin, AFileThatIsNoneIsRefused) {
  EXPECT_EQ(Plugin::load("/nowhere/libtpu.so").error().str(),
            "error[SM6802]: '/nowhere/libtpu.so' is not a PJRT plugin that can be used\n"
            "  need: a shared library for this processor with the function GetPjrtApi\n"
            "  have: there is no such file\n");
  const std::string text = testing::TempDir() + "not_a_plugin.so";
  ASSERT_TRUE(writeFile(text, {"not a library"}));
  EXPECT_EQ(Plugin::load(text).error().have, "file too short");
  EXPECT_EQ(Plugin::load("/lib/x86_64-linux-gnu/libz.so.1").error().have, "a library without that function");
}

TEST(Plugin, AWrongTableIsRefused) {
  {
    const Fault fault("NO_TABLE", "1");
    EXPECT_EQ(CopiedPlugin().str(),
              "error[SM6802]: 'PLUGIN' is not a PJRT plugin that can be used\n"
              "  need: a shared library for this processor with the function GetPjrtApi\n"
              "  have: GetPjrtApi returned nothing\n"
              "  help: install another version of the plugin\n");
  }
  for (const std::string bytes : {"0", "40", "71", "99999999", "18446744073709551615"}) {
    const Fault fault("TABLE_BYTES", bytes);
    EXPECT_NE(CopiedPlugin().str().find("a table of " + bytes + " bytes"), std::string::npos) << bytes;
  }
  for (const std::string version : {"1.0", "0.12"}) {
    const Fault fault("VERSION", version);
    EXPECT_NE(CopiedPlugin().str().find("version " + version + " of the PJRT API"), std::string::npos) << version;
  }
}

TEST(Plugin, AnEntryBeyondTheTableIsMissing) {
  const Fault fault("TABLE_BYTES", "120");  // ends before kClientCreate
  const std::string path = testing::TempDir() + "small_table_" + std::to_string(::getpid());
  std::filesystem::copy_file(SMALTI_FAKE_PJRT, path, std::filesystem::copy_options::overwrite_existing);
  const auto small = Plugin::load(path);
  std::filesystem::remove(path);
  ASSERT_TRUE(small);
  EXPECT_EQ(Client::create(*small).error().have, "UNIMPLEMENTED: the plugin has no entry 10");
}

TEST(Plugin, OneThatDoesNotStartIsNotCalledAgain) {
  const Fault fault("ERROR", "3:10:Internal error when accessing libtpu multi-process lockfile.");
  const CopiedPlugin copy;
  const std::string expected =
      "error[SM6803]: the plugin did not start\n"
      "   in plugin 'PLUGIN'\n"
      "  have: ABORTED: Internal error when accessing libtpu multi-process lockfile.\n"
      "  help: another process has the TPU: end it, or wait for it\n";
  EXPECT_EQ(copy.str(), expected);
  ::unsetenv("FAKE_PJRT_ERROR");
  EXPECT_EQ(copy.str(), expected);
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

TEST(Client, EveryElementTypeTravels) {
  const auto client = Client::create(plugin());
  for (const DType dtype : {DType::pred, DType::i4, DType::i8, DType::i16, DType::i32, DType::u8, DType::u16,
                            DType::u32, DType::f16, DType::bf16, DType::f32, DType::f8e5m2, DType::f8e4m3fn}) {
    EXPECT_TRUE(bufferType(dtype)) << name(dtype);
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
  for (const int entry : {10, 16, 20, 22, 23, 29, 44, 51, 55, 70}) {
    const int64_t before = liveObjects();
    const Fault fault("ERROR", std::to_string(entry) + ":13:something broke");
    const auto results = runSum(std::string(kSum), 1);
    ASSERT_FALSE(results) << entry;
    EXPECT_NE(results.error().have.find("INTERNAL: something broke"), std::string::npos) << results.error().str();
    EXPECT_EQ(liveObjects(), before) << entry;
  }
}

TEST(Client, ACallThatGivesNothingIsADiagnostic) {
  for (const int entry : {10, 16, 20, 22, 55}) {
    const int64_t before = liveObjects();
    const Fault fault("NOTHING", std::to_string(entry));
    const auto results = runSum(std::string(kSum), 1);
    ASSERT_FALSE(results) << entry;
    EXPECT_EQ(results.error().code, "SM6802") << results.error().str();
    EXPECT_EQ(liveObjects(), before) << entry;
  }
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
