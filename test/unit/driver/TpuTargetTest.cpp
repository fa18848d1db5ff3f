// The target tpu, with the plugin of test/pjrt for devices.
#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "RunText.h"
#include "base/io/File.h"
#include "driver/RunSettings.h"
#include "driver/case/Conform.h"
#include "driver/case/ModuleOrCase.h"
#include "driver/case/RunInChild.h"
#include "driver/target/tpu/DeviceProgram.h"
#include "smalti/module.h"

namespace smalti::driver {
namespace {

const std::string kTarget = "tpu:" SMALTI_FAKE_PJRT;
const std::string kCases = SMALTI_SOURCE_DIR "/test/data/cases/";

/// A fault of the plugin, as long as this lives.
class DeviceFault {
 public:
  DeviceFault(std::string name, const std::string& value) : name_("FAKE_PJRT_" + std::move(name)) {
    ::setenv(name_.c_str(), value.c_str(), 1);
  }
  ~DeviceFault() { ::unsetenv(name_.c_str()); }
  DeviceFault(const DeviceFault&) = delete;
  DeviceFault& operator=(const DeviceFault&) = delete;

 private:
  std::string name_;
};

Options onDevices() {
  Options options;
  options.target = kTarget;
  return options;
}

/// The child's outcome of a case, and its message.
Result<std::vector<Array>> apart(const std::string& name, double limitSeconds = 0) {
  const auto module = loadModuleOrCase(kCases + name);
  if (!module) return fail(module.error());
  const auto inputs = readInputs(*module->recorded, argumentTypes(*module->program), "ones", 0);
  if (!inputs) return fail(inputs.error());
  RunSettings settings = runSettings(onDevices(), module->recorded->poison);
  settings.execute.timeLimitSeconds = limitSeconds;
  EXPECT_TRUE(isForeignCode(settings.compile));
  auto outcome = runInChild(*module->program, *inputs, settings);
  if (!outcome) return fail(std::move(outcome.error()));
  return std::move(outcome->results);
}

/// What `work` says in a process of its own: one that has started the devices can fork none that use them.
std::string inChild(const std::function<std::string()>& work) {
  ChildResult ended;
  runInChildren(1, {}, [&](int64_t) { return work(); }, [&](int64_t, const ChildResult& r) { ended = r; }, [] {});
  return ended.finished ? ended.output : "ended by signal " + std::to_string(ended.signal);
}

Result<RunReport> runHere(const std::string& name) {
  const auto module = Module::load(kCases + name);
  if (!module) return fail(module.error());
  Settings settings;
  if (Status set = settings.set("target", kTarget); !set) return fail(set.error());
  const auto inputs = module->recorded_inputs();
  if (!inputs) return fail(inputs.error());
  return module->run(*inputs, settings);
}

bool asRecorded(const std::string& name, const std::vector<Array>& results) {
  const auto recorded = readCase(kCases + name);
  const auto expected = readExpected(*recorded);
  for (size_t i = 0; i < results.size(); ++i)
    if (!compare(results[i], (*expected)[i], recorded->tolerance(i)).passed()) return false;
  return results.size() == expected->size();
}

std::string outcomeHere(const std::string& name) {
  const auto run = runHere(name);
  if (!run) return run.error().str();
  return asRecorded(name, run->results) ? "as recorded" : "wrong";
}

TEST(TpuTarget, RunsAModuleThroughThePublicApi) {
  EXPECT_EQ(inChild([] { return outcomeHere("matmul_bf16_gelu"); }), "as recorded");
}

TEST(TpuTarget, LeavesTheEnvironmentOfTheCallersProcessAlone) {
  EXPECT_EQ(inChild([] {
              const std::vector<const char*> names{"TPU_SKIP_MDS_QUERY", "ALLOW_MULTIPLE_LIBTPU_LOAD", "TPU_LOG_DIR",
                                                   "TF_CPP_MIN_LOG_LEVEL", "TPU_ACCELERATOR_TYPE"};
              for (const char* name : names) ::unsetenv(name);
              std::string said = outcomeHere("add_grid_1d");
              for (const char* name : names)
                if (::getenv(name)) said += std::string(", ") + name;
              return said;
            }),
            "as recorded");
}

TEST(TpuTarget, RunsInAChildToo) {
  for (const std::string name : {"add_grid_1d", "matmul_int8", "cast_i4_to_f32"}) {
    const auto results = apart(name);
    ASSERT_TRUE(results) << results.error().str();
    EXPECT_TRUE(asRecorded(name, *results)) << name;
  }
}

TEST(TpuTarget, SplitsArgumentsAsMainSays) {
  const auto module = loadModuleOrCase(kCases + "dist_right_permute_barrier");
  const auto program = deviceProgram(*module->program);
  ASSERT_TRUE(program) << program.error().str();
  ASSERT_EQ(program->parts.size(), 1u);
  ASSERT_TRUE(program->parts[0]);
  const auto inputs = readInputs(*module->recorded, argumentTypes(*module->program), "ones", 0);
  for (int64_t device = 0; device < 4; ++device) {
    const auto parts = program->partsFor(device, *inputs);
    ASSERT_TRUE(parts) << parts.error().str();
    EXPECT_EQ((*parts)[0].type().str(), "f32[8,128]");
    EXPECT_EQ((*parts)[0].as<float>()[5], (*inputs)[0].as<float>()[device * 8 * 128 + 5]);
  }
  // Every device has all of the results.
  EXPECT_NE(program->stableHlo.find("-> (tensor<32x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>})"),
            std::string::npos)
      << program->stableHlo.substr(0, 500);
}

TEST(TpuTarget, RunsOnSeveralDevices) {
  const DeviceFault devices("DEVICES", "4");
  for (const std::string name : {"dist_right_permute_barrier", "dist_all_reduce_ring"}) {
    const auto results = apart(name);
    ASSERT_TRUE(results) << results.error().str();
    EXPECT_TRUE(asRecorded(name, *results)) << name;
  }
}

TEST(TpuTarget, TooFewDevicesAreNamed) {
  EXPECT_EQ(apart("dist_all_reduce_ring").error().str(),
            "error[SM6804]: the program is for more devices than there are\n"
            "  need: 4 devices\n"
            "  have: 2 (fake chip)\n"
            "  help: run it where there are as many, or on the interpret target, which has any number\n");
}

TEST(TpuTarget, AnErrorIsTheRuns) {
  const DeviceFault fault("ERROR", "55:8:Ran out of memory in memory space hbm.");
  EXPECT_EQ(apart("add_grid_1d").error().str(),
            "error[SM6803]: the plugin did not run the program\n"
            "   in plugin '" SMALTI_FAKE_PJRT
            "'\n"
            "  have: RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm.\n");
}

TEST(TpuTarget, SM6810_ACrashOfThePluginIsADiagnostic) {
  for (const int entry : {3, 10, 20, 22, 55, 70, 8}) {
    const DeviceFault fault("CRASH", std::to_string(entry));
    EXPECT_EQ(apart("add_grid_1d").error().str(),
              "error[SM6810]: the plugin of the devices crashed in this run\n"
              "   in target 'tpu'\n"
              "   in plugin '" SMALTI_FAKE_PJRT
              "'\n"
              "  have: signal 6 (Aborted): latency_table_vf.cc:719] Operation not supported: kFake\n"
              "  help: the plugin itself crashed: check with smalti compile whether its compiler accepts the kernels, "
              "and with --target interpret whether they are correct\n")
        << entry;
  }
}

TEST(TpuTarget, SM6811_AHangOfThePluginIsADiagnostic) {
  for (const int entry : {10, 55, 8}) {
    const DeviceFault fault("HANG", std::to_string(entry));
    EXPECT_EQ(apart("add_grid_1d", 0.3).error().str(),
              "error[SM6811]: the devices timed out in this run\n"
              "   in target 'tpu'\n"
              "   in plugin '" SMALTI_FAKE_PJRT
              "'\n"
              "  need: at most 0.3 s\n"
              "  help: raise --timeout-seconds: it includes starting the devices and compiling\n")
        << entry;
  }
}

TEST(TpuTarget, SM6813_UnsupportedOptionsAreRefused) {
  const auto module = Module::load(kCases + "add_grid_1d");
  const auto messageOf = [&](std::string_view option, std::string_view value) {
    Settings settings;
    EXPECT_TRUE(settings.set("target", kTarget));
    EXPECT_TRUE(settings.set(option, value));
    return module->run(*module->recorded_inputs(), settings).error().str();
  };
  EXPECT_EQ(messageOf("semantics", "hlo"),
            "error[SM6813]: --semantics hlo is for the abstract machine: devices compute as they do\n"
            "  help: omit it, or choose --target interpret\n");
  EXPECT_NE(messageOf("numerics", "f32").find("--numerics f32"), std::string::npos);
  EXPECT_NE(messageOf("cores", "2").find("--cores"), std::string::npos);
  EXPECT_NE(messageOf("naive-pipeline", "on").find("--naive-pipeline"), std::string::npos);
}

TEST(TpuTarget, SM6812_AForkedProcessHasNoDevices) {
  EXPECT_EQ(inChild([] {
              const std::string first = outcomeHere("add_grid_1d");
              return first != "as recorded" ? first : inChild([] { return outcomeHere("matmul_int8"); });
            }),
            "error[SM6812]: the devices belong to the process that this one was forked from\n"
            "   in plugin '" SMALTI_FAKE_PJRT
            "'\n"
            "  help: fork before the first program runs on the devices, or start a separate process (exec)\n");
}

std::vector<CaseOutcome> conformed(const std::vector<std::string>& names) {
  std::vector<ConformCase> cases;
  for (const std::string& name : names) cases.push_back({name, kCases + name});
  return runCases(cases, onDevices(), [](size_t) {});
}

TEST(TpuTarget, CasesConform) {
  for (const CaseOutcome& o : conformed({"add_grid_1d", "matmul_bf16_gelu", "rmsnorm_f32", "alias_partial_update"}))
    EXPECT_EQ(o.verdict, Verdict::pass) << o.wrong << (o.diagnostic ? o.diagnostic->str() : "");
}

TEST(TpuTarget, ACrashInOneCaseIsItsVerdictAlone) {
  const DeviceFault fault("CRASH_ON", "i8");
  const auto outcomes = conformed({"add_grid_1d", "matmul_int8", "rmsnorm_f32"});
  EXPECT_EQ(outcomes[0].verdict, Verdict::pass);
  EXPECT_EQ(outcomes[1].verdict, Verdict::crash);
  EXPECT_EQ(outcomes[1].diagnostic->code, "SM6810");
  EXPECT_EQ(outcomes[1].diagnostic->message, "the plugin of the devices crashed in this case");
  EXPECT_EQ(outcomes[2].verdict, Verdict::pass);
}

// Two processes with two of four devices each: both run the same program on the same arrays, and both have the result.
TEST(TpuTarget, OneProcessPerHost) {
  const std::string folder = ::testing::TempDir() + "hosts_" + std::to_string(::getpid());
  std::filesystem::create_directories(folder);
  const DeviceFault devices("DEVICES", "4");
  ChildLimits limits{.atOnce = 2};
  std::vector<std::string> said(2);
  runInChildren(
      2, limits,
      [&](int64_t i) -> std::string {
        const DeviceFault process("PROCESS", std::to_string(i) + "/2:" + folder);
        return outcomeHere("dist_all_reduce_ring");
      },
      [&](int64_t i, const ChildResult& result) { said[static_cast<size_t>(i)] = result.output; }, [] {});
  std::filesystem::remove_all(folder);
  EXPECT_EQ(said, (std::vector<std::string>{"as recorded", "as recorded"}));
}

}  // namespace
}  // namespace smalti::driver
