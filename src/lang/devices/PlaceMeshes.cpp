#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "lang/devices/ShardMap.h"

namespace smalti::lang {
namespace {

class Placement {
 public:
  Placement(Program& program, Function& f) : program_(program), function_(f) {}

  void ops(std::vector<Op>& list) {
    for (Op& op : list) {
      for (Block& block : op.regions) ops(block.ops);
      if (op.name != "manual_computation" || !op.find("mesh_sizes")) continue;
      const std::string mesh = meshOf(op);
      shardings(op, mesh);
      isolate(op, mesh);
    }
  }

 private:
  Attribute& attribute(Op& op, std::string_view name) {
    return std::find_if(op.attributes.begin(), op.attributes.end(), [&](auto& a) { return a.first == name; })->second;
  }

  /// Shardings name their mesh, one per value, with an entry per dimension.
  void shardings(Op& op, const std::string& mesh) {
    auto& out = std::get<std::vector<Sharding>>(attribute(op, "out_shardings"));
    if (out.size() == 1) out.resize(op.results.size(), out[0]);
    const auto complete = [&](std::vector<Sharding>& list, const std::vector<ValueId>& values) {
      for (size_t i = 0; i < list.size(); ++i) {
        list[i].mesh = mesh;
        list[i].dims.resize(function_.values[values[i]].shape.size());
      }
    };
    complete(std::get<std::vector<Sharding>>(attribute(op, "in_shardings")), op.operands);
    complete(out, op.results);
  }

  /// The mesh that its attributes describe, which is the Program's from here on.
  std::string meshOf(Op& op) {
    const auto& names = std::get<std::vector<std::string>>(attribute(op, "manual_axes"));
    const auto& sizes = std::get<std::vector<int64_t>>(attribute(op, "mesh_sizes"));
    DeviceMesh mesh;
    for (size_t i = 0; i < names.size(); ++i) mesh.axes.push_back({names[i], sizes[i]});
    std::erase_if(op.attributes, [](const auto& a) { return a.first == "mesh_sizes"; });
    const auto same = [&](const DeviceMesh& other) {
      return std::ranges::equal(other.axes, mesh.axes,
                                [](auto& a, auto& b) { return a.name == b.name && a.size == b.size; });
    };
    const auto known = std::find_if(program_.meshes.begin(), program_.meshes.end(), same);
    if (known != program_.meshes.end()) return known->name;
    mesh.name = program_.meshes.empty() ? "mesh" : fmt::format("mesh_{}", program_.meshes.size() - 1);
    program_.meshes.push_back(mesh);
    return mesh.name;
  }

  /// Values from outside become operands, which every device has whole.
  void isolate(Op& op, const std::string& mesh) {
    Block& body = op.regions[0];
    std::vector<bool> inside(function_.values.size(), false);
    define(body, inside);
    std::map<ValueId, ValueId> renamed;
    rename(body.ops, inside, [&](ValueId outer) {
      const auto [known, isNew] = renamed.emplace(outer, static_cast<ValueId>(function_.values.size()));
      if (isNew) {
        const ArrayType type = function_.values[outer];
        function_.values.push_back(type);
        body.arguments.push_back(known->second);
        op.operands.push_back(outer);
        std::get<std::vector<Sharding>>(attribute(op, "in_shardings"))
            .push_back({mesh, std::vector<std::vector<std::string>>(type.shape.size())});
      }
      return known->second;
    });
  }

  static void define(const Block& block, std::vector<bool>& inside) {
    for (const ValueId v : block.arguments) inside[static_cast<size_t>(v)] = true;
    for (const Op& op : block.ops) {
      for (const ValueId v : op.results) inside[static_cast<size_t>(v)] = true;
      for (const Block& inner : op.regions) define(inner, inside);
    }
  }
  template <class Outside>
  static void rename(std::vector<Op>& list, const std::vector<bool>& inside, const Outside& outside) {
    for (Op& op : list) {
      for (ValueId& v : op.operands)
        if (static_cast<size_t>(v) >= inside.size() || !inside[static_cast<size_t>(v)]) v = outside(v);
      for (Block& inner : op.regions) rename(inner.ops, inside, outside);
    }
  }

  Program& program_;
  Function& function_;
};

}  // namespace

void placeMeshes(Program& program) {
  Function& main = program.functions[static_cast<size_t>(program.main)];
  Placement(program, main).ops(main.ops);
  int64_t devices = 1;
  for (const DeviceMesh& mesh : program.meshes) devices = std::max(devices, mesh.numDevices());
  if (!program.meshes.empty())
    program.moduleAttributes = fmt::format("{{mhlo.num_partitions = {} : i32, mhlo.num_replicas = 1 : i32}}", devices);
}

}  // namespace smalti::lang
