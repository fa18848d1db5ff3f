#include "driver/target/tpu/Tpu.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>

#include <fmt/format.h>

#include "base/Lasting.h"
#include "base/process/ForkGate.h"
#include "driver/target/tpu/DeviceProgram.h"
#include "driver/target/tpu/FindTpu.h"
#include "pjrt/FindPlugin.h"
#include "pjrt/LoadedProgram.h"

namespace smalti::driver {
namespace {

/// How a user specifies a plugin.
constexpr std::string_view kNaming = "--target tpu:FILE";

/// With an explicit plugin, errors come from the plugin itself.
Status available(std::string_view plugin) {
  if (!plugin.empty() || std::getenv("TPU_LIBRARY_PATH")) return {};
  if (!hasTpu("/"))
    return fail(
        {.code = "SM5008",
         .message = "this machine has no TPU: there is neither /dev/accel0 nor a Google device in /dev/vfio",
         .place = {},
         .help = "run it on a TPU VM (smalti explain SM5008 says how to get one), or simulate it: --target sim:v5e"});
  if (const auto found = pjrt::findTpuPlugin("", kNaming); !found) return fail(found.error());
  return {};
}

/// One client a plugin, as long as the process lives: it holds the devices, and starting them takes seconds.
Result<pjrt::Client> clientOf(const std::string& plugin) {
  struct Started {
    pjrt::Client client;
    pid_t process;
  };
  static std::mutex mutex;
  static auto& clients = *new std::map<std::string, Started>;
  const LockedUnforkedWork lock(mutex);
  if (const auto known = clients.find(plugin); known != clients.end()) {
    if (known->second.process == ::getpid()) return known->second.client;
    return fail({.code = "SM6812",
                 .message = "the devices belong to the process that this one was forked from",
                 .place = {},
                 .where = {fmt::format("plugin '{}'", plugin)},
                 .help = "fork before the first program runs on the devices, or start a separate process (exec)"});
  }
  if (!hasTpu("/") && std::filesystem::path(plugin).filename().string().starts_with("libtpu"))
    ::setenv("TPU_SKIP_MDS_QUERY", "1", /*overwrite=*/0);  // otherwise it searches the cloud for minutes
  const auto loaded = pjrt::Plugin::load(plugin);
  if (!loaded) return fail(loaded.error());
  auto client = pjrt::Client::create(*loaded);
  if (!client) return client;
  return clients.emplace(plugin, Started{std::move(*client), ::getpid()}).first->second.client;
}

/// SM6813 for options that devices do not support.
Status takes(const Contract& c) {
  const std::string_view option = c.semantics != machine::Semantics::tpu ? "--semantics hlo"
                                  : c.numerics != Numerics::tpu          ? "--numerics f32"
                                  : c.naivePipeline                      ? "--naive-pipeline"
                                  : c.cores != 1                         ? "--cores"
                                                                         : "";
  if (option.empty()) return {};
  return fail({.code = "SM6813",
               .message = fmt::format("{} is for the abstract machine: devices compute as they do", option),
               .place = {},
               .help = "omit it, or choose --target interpret"});
}

class OnDevices : public TargetProgram {
 public:
  OnDevices(DeviceProgram program, pjrt::LoadedProgram loaded)
      : program_(std::move(program)), loaded_(std::move(loaded)) {}

  Result<std::vector<Array>> run(std::span<const Array> arguments, const ExecuteSettings& settings) const override {
    if (settings.needsMachine())
      return fail({.code = "SM6813",
                   .message = "devices cannot be observed or scheduled",
                   .place = {},
                   .help = "choose --target interpret"});
    std::vector<pjrt::DeviceArrays> operands;
    for (const auto& place : loaded_.here()) {
      auto parts = program_.partsFor(place.position, arguments);
      if (!parts) return fail(std::move(parts.error()));
      operands.push_back(std::move(*parts));
    }
    // Every device has the whole results.
    auto results = loaded_.run(operands, program_.results, {.numFetched = 1, .stop = settings.stop});
    if (!results) return fail(std::move(results.error()));
    return std::move(results->front());
  }

 private:
  DeviceProgram program_;
  pjrt::LoadedProgram loaded_;
};

}  // namespace

Result<std::string> pluginOf(std::string_view target) {
  const size_t colon = target.find(':');
  return pjrt::findTpuPlugin(colon == target.npos ? "" : std::string(target.substr(colon + 1)), kNaming);
}

namespace {

Target makeTpuTarget() {
  return {
      .name = "tpu",
      .summary =
          "the TPUs of this machine, or the devices of another PJRT plugin: the whole program, compiled by the plugin",
      .argument = "[PLUGIN]",
      .checks = [](const machine::ObserverRow&) { return false; },
      .numerics = Numerics::tpu,
      .aheadOfTime = false,
      .available = available,
      .open = {},
      .openProgram = [](std::string_view argument) -> Result<ProgramCompiler> {
        auto plugin = pjrt::findTpuPlugin(std::string(argument), kNaming);
        if (!plugin) return fail(std::move(plugin.error()));
        return
            [plugin = std::move(*plugin)](
                const Program& program, const CompileOptions& options) -> Result<std::shared_ptr<const TargetProgram>> {
              if (Status ok = takes(options.contract); !ok) return fail(std::move(ok.error()));
              const auto client = clientOf(plugin);
              if (!client) return fail(client.error());
              auto forDevices = deviceProgram(program);
              if (!forDevices) return fail(std::move(forDevices.error()));
              auto loaded = pjrt::LoadedProgram::compile(*client, forDevices->stableHlo);
              if (!loaded) return fail(std::move(loaded.error()));
              return std::make_shared<OnDevices>(std::move(*forDevices), std::move(*loaded));
            };
      },
      .foreign = true,
      .reservesAddressSpace = true};
}

}  // namespace

const Target& tpuTarget() {
  static constinit Lasting<const Target> target;
  return target.get(makeTpuTarget);
}

}  // namespace smalti::driver
