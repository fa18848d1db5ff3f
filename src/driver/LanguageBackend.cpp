// The services of the driver for the language: targets, options, exporters (lang/call/Backend.h).
#include "base/Lasting.h"
#include "driver/RunSettings.h"
#include "driver/program/Executables.h"
#include "interop/Interop.h"
#include "lang/call/Backend.h"
#include "mlir/IR/BuiltinOps.h"
#include "smalti/smalti.h"

namespace smalti {
namespace {

class TargetsOfProgram : public lang::Compilable {
 public:
  explicit TargetsOfProgram(std::shared_ptr<const Program> program) : executables_(std::move(program)) {}

  Result<std::shared_ptr<const Executable::State>> compile(const Options& options, lang::Purpose purpose) override {
    if (Status ok = driver::validate(options); !ok) return fail(ok.error());
    driver::RunSettings settings = driver::runSettings(options);
    if (purpose == lang::Purpose::check) driver::checkEverything(settings.compile.contract);
    return executables_.get(settings);
  }
  LockedUnforkedWork alone() override { return executables_.alone(); }

 private:
  driver::Executables executables_;
};

class DriverBackend : public lang::Backend {
 public:
  std::shared_ptr<lang::Compilable> prepare(std::shared_ptr<const Program> program) const override {
    return std::make_shared<TargetsOfProgram>(std::move(program));
  }
  Result<std::string> exportStablehlo(const Program& program, int version) const override {
    return interop::exportStableHlo(program, version);
  }
  Result<std::string> exportBytecode(const KernelPackage& package, int version) const override {
    return interop::writeBytecode(*package.module, version);
  }
  std::string mosaicText(const KernelPackage& package, bool generic) const override {
    return interop::exportMosaicText(package, generic);
  }
};

}  // namespace

bool detail::register_backend() {
  static constinit Lasting<const DriverBackend> backend;
  lang::setBackend(backend.get());
  return true;
}

namespace {
/// When the shared library is loaded. A linker leaves this file out of a static program unless a symbol of it is
/// referenced: smalti/smalti.h does.
[[maybe_unused]] const bool kRegistered = detail::register_backend();
}  // namespace

}  // namespace smalti
