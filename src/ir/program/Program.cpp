#include "ir/program/Program.h"

#include <numeric>

namespace smalti {

int64_t DeviceMesh::numDevices() const {
  return std::accumulate(axes.begin(), axes.end(), int64_t{1}, [](int64_t n, const Axis& a) { return n * a.size; });
}

const Attribute* Op::find(std::string_view attribute) const {
  for (const auto& [key, value] : attributes)
    if (key == attribute) return &value;
  return nullptr;
}

const Function* Program::find(std::string_view function) const {
  for (const Function& f : functions)
    if (f.name == function) return &f;
  return nullptr;
}

const DeviceMesh* Program::findMesh(std::string_view mesh) const {
  for (const DeviceMesh& m : meshes)
    if (m.name == mesh) return &m;
  return nullptr;
}

Program wrap(KernelPackage kernel) {
  Program program;
  program.name = kernel.name;
  Function main;
  main.name = "main";
  Op call{.name = "kernel_call", .kernel = 0};
  for (const ArrayType& t : kernel.operands) {
    call.operands.push_back(static_cast<ValueId>(main.values.size()));
    main.values.push_back(t);
  }
  main.arguments = call.operands;
  for (const ArrayType& t : kernel.results) {
    call.results.push_back(static_cast<ValueId>(main.values.size()));
    main.values.push_back(t);
  }
  main.resultTypes = kernel.results;
  Op ret{.name = "return", .operands = call.results};
  main.ops = {std::move(call), std::move(ret)};
  program.functions.push_back(std::move(main));
  program.kernels.push_back(std::move(kernel));
  return program;
}

}  // namespace smalti
