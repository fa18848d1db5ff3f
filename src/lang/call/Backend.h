// The language's interface to the layers above it, and its one registered implementation
// (src/driver/LanguageBackend.cpp).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/Executable.h"
#include "base/Options.h"
#include "base/process/ForkGate.h"
#include "ir/program/Program.h"

namespace smalti {
class Lowered;
}

namespace smalti::lang {

/// The purpose of an Executable: results, or results and findings, under every observer.
enum class Purpose : uint8_t { call, check };

/// A Program on its way to targets: compiled once for equal options. Thread-safe.
class Compilable {
 public:
  virtual ~Compilable() = default;
  virtual Result<std::shared_ptr<const Executable::State>> compile(const Options&, Purpose) = 0;
  /// While it is held, no other thread reads the modules of the Program's kernels.
  virtual LockedUnforkedWork alone() = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::shared_ptr<Compilable> prepare(std::shared_ptr<const Program>) const = 0;
  virtual Result<std::string> exportStablehlo(const Program&, int version) const = 0;
  virtual Result<std::string> exportBytecode(const KernelPackage&, int version) const = 0;
  virtual std::string mosaicText(const KernelPackage&, bool generic) const = 0;
};

/// Takes a backend for the life of the process; the first one stays. What registers it: the shared library when it is
/// loaded, `smalti/smalti.h` in a program that is linked statically.
void setBackend(const Backend&);
/// Error SM9014 when there is none.
const Backend& backend();

/// Used by the driver: works on a lowered kernel while no other thread does.
Status withPackage(const Lowered&, const std::function<Status(const KernelPackage&)>& work);

}  // namespace smalti::lang
