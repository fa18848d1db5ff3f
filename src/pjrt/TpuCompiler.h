// Google's TPU compiler without a TPU: a plugin's compiler, pointed at a description of devices.
#pragma once

#include <string>
#include <vector>

#include "pjrt/OptimizedHlo.h"
#include "pjrt/Plugin.h"

namespace smalti::pjrt {

/// A generation of TPUs as the compiler's topologies name it.
struct ChipTopology {
  std::string chip;        ///< "v5e", for messages
  std::string name;        ///< "v5e" in "v5e:2x2"
  int64_t dimensions = 0;  ///< of the network between chips: 2 or 3
  std::string config;      ///< the option chip_config_name; may be empty
};

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
