// Google's TPU compiler without a TPU: a plugin's compiler, pointed at a description of devices.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pjrt/OptimizedHlo.h"
#include "pjrt/Plugin.h"

namespace smalti::pjrt {

/// How a generation of TPUs is called where topologies are named.
struct ChipTopology {
  std::string_view chip;                    ///< "v5e"
  std::span<const std::string_view> names;  ///< of topologies, smallest first: "v5e:2x2"
  std::string_view config;                  ///< option chip_config_name; may be empty
};
std::span<const ChipTopology> chipTopologies();
/// "v4, v5e, v5p, v6e, v7x", for messages.
std::string chipList();
/// Null when there is no such chip.
const ChipTopology* findChipTopology(std::string_view chip);

struct Compiled {
  std::vector<KernelUse> kernels;
  int64_t codeBytes = 0;   ///< 0: the plugin does not say
  std::string executable;  ///< serialized, for the same platform and version of the plugin; empty unless asked for
};

class TpuCompiler {
 public:
  /// SM6803: the plugin does not describe this chip, or has no topology with this number of devices.
  static Result<TpuCompiler> create(Plugin, const ChipTopology&, int64_t devices);

  /// Compiles StableHLO, text or bytecode; a refusal is the compiler's own words.
  tl::expected<Compiled, PluginError> compile(const std::string& module, bool wantsExecutable) const;
  /// "TFRT TPU v5 lite …"; the plugin's version in its own words.
  std::string platformVersion() const;
  const Plugin& plugin() const { return topology_.plugin(); }

 private:
  explicit TpuCompiler(Handle topology) : topology_(std::move(topology)) {}
  Handle topology_;
};

/// Sets, where they are not set, the variables without which libtpu asks the cloud for a TPU, refuses a second process,
/// and writes log files. For a process that only compiles: one that runs on a TPU does without them.
void setCompileOnlyEnvironment();

}  // namespace smalti::pjrt
