#include "driver/target/tpu/DeviceProgram.h"

#include <map>

#include "driver/program/Part.h"
#include "interop/Interop.h"
#include "pjrt/CompileOptions.h"

namespace smalti::driver {
namespace {

Program copyOf(const Program& program) {
  Program copy{.name = program.name,
               .moduleAttributes = program.moduleAttributes,
               .meshes = program.meshes,
               .functions = program.functions,
               .main = program.main,
               .kernels = {}};
  for (const KernelPackage& kernel : program.kernels) copy.kernels.push_back(kernel.copy());
  return copy;
}

bool divides(const Sharding& sharding, const DeviceMesh& mesh, const Shape& shape) {
  if (sharding.dims.size() != shape.size()) return false;
  for (size_t d = 0; d < shape.size(); ++d) {
    const int64_t parts = numParts(mesh, sharding.dims[d]);
    if (parts < 1 || shape[d] % parts != 0) return false;
  }
  return true;
}

Sharding wholeOn(const DeviceMesh& mesh, const ArrayType& type) {
  return {.mesh = mesh.name, .dims = std::vector<std::vector<std::string>>(type.shape.size())};
}

}  // namespace

Result<DeviceProgram> deviceProgram(const Program& program) {
  Program text = copyOf(program);
  Function& main = text.functions[static_cast<size_t>(text.main)];
  DeviceProgram result;
  result.results = main.resultTypes;
  const pjrt::CompileOptions options = pjrt::optionsOf(text.moduleAttributes);
  const int64_t numDevices = options.replicas * options.partitions;
  for (const DeviceMesh& mesh : text.meshes)
    if (result.mesh.axes.empty() && mesh.numDevices() == numDevices) result.mesh = mesh;
  // Without a mesh, an argument without a sharding is replicated. The removed attributes are for the program's caller:
  // names, and memory that it may take over.
  const bool split = numDevices > 1 && !result.mesh.axes.empty();
  const auto attributes = [&](const Sharding& sharding) { return split ? interop::attributesWith(sharding) : ""; };
  std::vector<std::string> ofArguments;
  for (size_t i = 0; i < main.arguments.size(); ++i) {
    const ArrayType& type = main.values[static_cast<size_t>(main.arguments[i])];
    auto sharding =
        i < main.argumentAttributes.size() && split ? interop::shardingIn(main.argumentAttributes[i]) : std::nullopt;
    if (sharding && (sharding->mesh != result.mesh.name || !divides(*sharding, result.mesh, type.shape)))
      sharding.reset();
    ofArguments.push_back(attributes(sharding.value_or(wholeOn(result.mesh, type))));
    result.parts.push_back(std::move(sharding));
  }
  main.argumentAttributes = std::move(ofArguments);
  main.resultAttributes.clear();
  for (const ArrayType& type : main.resultTypes)
    main.resultAttributes.push_back(attributes(wholeOn(result.mesh, type)));
  auto stableHlo = interop::exportStableHlo(text);
  if (!stableHlo) return fail(std::move(stableHlo.error()));
  result.stableHlo = std::move(*stableHlo);
  return result;
}

Result<std::vector<Array>> DeviceProgram::partsFor(int64_t position, std::span<const Array> arguments) const {
  std::map<std::string, int64_t> at;
  for (auto axis = mesh.axes.rbegin(); axis != mesh.axes.rend(); ++axis) {
    at[axis->name] = position % axis->size;
    position /= axis->size;
  }
  std::vector<Array> own;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!parts[i]) {
      own.push_back(arguments[i]);
      continue;
    }
    auto part = partOf(arguments[i], partAt(arguments[i].shape(), *parts[i], mesh, at));
    if (!part) return fail(std::move(part.error()));
    own.push_back(std::move(*part));
  }
  return own;
}

}  // namespace smalti::driver
