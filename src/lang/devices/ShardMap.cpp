// shard_map: the function is traced with parts of the arrays, as the body of a "manual_computation".
#include "lang/devices/ShardMap.h"

#include <algorithm>
#include <mutex>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/Settings.h"
#include "base/Source.h"
#include "base/Text.h"
#include "lang/call/Backend.h"
#include "lang/call/Report.h"
#include "lang/call/TraceProgram.h"
#include "lang/call/Work.h"
#include "lang/debug/Debug.h"
#include "lang/devices/MeshAround.h"
#include "lang/devices/ShardMapRules.h"
#include "lang/ops/OpRecord.h"
#include "lang/trace/HasValue.h"
#include "lang/trace/SourceLocationScope.h"
#include "smalti/shard_map.h"
#include "tpu/Legality.h"

namespace smalti::lang {
namespace {

std::string shardMapTypes(const TypedOp&) { return ""; }  // `verify` compares them with the body's
std::vector<Array> runShardMap(const OpCall&);

constexpr OpTable kShardMapOps{OpRecord{.name = "manual_computation",
                                        .jaxName = "shard_map",
                                        .types = shardMapTypes,
                                        .run = runShardMap,
                                        .inPrograms = true,
                                        .control = &kShardMapRules}};
const OpFamily kShardMapFamily(kShardMapOps);

/// On concrete arrays, met under a transformation: a Program of this one op.
std::vector<Array> runShardMap(const OpCall& call) {
  std::vector<ArrayType> types;
  for (const Array& a : call.operands) types.push_back(a.type());
  auto program = std::make_shared<Program>(traceProgram(
      [&](std::span<const Array> inside) {
        return bindRegions(call.op, inside, *call.settled, call.regions, call.location(), call.attributes);
      },
      types, "shard_map"));
  const ActiveSettings& settings = activeSettings();
  if (!settings.values) refuse(settings.values.error());
  auto compiled = backend().prepare(std::move(program))->compile(*settings.values, Purpose::call);
  if (!compiled) refuse(std::move(compiled.error()));
  auto report = (*compiled)->execute({call.operands.begin(), call.operands.end()});
  if (!report) refuse(std::move(report.error()));
  return printAndTakeResults(std::move(*report));
}

}  // namespace
}  // namespace smalti::lang

namespace smalti {

using lang::SourceLocationScope;

struct LoweredShardMap::State {
  std::shared_ptr<const Program> program;
  std::shared_ptr<lang::Compilable> compilable;
};

namespace {

[[noreturn]] void refuseSpec(std::string message, std::string need, std::string have, std::string help) {
  lang::refuse({.code = "SM6231",
                .message = std::move(message),
                .place = {},
                .need = std::move(need),
                .have = std::move(have),
                .help = std::move(help)});
}

/// The axes that split each dimension of an array; those of a spec are axes of the mesh, each at most once.
Sharding shardingOf(const PartitionSpec& spec, std::string_view what, const Mesh& mesh) {
  Sharding sharding;
  std::vector<std::string> seen;
  for (const auto& entry : spec.entries()) {
    for (const std::string& axis : entry) {
      if (!lang::findAxis(mesh.axes(), axis))
        refuseSpec(fmt::format("{} names axis '{}', which the mesh has not", what, axis),
                   fmt::format("axes of {}", lang::meshText(mesh.axes())), spec.str(),
                   "name an axis of the mesh, or std::nullopt for a dimension that is not split");
      if (std::find(seen.begin(), seen.end(), axis) != seen.end())
        refuseSpec(fmt::format("{} uses axis '{}' twice", what, axis), "each axis once", spec.str(),
                   "an axis splits one dimension");
      seen.push_back(axis);
    }
    sharding.dims.push_back(entry.names());
  }
  return sharding;
}

int64_t partsOf(const std::vector<std::string>& axes, const Mesh& mesh) {
  int64_t parts = 1;
  for (const std::string& axis : axes) parts *= lang::findAxis(mesh.axes(), axis)->size;
  return parts;
}

void checkRank(const Sharding& sharding, const PartitionSpec& spec, const ArrayType& type, std::string_view what) {
  if (sharding.dims.size() <= type.shape.size()) return;
  refuseSpec(fmt::format("{} has more entries than the array has dimensions", what),
             fmt::format("at most {}, for {}", counted(type.shape.size(), "entry"), type.str()), spec.str(),
             "give an entry per dimension; those behind the last are whole");
}

/// A device's part of an argument.
ArrayType partOf(const ArrayType& whole, const Sharding& sharding, const PartitionSpec& spec, size_t argument,
                 const Mesh& mesh) {
  checkRank(sharding, spec, whole, fmt::format("the spec of argument {}", argument));
  ArrayType part = whole;
  for (size_t d = 0; d < sharding.dims.size(); ++d) {
    const int64_t parts = partsOf(sharding.dims[d], mesh);
    if (whole.shape[d] % parts != 0)
      refuseSpec(fmt::format("dimension {} of argument {} does not divide over the mesh", d, argument),
                 fmt::format("a multiple of {}, the devices along {}", parts, fmt::join(sharding.dims[d], " and ")),
                 fmt::format("{} of {}", whole.shape[d], whole.str()), "pad the array, or split another dimension");
    part.shape[d] /= parts;
  }
  return part;
}

/// The spec of each of n arrays.
std::vector<PartitionSpec> specsFor(const PartitionSpecs& specs, size_t n, std::string_view what,
                                    std::string_view arrays) {
  const auto& list = specs.list();
  if (list.size() == 1) return std::vector<PartitionSpec>(n, list[0]);
  if (list.size() != n)
    refuseSpec(fmt::format("`{}` and the {}s do not match", what, arrays),
               fmt::format("one spec for all, or {}", counted(n, "spec")), counted(list.size(), "spec"),
               fmt::format("give a PartitionSpec for each {}, in order", arrays));
  return list;
}

}  // namespace

struct ShardMap::State {
  State(DeviceFunction f, Mesh mesh, PartitionSpecs in, PartitionSpecs out, Location at)
      : f(std::move(f)), mesh(std::move(mesh)), inSpecs(std::move(in)), outSpecs(std::move(out)), at(at) {}

  DeviceFunction f;
  Mesh mesh;
  PartitionSpecs inSpecs, outSpecs;
  Location at;

  struct Signature {
    std::vector<ArrayType> operands;
    bool debugChecks = false, poison = false;
    std::shared_ptr<const LoweredShardMap::State> lowered;
  };
  std::mutex mutex;
  std::vector<Signature> signatures;

  /// Under the tracer in force.
  std::vector<Array> bound(std::span<const Array> arrays) const;
  std::shared_ptr<const LoweredShardMap::State> lowered(const std::vector<Array>& arrays);
  std::shared_ptr<const Executable::State> executable(const std::vector<Array>& arrays, lang::Purpose purpose);
  RunReport execute(const std::vector<Operand>& operands, lang::Purpose purpose);

 private:
  std::vector<Array> onDevice(std::span<const Array> parts) const;
  /// The whole arrays of what a device has computed.
  std::vector<ArrayType> wholes(const std::vector<Array>& parts) const;
  void checkAround() const;
};

void ShardMap::State::checkAround() const {
  SourceLocationScope place(at);
  const lang::Trace* trace = lang::Trace::current();
  const bool inKernel = trace && trace->kind() == lang::Trace::Kind::kernel;
  if (!inKernel && lang::meshAround().empty()) return;
  lang::refuse({.code = "SM6234",
                .message = inKernel ? "a shard_map is called inside a kernel" : "a shard_map is called inside another",
                .place = {},
                .need = "a call on whole arrays",
                .have = inKernel ? trace->what() : fmt::format("the devices of {}", lang::meshText(lang::meshAround())),
                .help = inKernel ? "call the kernel in the function of the shard_map"
                                 : "one mesh with more axes splits further: name them in the specs"});
}

std::vector<Array> ShardMap::State::onDevice(std::span<const Array> parts) const {
  const lang::MeshScope devices(mesh.axes());
  auto results = f({parts.begin(), parts.end()});
  SourceLocationScope place(at);
  if (!results)
    lang::refuse({.code = "SM6234",
                  .message = "the function of a shard_map takes the wrong number of arrays",
                  .place = {},
                  .need = fmt::format("a function of {}", counted(parts.size(), "array")),
                  .have = fmt::format("one of {}", fmt::join(f.arities(), " or ")),
                  .help = "it takes one array for each argument of the shard_map"});
  for (const Array& a : *results) lang::checkHasValue(a);
  return std::move(*results);
}

std::vector<ArrayType> ShardMap::State::wholes(const std::vector<Array>& parts) const {
  SourceLocationScope place(at);
  const auto specs = specsFor(outSpecs, parts.size(), "out_specs", "result");
  std::vector<ArrayType> types;
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string what = fmt::format("the spec of result {}", i);
    const Sharding sharding = shardingOf(specs[i], what, mesh);
    checkRank(sharding, specs[i], parts[i].type(), what);
    ArrayType whole = parts[i].type();
    for (size_t d = 0; d < sharding.dims.size(); ++d) whole.shape[d] *= partsOf(sharding.dims[d], mesh);
    types.push_back(std::move(whole));
  }
  return types;
}

std::vector<Array> ShardMap::State::bound(std::span<const Array> arrays) const {
  checkAround();
  std::vector<Sharding> in, out;
  lang::Region body;
  std::vector<std::string> names;
  std::vector<int64_t> sizes;
  {
    SourceLocationScope place(at);
    const auto specs = specsFor(inSpecs, arrays.size(), "in_specs", "argument");
    for (size_t i = 0; i < arrays.size(); ++i) {
      in.push_back(shardingOf(specs[i], fmt::format("the spec of argument {}", i), mesh));
      body.arguments.push_back(partOf(arrays[i].type(), in.back(), specs[i], i, mesh));
    }
    for (const PartitionSpec& spec : outSpecs.list()) out.push_back(shardingOf(spec, "a spec of the results", mesh));
    for (const MeshAxis& axis : mesh.axes()) names.push_back(axis.name), sizes.push_back(axis.size);
  }
  std::vector<ArrayType> results;  // known when the body ran
  body.body = [&](std::span<const Array> parts) {
    std::vector<Array> made = onDevice(parts);
    results = wholes(made);
    return made;
  };
  return lang::bindRegions(lang::kShardMapOps["manual_computation"], arrays, results, {&body, 1}, at,
                           {{"in_shardings", std::move(in)},
                            {"out_shardings", std::move(out)},
                            {"manual_axes", std::move(names)},
                            {"mesh_sizes", std::move(sizes)}});
}

std::shared_ptr<const LoweredShardMap::State> ShardMap::State::lowered(const std::vector<Array>& arrays) {
  const auto is = [](const Array& a, const ArrayType& type) { return a.type() == type; };
  for (const Signature& s : signatures)
    if (std::ranges::equal(arrays, s.operands, is) && s.debugChecks == lang::debugChecksEnabled() &&
        s.poison == lang::poisonBuffersEnabled())
      return s.lowered;
  std::vector<ArrayType> types;
  for (const Array& a : arrays) types.push_back(a.type());
  auto made = std::make_shared<LoweredShardMap::State>();
  made->program = std::make_shared<Program>(
      lang::traceProgram([this](std::span<const Array> x) { return bound(x); }, types, "shard_map"));
  made->compilable = lang::backend().prepare(made->program);
  signatures.push_back({types, lang::debugChecksEnabled(), lang::poisonBuffersEnabled(), made});
  return made;
}

std::shared_ptr<const Executable::State> ShardMap::State::executable(const std::vector<Array>& arrays,
                                                                     lang::Purpose purpose) {
  const lang::Work work;
  std::shared_ptr<const LoweredShardMap::State> program;
  {
    const std::lock_guard lock(mutex);
    program = lowered(arrays);
  }
  const ActiveSettings& settings = activeSettings();
  SourceLocationScope place(at);
  if (!settings.values) lang::refuse(settings.values.error());
  auto compiled = program->compilable->compile(*settings.values, purpose);
  if (!compiled) lang::refuse(std::move(compiled.error()));
  return std::move(*compiled);
}

namespace {

std::vector<Array> concrete(const std::vector<Operand>& operands) {
  std::vector<Array> arrays;
  for (const Operand& o : operands) {
    SourceLocationScope place(o.at());
    lang::checkConcrete(o.array());
    arrays.push_back(o.array());
  }
  return arrays;
}

}  // namespace

ShardMap::ShardMap(DeviceFunction f, Mesh mesh, PartitionSpecs in_specs, PartitionSpecs out_specs, Location at)
    : state_(std::make_shared<State>(std::move(f), std::move(mesh), std::move(in_specs), std::move(out_specs), at)) {}

Results ShardMap::run(const std::vector<Operand>& operands) const {
  if (!lang::Tracer::isEager()) {
    std::vector<Array> arrays;
    for (const Operand& o : operands) arrays.push_back(o.array());
    return Results(state_->bound(arrays), state_->at);
  }
  return Results(lang::printAndTakeResults(state_->execute(operands, lang::Purpose::call)), state_->at);
}

RunReport ShardMap::check_all(const std::vector<Operand>& operands) const {
  RunReport report = state_->execute(operands, lang::Purpose::check);
  for (Finding& f : report.findings) showSource(f.diagnostic);
  return report;
}

LoweredShardMap ShardMap::lower_all(const std::vector<Operand>& operands) const {
  const std::vector<Array> arrays = concrete(operands);
  const lang::LockedWork work(state_->mutex);
  return LoweredShardMap(state_->lowered(arrays));
}

Executable ShardMap::compile_all(const std::vector<Operand>& operands) const {
  return Executable(state_->executable(concrete(operands), lang::Purpose::call));
}

RunReport ShardMap::State::execute(const std::vector<Operand>& operands, lang::Purpose purpose) {
  std::vector<Array> arrays = concrete(operands);
  const auto ready = executable(arrays, purpose);
  auto report = ready->execute(std::move(arrays));
  SourceLocationScope place(at);
  if (!report) lang::refuse(std::move(report.error()));
  return std::move(*report);
}

Result<std::string> LoweredShardMap::stablehlo(int version) const {
  if (Status alive = checkAlive(); !alive) return fail(std::move(alive.error()));
  const auto alone = state_->compilable->alone();
  for (const KernelPackage& kernel : state_->program->kernels)
    if (Status ok = tpu::checkLegal(kernel, ""); !ok) {
      showSource(ok.error());
      for (Diagnostic& d : ok.error().related) showSource(d);
      return fail(std::move(ok.error()));
    }
  return lang::backend().exportStablehlo(*state_->program, version);
}

std::vector<size_t> DeviceFunction::arities() const {
  std::vector<size_t> counts;
  for (const auto& [n, call] : calls_) counts.push_back(n);
  return counts;
}

std::optional<std::vector<Array>> DeviceFunction::operator()(const std::vector<Array>& arrays) const {
  if (any_) return any_(arrays);
  for (const auto& [n, call] : calls_)
    if (n == arrays.size()) return call(arrays.data());
  return std::nullopt;
}

}  // namespace smalti
