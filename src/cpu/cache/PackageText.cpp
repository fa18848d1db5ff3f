#include "cpu/cache/PackageText.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "llvm/Support/raw_ostream.h"

namespace smalti::cpu {
namespace {

std::string text(const std::optional<bool>& value) { return value ? (*value ? "t" : "f") : "-"; }
std::string text(const std::optional<int64_t>& value) { return value ? std::to_string(*value) : "-"; }

std::string configText(const KernelConfig& c) {
  std::string s =
      fmt::format("{} {} {} {} {} {} {} {} {} {} {};", text(c.hasCommunication), text(c.collectiveId),
                  text(c.needsHloPasses), text(c.serializationFormat), text(c.needsLayoutPasses),
                  text(c.shapeInvariantNumerics), text(c.internalScratchInBytes), text(c.disableBoundsChecks),
                  text(c.disableSemaphoreChecks), text(c.skipDeviceBarrier), fmt::join(c.allowInputFusion, ""));
  for (const auto* colors : {&c.inputMemorySpaceColors, &c.outputMemorySpaceColors}) {
    for (const auto& color : *colors) s += fmt::format("{}@{} ", color.color, text(color.index));
    s += ';';
  }
  for (const auto& m : c.scopedMemory) s += fmt::format("{} {} {} ", m.memorySpace, m.offset, m.size);
  s += ';';
  for (const auto& f : c.flags) s += fmt::format("{} {} {}\n", f.type, f.valueKey, f.valueJson);
  for (const auto& [path, json] : c.unknown) s += fmt::format("{} {}\n", path, json);
  return s;
}

}  // namespace

std::string packageText(const KernelPackage& kernel) {
  std::string s;
  for (const ArrayType& type : kernel.operands) s += type.str() + ' ';
  s += "-> ";
  for (const ArrayType& type : kernel.results) s += type.str() + ' ';
  for (const Alias& alias : kernel.aliases) s += fmt::format("{}={} ", alias.output, alias.operand);
  s += configText(kernel.config);
  llvm::raw_string_ostream stream(s);
  // Read-only and without a verifier run: the generic form needs neither aliases of attributes nor unique names.
  mlir::ModuleOp(kernel.module.get())
      ->print(stream, mlir::OpPrintingFlags().printGenericOpForm().useLocalScope().assumeVerified());
  return s;
}

}  // namespace smalti::cpu
