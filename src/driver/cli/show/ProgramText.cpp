#include "driver/cli/show/ProgramText.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace smalti::cli {
namespace {

std::string values(const std::vector<ValueId>& ids) {
  std::vector<std::string> parts;
  for (ValueId id : ids) parts.push_back(fmt::format("%{}", id));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string typed(const Function& function, const std::vector<ValueId>& ids) {
  std::vector<std::string> parts;
  for (ValueId id : ids) parts.push_back(fmt::format("%{}: {}", id, function.values[static_cast<size_t>(id)].str()));
  return fmt::format("{}", fmt::join(parts, ", "));
}

void addOps(std::string& text, const Program& program, const Function& function, const std::vector<Op>& ops,
            int indent) {
  for (const Op& op : ops) {
    text.append(static_cast<size_t>(indent), ' ');
    if (!op.results.empty()) text += values(op.results) + " = ";
    text += op.name;
    if (op.kernel >= 0 && static_cast<size_t>(op.kernel) < program.kernels.size())
      text += fmt::format(" {}", program.kernels[static_cast<size_t>(op.kernel)].name);
    if (!op.callee.empty()) text += fmt::format(" @{}", op.callee);
    text += fmt::format(" ({})", values(op.operands));
    std::vector<std::string> types;
    for (ValueId id : op.results) types.push_back(function.values[static_cast<size_t>(id)].str());
    if (!types.empty()) text += fmt::format(" : {}", fmt::join(types, ", "));
    text += '\n';
    for (const Block& region : op.regions) {
      text +=
          fmt::format("{}({}) {{\n", std::string(static_cast<size_t>(indent), ' '), typed(function, region.arguments));
      addOps(text, program, function, region.ops, indent + 2);
      text += std::string(static_cast<size_t>(indent), ' ') + "}\n";
    }
  }
}

}  // namespace

std::string programText(const Program& program) {
  std::string text;
  for (const DeviceMesh& mesh : program.meshes) {
    std::vector<std::string> axes;
    for (const auto& axis : mesh.axes) axes.push_back(fmt::format("{}={}", axis.name, axis.size));
    text += fmt::format("mesh @{} [{}]\n", mesh.name, fmt::join(axes, ", "));
  }
  for (const Function& function : program.functions) {
    std::vector<std::string> results;
    for (const ArrayType& t : function.resultTypes) results.push_back(t.str());
    text += fmt::format("func @{}({}) -> ({}) {{\n", function.name, typed(function, function.arguments),
                        fmt::join(results, ", "));
    addOps(text, program, function, function.ops, 2);
    text += "}\n";
  }
  return text;
}

}  // namespace smalti::cli
