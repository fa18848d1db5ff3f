#include "pjrt/LoadedProgram.h"

#include <algorithm>

#include <fmt/format.h>

#include "pjrt/CompileOptions.h"
#include "pjrt/Event.h"
#include "pjrt/Refusals.h"
#include "pjrt/Transfer.h"

namespace smalti::pjrt {

using namespace abi;

namespace {

Result<size_t> countOutputs(const Handle& loaded) {
  const Plugin& plugin = loaded.plugin();
  GetArgs executable;
  executable.object = loaded.get();
  if (auto done = plugin.call(kLoadedExecutableGetExecutable, executable); !done)
    return fail(refusedBy(plugin, done.error(), "describe the program"));
  if (!executable.result) return fail(hasNoResult(plugin, "description of the program"));
  const Handle description(plugin, executable.result, kExecutableDestroy);
  CountArgs outputs;
  outputs.object = executable.result;
  if (auto done = plugin.call(kExecutableNumOutputs, outputs); !done)
    return fail(refusedBy(plugin, done.error(), "count the program's results"));
  return outputs.count;
}

/// The buffers of one device: operands, and room for results.
struct OnDevice {
  std::vector<Handle> owned;
  std::vector<void*> operands, results;
};

}  // namespace

Result<LoadedProgram> LoadedProgram::compile(const Client& client, const std::string& module) {
  constexpr std::string_view kFormat = "mlir";
  const Plugin& plugin = client.plugin();
  CompileOptions options = optionsOf(module);
  const auto assignment = client.choose(options.replicas * options.partitions);
  if (!assignment) return fail(assignment.error());
  std::vector<int64_t> ids;
  for (const Device* d : *assignment) ids.push_back(d->id);
  options.devices = ids;
  const std::string proto = options.proto();
  std::string code = module;
  Program program;
  program.code = code.data();
  program.codeSize = code.size();
  program.format = kFormat.data();
  program.formatSize = kFormat.size();
  ClientCompileArgs args;
  args.client = client.get();
  args.program = &program;
  args.options = proto.data();
  args.optionsSize = proto.size();
  if (auto done = plugin.call(kClientCompile, args); !done)
    return fail(isIncompatibleVersion(done.error())
                    ? refusedBy(plugin, done.error(), "take the program")
                    : classify(done.error(), assignment->front()->kind, module).diagnostic);
  if (!args.loaded) return fail(hasNoResult(plugin, "program"));
  LoadedProgram result(client, std::make_shared<const Handle>(plugin, args.loaded, kLoadedExecutableDestroy));
  const auto outputs = countOutputs(*result.loaded_);
  if (!outputs) return fail(outputs.error());
  result.numOutputs_ = *outputs;
  result.numDevices_ = static_cast<int64_t>(assignment->size());
  if (Status placed = result.readPlaces(*assignment); !placed) return fail(std::move(placed.error()));
  return result;
}

Status LoadedProgram::readPlaces(std::span<const Device* const> assignment) {
  const Plugin& plugin = client_.plugin();
  const auto add = [&](const Device* device) {
    const auto at = std::ranges::find(assignment, device);
    if (at != assignment.end()) here_.push_back({device, at - assignment.begin()});
    return at != assignment.end();
  };
  // Executions take lists in the plugin's order of devices.
  ListArgs list;
  list.object = loaded_->get();
  if (!plugin.has(kLoadedExecutableAddressableDevices)) {
    for (const Device* d : assignment)
      if (d->here) add(d);
  } else if (auto done = plugin.call(kLoadedExecutableAddressableDevices, list); !done) {
    return fail(refusedBy(plugin, done.error(), "say where the program is loaded"));
  }
  for (size_t i = 0; list.items && i < list.count; ++i)
    if (!add(client_.find(list.items[i])))
      return fail({.code = "SM6808",
                   .message = "the program is loaded on a different device than it was compiled for",
                   .place = {},
                   .need = fmt::format("{} devices, the first of id {}", assignment.size(), assignment[0]->id),
                   .have = fmt::format("device {} of the plugin's list", i)});
  if (here_.empty()) return fail(hasNoResult(plugin, "device of the program in this process"));
  return {};
}

Result<std::vector<DeviceArrays>> LoadedProgram::run(std::span<const DeviceArrays> operands,
                                                     std::span<const ArrayType> results,
                                                     const RunControl& control) const {
  const Plugin& plugin = client_.plugin();
  const size_t numHere = here_.size();
  if (operands.size() != numHere || results.size() != numOutputs_)
    return fail({.code = "SM6808",
                 .message = "the arguments differ from those that the program was compiled for",
                 .place = {},
                 .need = fmt::format("{} devices, {} results", numHere, numOutputs_),
                 .have = fmt::format("{} devices, {} results", operands.size(), results.size())});

  std::vector<OnDevice> devices(numHere);
  std::vector<void* const*> operandLists;
  std::vector<void**> resultLists;
  for (size_t d = 0; d < numHere; ++d) {
    OnDevice& on = devices[d];
    for (size_t i = 0; i < operands[d].size(); ++i) {
      auto buffer = toDevice(client_, *here_[d].device, operands[d][i], i, control.stop);
      if (!buffer) return fail(std::move(buffer.error()));
      on.operands.push_back(buffer->get());
      on.owned.push_back(std::move(*buffer));
    }
    on.results.resize(numOutputs_);
    operandLists.push_back(on.operands.data());
    resultLists.push_back(on.results.data());
  }
  std::vector<void*> events(numHere, nullptr);
  ExecuteOptions options;
  ExecuteArgs args;
  args.loaded = loaded_->get();
  args.options = &options;
  args.arguments = operandLists.data();
  args.numDevices = numHere;
  args.numArguments = operands[0].size();
  args.outputs = resultLists.data();
  args.events = events.data();
  const auto started = plugin.call(kLoadedExecutableExecute, args);
  // All returned objects are destroyed, even if a later step fails.
  for (OnDevice& on : devices)
    for (void* object : on.results)
      if (object) on.owned.emplace_back(plugin, object, kBufferDestroy);
  Status ended;
  for (size_t d = 0; d < numHere; ++d) {
    Status one =
        await(plugin, events[d], fmt::format("run the program on device {}", here_[d].device->id), control.stop);
    if (!one && ended) ended = std::move(one);
  }
  if (!started) return fail(refusedBy(plugin, started.error(), "run the program"));
  if (!ended) return fail(std::move(ended.error()));

  std::vector<DeviceArrays> arrays(std::min(numHere, control.numFetched));
  for (size_t d = 0; d < arrays.size(); ++d)
    for (size_t i = 0; i < numOutputs_; ++i) {
      if (!devices[d].results[i]) return fail(hasNoResult(plugin, "result"));
      auto array = toHost(client_, *here_[d].device, devices[d].results[i], results[i], i, control.stop);
      if (!array) return fail(std::move(array.error()));
      arrays[d].push_back(std::move(*array));
    }
  return arrays;
}

}  // namespace smalti::pjrt
