#include "lang/call/TraceProgram.h"

#include <map>

#include <fmt/format.h>

#include "lang/call/CalledKernel.h"
#include "lang/devices/ShardMap.h"
#include "lang/trace/SourceLocationScope.h"

namespace smalti::lang {
namespace {

/// Each kernel that the ops call, in the order of the calls; `numbers` has its place among them.
void numberKernels(std::vector<Op>& ops, const TracedFunction& traced, std::map<int, int>& numbers, Program& program) {
  for (Op& op : ops) {
    if (op.kernel >= 0) {
      const auto [known, isNew] = numbers.emplace(op.kernel, static_cast<int>(program.kernels.size()));
      if (isNew) program.kernels.push_back(traced.kernels[op.kernel]->package());
      op.kernel = known->second;
    }
    for (Block& block : op.regions) numberKernels(block.ops, traced, numbers, program);
  }
}

}  // namespace

TracedFunction traceFunction(const ArrayFunction& f, std::span<const ArrayType> arguments, std::string name) {
  Trace trace(fmt::format("function '{}'", name), Trace::Kind::program);
  std::vector<Array> inside;
  for (const ArrayType& type : arguments) inside.push_back(trace.addArgument(type));
  TracedFunction traced = trace.finish(f(inside));
  traced.function.name = std::move(name);
  return traced;
}

Program programOf(const TracedFunction& traced) {
  Program program;
  program.name = traced.function.name;
  Function main = traced.function;
  main.name = "main";
  std::map<int, int> numbers;
  numberKernels(main.ops, traced, numbers, program);
  program.functions.push_back(std::move(main));
  placeMeshes(program);
  if (Status ok = verify(program); !ok) refuse(std::move(ok.error()));
  return program;
}

Program traceProgram(const ArrayFunction& f, std::span<const ArrayType> arguments, std::string name) {
  return programOf(traceFunction(f, arguments, std::move(name)));
}

}  // namespace smalti::lang
