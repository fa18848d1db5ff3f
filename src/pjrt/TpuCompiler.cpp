#include "pjrt/TpuCompiler.h"

#include <array>
#include <cstdlib>

#include <fmt/format.h>

#include "pjrt/CompileOptions.h"

namespace smalti::pjrt {

using namespace abi;

namespace {

/// Sizes of topologies, smallest first.
using Sizes = std::array<std::string_view, 5>;
constexpr Sizes kIn2Dimensions{"2x2", "2x4", "4x4", "4x8", "8x8"};
constexpr Sizes kIn3Dimensions{"2x2x1", "2x2x2", "2x2x4", "2x4x4", "4x4x4"};

Result<Handle> createTopology(Plugin plugin, std::string_view name, std::string_view config) {
  constexpr std::string_view kConfigOption = "chip_config_name";
  NamedValue option;
  option.name = kConfigOption.data();
  option.nameSize = kConfigOption.size();
  option.text = config.data();
  option.valueSize = config.size();
  TopologyCreateArgs args;
  args.name = name.data();
  args.nameSize = name.size();
  args.options = &option;
  args.numOptions = config.empty() ? 0 : 1;
  const std::string what = fmt::format("describe the topology '{}'", name);
  if (auto done = plugin.call(kTopologyCreate, args); !done) return fail(refusedBy(plugin, done.error(), what));
  if (!args.topology) return fail(hasNoResult(plugin, "topology"));
  return Handle(plugin, args.topology, kTopologyDestroy);
}

size_t numDevices(const Handle& topology) {
  ListArgs args;
  args.object = topology.get();
  return topology.plugin().call(kTopologyGetDeviceDescriptions, args) ? args.count : 0;
}

std::string optimizedProgram(const Handle& executable) {
  constexpr size_t kLargestBytes = size_t{1} << 30;
  Program program;
  OptimizedProgramArgs args;
  args.executable = executable.get();
  args.program = &program;
  if (!executable.plugin().call(kExecutableOptimizedProgram, args) || program.codeSize > kLargestBytes) return "";
  std::string bytes(program.codeSize, '\0');
  program.code = bytes.data();
  if (!executable.plugin().call(kExecutableOptimizedProgram, args)) return "";
  return bytes;
}

tl::expected<std::string, PluginError> serialized(const Handle& executable) {
  SerializeArgs args;
  args.executable = executable.get();
  if (auto done = executable.plugin().call(kExecutableSerialize, args); !done) return tl::unexpected(done.error());
  std::string bytes(args.bytes ? args.bytes : "", args.bytes ? args.size : 0);
  if (args.destroy) args.destroy(args.handle);
  return bytes;
}

}  // namespace

Result<TpuCompiler> TpuCompiler::create(Plugin plugin, const ChipTopology& chip, int64_t devices) {
  std::string name;
  for (const std::string_view size : chip.dimensions == 2 ? kIn2Dimensions : kIn3Dimensions) {
    name = fmt::format("{}:{}", chip.name, size);
    auto topology = createTopology(plugin, name, chip.config);
    if (!topology) return fail(std::move(topology.error()));
    if (static_cast<int64_t>(numDevices(*topology)) >= devices) return TpuCompiler(std::move(*topology));
  }
  return fail({.code = "SM6804",
               .message = fmt::format("no topology of {} has {} devices", chip.chip, devices),
               .place = {},
               .need = fmt::format("at most those of '{}'", name),
               .have = fmt::format("a module for {} devices", devices)});
}

tl::expected<Compiled, PluginError> TpuCompiler::compile(const std::string& module, bool wantsExecutable) const {
  constexpr std::string_view kFormat = "mlir";
  const Plugin& plugin = topology_.plugin();
  Program program;
  std::string code = module;  // the struct's pointer is not to const
  program.code = code.data();
  program.codeSize = code.size();
  program.format = kFormat.data();
  program.formatSize = kFormat.size();
  const std::string options = optionsOf(module).proto();
  CompileArgs args;
  args.topology = topology_.get();
  args.program = &program;
  args.options = options.data();
  args.optionsSize = options.size();
  if (auto done = plugin.call(kCompile, args); !done) return tl::unexpected(done.error());
  if (!args.executable) return tl::unexpected(PluginError{2, "the plugin reported success and gave no executable"});

  const Handle executable(plugin, args.executable, kExecutableDestroy);
  Compiled result;
  result.kernels = kernelsOf(optimizedProgram(executable));
  CountArgs size;
  size.object = executable.get();
  if (plugin.call(kExecutableSizeOfGeneratedCode, size)) result.codeBytes = static_cast<int64_t>(size.count);
  if (wantsExecutable) {
    auto bytes = serialized(executable);
    if (!bytes) return tl::unexpected(bytes.error());
    result.executable = std::move(*bytes);
  }
  return result;
}

std::string TpuCompiler::platformVersion() const {
  return topology_.plugin().text(kTopologyPlatformVersion, topology_.get());
}

void setCompileOnlyEnvironment() {
  struct Variable {
    const char *name, *value;
  };
  for (const Variable& v : {
           Variable{"TPU_SKIP_MDS_QUERY", "1"},          // else it retries the metadata server for minutes
           Variable{"ALLOW_MULTIPLE_LIBTPU_LOAD", "1"},  // else a second process fails on a lock file
           Variable{"TPU_LOG_DIR", "disabled"},
           Variable{"TPU_STDERR_LOG_LEVEL", "3"},
           Variable{"TF_CPP_MIN_LOG_LEVEL", "3"},
           Variable{"TPU_ACCELERATOR_TYPE", "v5litepod-4"},  // these two only silence warnings
           Variable{"TPU_WORKER_HOSTNAMES", "localhost"},
       })
    ::setenv(v.name, v.value, /*overwrite=*/0);
}

}  // namespace smalti::pjrt
