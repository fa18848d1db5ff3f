// What the language asks of the layers above it. The driver defines these functions (src/driver/LanguageBackend.cpp).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ir/Program.h"
#include "smalti/module.h"

namespace smalti {
class Lowered;
}

namespace smalti::lang {

/// A kernel ready to run on the target and with the options of this thread (`use_settings`).
class Executable {
 public:
  virtual ~Executable() = default;
  /// Results, and all that was found.
  virtual Result<RunReport> run(std::vector<Array> operands) const = 0;
  /// Results only.
  virtual Result<std::vector<Array>> call(std::vector<Array> operands) const = 0;
};

/// What an Executable is for: results, or results and findings, under every observer.
enum class Purpose : uint8_t { call, check };

/// Changes whenever other settings are in force on this thread: an Executable is good for the settings it was made
/// with.
uint64_t settingsSerial();
Result<std::shared_ptr<const Executable>> compile(const KernelPackage&, Purpose);
Result<std::string> exportStablehlo(const Program&, int version);
Result<std::string> exportBytecode(const KernelPackage&, int version);
std::string mosaicText(const KernelPackage&, bool generic);

/// For the driver: works on a lowered kernel while nobody else uses its context.
Status withPackage(const Lowered&, const std::function<Status(const KernelPackage&)>& work);

}  // namespace smalti::lang
