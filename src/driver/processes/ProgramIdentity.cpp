#include "driver/processes/ProgramIdentity.h"

#include <functional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "driver/Version.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"
#include "mlir/IR/BuiltinOps.h"

namespace smalti::driver {
namespace {

std::string meshText(const DeviceMesh& mesh) {
  std::string text;
  for (const auto& axis : mesh.axes) text += fmt::format("{}{}={}", text.empty() ? "" : ", ", axis.name, axis.size);
  return "(" + text + ")";
}

std::string valueText(bool v) { return fmt::format("{}", v); }
std::string valueText(int64_t v) { return fmt::format("{}", v); }
std::string valueText(double v) { return fmt::format("{:a}", v); }
std::string valueText(const std::string& v) { return v; }
std::string valueText(const Array& v) {
  const llvm::ArrayRef bytes(reinterpret_cast<const uint8_t*>(v.data()), static_cast<size_t>(v.bytes()));
  return fmt::format("{} {:016x}", v.type().str(), llvm::xxh3_64bits(bytes));
}
std::string valueText(const Sharding& v) {
  std::string text = v.mesh;
  for (const auto& axes : v.dims) text += fmt::format(" {{{}}}", fmt::join(axes, ","));
  return text;
}
template <class T>
std::string valueText(const std::vector<T>& list) {
  std::string text;
  for (const T& v : list) text += valueText(v) + ",";
  return text;
}

void addOps(const std::vector<Op>& ops, std::string& text) {
  for (const Op& op : ops) {
    text += op.name + op.callee;
    for (const ValueId v : op.operands) text += fmt::format(" {}", v);
    for (const ValueId v : op.results) text += fmt::format(">{}", v);
    for (const auto& [name, value] : op.attributes)
      text += fmt::format(" {}={}", name, std::visit([](const auto& v) { return valueText(v); }, value));
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
