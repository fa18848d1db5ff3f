#include "driver/processes/ProgramIdentity.h"

#include <functional>

#include <fmt/format.h>

#include "driver/Version.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/IR/BuiltinOps.h"

namespace smalti::driver {
namespace {

std::string meshText(const DeviceMesh& mesh) {
  std::string text;
  for (const auto& axis : mesh.axes) text += fmt::format("{}{}={}", text.empty() ? "" : ", ", axis.name, axis.size);
  return "(" + text + ")";
}

void addOps(const std::vector<Op>& ops, std::string& text) {
  for (const Op& op : ops) {
    text += op.name + op.callee;
    for (const ValueId v : op.operands) text += fmt::format(" {}", v);
    for (const ValueId v : op.results) text += fmt::format(">{}", v);
    for (const Block& block : op.regions) {
      text += '{';
      addOps(block.ops, text);
      text += '}';
    }
  }
}

}  // namespace

std::string programIdentity(const Program& program) {
  std::string text, meshes;
  for (const Function& f : program.functions) {
    for (const ArrayType& type : f.values) text += type.str();
    addOps(f.ops, text);
  }
  for (const KernelPackage& kernel : program.kernels) {
    llvm::raw_string_ostream(text) << *kernel.module;
  }
  for (const DeviceMesh& mesh : program.meshes) meshes += " on mesh " + meshText(mesh);
  return fmt::format("program '{}'{}, {:016x} of {}", program.name, meshes, std::hash<std::string>()(text),
                     versionText());
}

}  // namespace smalti::driver
