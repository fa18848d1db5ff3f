#include "pjrt/Client.h"

#include <array>
#include <optional>

#include <fmt/format.h>

#include "pjrt/CompileOptions.h"
#include "pjrt/Refusals.h"

namespace smalti::pjrt {

using namespace abi;

namespace {

/// Of the enumeration PJRT_Buffer_Type; 0: none.
int typeNumber(DType dtype) {
  switch (dtype) {
    case DType::pred:
      return 1;
    case DType::i8:
      return 2;
    case DType::i16:
      return 3;
    case DType::i32:
      return 4;
    case DType::i64:
      return 5;
    case DType::u8:
      return 6;
    case DType::u16:
      return 7;
    case DType::u32:
      return 8;
    case DType::u64:
      return 9;
    case DType::f16:
      return 10;
    case DType::f32:
      return 11;
    case DType::f64:
      return 12;
    case DType::bf16:
      return 13;
    case DType::f8e5m2:
      return 16;
    case DType::f8e4m3fn:
      return 17;
    case DType::f8e4m3b11fnuz:
      return 18;
    case DType::i4:
      return 21;
    case DType::u4:
      return 22;
    case DType::i2:
      return 24;
    case DType::u2:
      return 25;
    case DType::f4e2m1fn:
      return 29;
    case DType::index:
    case DType::semaphore:
    case DType::dma_semaphore:
      return 0;
  }
  return 0;
}

/// Waits for an event and destroys it; null is an event that has happened.
Status await(const Plugin& plugin, void* event, std::string_view what) {
  if (!event) return {};
  const Handle owned(plugin, event, kEventDestroy);
  ObjectArgs args;
  args.object = event;
  if (auto done = plugin.call(kEventAwait, args); !done) return fail(refusedBy(plugin, done.error(), what));
  return {};
}

std::string describe(const Device& device, std::string_view array, size_t number) {
  return fmt::format("{} {} of device {} ({})", array, number, device.id, device.kind);
}

Result<Handle> toDevice(const Client& client, const Device& device, const Array& array, size_t number) {
  const Plugin& plugin = client.plugin();
  const auto type = bufferType(array.dtype());
  if (!type) return fail(type.error());
  const std::string what = "take " + describe(device, "operand", number);
  BufferFromHostArgs args;
  args.client = client.get();
  args.data = array.data();
  args.type = *type;
  args.dims = array.shape().data();
  args.numDims = array.shape().size();
  args.device = device.object;
  if (auto done = plugin.call(kClientBufferFromHostBuffer, args); !done)
    return fail(refusedBy(plugin, done.error(), what));
  if (!args.buffer) return fail(gaveNothing(plugin, "buffer"));
  Handle buffer(plugin, args.buffer, kBufferDestroy);
  if (Status done = await(plugin, args.doneWithHostBuffer, what); !done) return fail(std::move(done.error()));
  return buffer;
}

/// SM6808 unless a buffer is of this type, as far as the plugin says what it is of.
Status checkType(const Plugin& plugin, void* buffer, const ArrayType& type, const std::string& which) {
  IntArgs element;
  element.object = buffer;
  DimensionsArgs dims;
  dims.object = buffer;
  if (!plugin.call(kBufferElementType, element) || !plugin.call(kBufferDimensions, dims)) return {};
  const Shape shape(dims.dims, dims.dims + dims.count);
  if (element.value == typeNumber(type.dtype) && shape == type.shape) return {};
  return fail({.code = "SM6808",
               .message = fmt::format("{} is not what the program returns", which),
               .place = {},
               .need = type.str(),
               .have = fmt::format("an array {} of PJRT's element type {}", shape_str(shape), element.value)});
}

Result<Array> toHost(const Client& client, const Device& device, void* buffer, const ArrayType& type, size_t number) {
  const Plugin& plugin = client.plugin();
  const std::string which = describe(device, "result", number);
  if (Status same = checkType(plugin, buffer, type, which); !same) return fail(std::move(same.error()));
  // Without a layout the bytes come in the device's.
  std::vector<int64_t> minorToMajor(type.shape.size());
  for (size_t i = 0; i < minorToMajor.size(); ++i) minorToMajor[i] = static_cast<int64_t>(minorToMajor.size() - 1 - i);
  MemoryLayout layout;
  layout.tiled.minorToMajor = minorToMajor.data();
  layout.tiled.minorToMajorSize = minorToMajor.size();
  ToHostArgs args;
  args.source = buffer;
  args.layout = &layout;
  const std::string what = "give " + which;
  if (auto done = plugin.call(kBufferToHostBuffer, args); !done) return fail(refusedBy(plugin, done.error(), what));
  auto array = Array::allocate(type);
  if (!array) return array;
  if (args.size != static_cast<size_t>(array->bytes()))
    return fail({.code = "SM6808",
                 .message = fmt::format("{} is not what the program returns", which),
                 .place = {},
                 .need = fmt::format("{} bytes ({})", array->bytes(), type.str()),
                 .have = fmt::format("{} bytes", args.size)});
  args.destination = array->data();
  args.event = nullptr;
  if (auto done = plugin.call(kBufferToHostBuffer, args); !done) return fail(refusedBy(plugin, done.error(), what));
  if (Status done = await(plugin, args.event, what); !done) return fail(std::move(done.error()));
  return array;
}

}  // namespace

Result<int> bufferType(DType dtype) {
  if (const int number = typeNumber(dtype)) return number;
  return fail({.code = "SM6809",
               .message = fmt::format("arrays of {} cannot be on a device", name(dtype)),
               .place = {},
               .help = "semaphores and indices are inside kernels only"});
}

Result<Client> Client::create(Plugin plugin) {
  ClientCreateArgs args;
  if (auto done = plugin.call(kClientCreate, args); !done) {
    Diagnostic d = refusedBy(plugin, done.error(), "find devices");
    d.help = "run it on a machine with a TPU; smalti compile needs none";
    return fail(std::move(d));
  }
  if (!args.client) return fail(gaveNothing(plugin, "client"));
  auto client = std::make_shared<const Handle>(plugin, args.client, kClientDestroy);
  ListArgs list;
  list.object = args.client;
  if (auto done = plugin.call(kClientAddressableDevices, list); !done)
    return fail(refusedBy(plugin, done.error(), "list its devices"));
  std::vector<Device> devices;
  for (size_t i = 0; list.items && i < list.count; ++i) {
    GetArgs description;
    description.object = list.items[i];
    if (auto done = plugin.call(kDeviceGetDescription, description); !done)
      return fail(refusedBy(plugin, done.error(), "describe a device"));
    IntArgs id;
    id.object = description.result;
    if (auto done = plugin.call(kDeviceDescriptionId, id); !done)
      return fail(refusedBy(plugin, done.error(), "number a device"));
    devices.push_back({id.value, plugin.text(kDeviceDescriptionKind, description.result), list.items[i]});
  }
  if (devices.empty()) return fail(gaveNothing(plugin, "device"));
  return Client(std::move(client), std::move(devices));
}

std::string Client::platform() const { return plugin().text(kClientPlatformName, get()); }
std::string Client::platformVersion() const { return plugin().text(kClientPlatformVersion, get()); }

Result<LoadedProgram> LoadedProgram::compile(const Client& client, const std::string& module) {
  constexpr std::string_view kFormat = "mlir";
  const Plugin& plugin = client.plugin();
  CompileOptions options = optionsOf(module);
  const int64_t numDevices = options.replicas * options.partitions;
  if (numDevices > static_cast<int64_t>(client.devices().size()))
    return fail({.code = "SM6804",
                 .message = "the program is for more devices than there are",
                 .place = {},
                 .need = fmt::format("{} devices", numDevices),
                 .have = fmt::format("{} ({})", client.devices().size(), client.devices().front().kind),
                 .help = "run it where there are as many, or on the interpret target, which has any number"});
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < numDevices; ++i) ids.push_back(client.devices()[static_cast<size_t>(i)].id);
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
    return fail(classify(done.error(), client.devices().front().kind).diagnostic);
  if (!args.loaded) return fail(gaveNothing(plugin, "program"));
  auto loaded = std::make_shared<const Handle>(plugin, args.loaded, kLoadedExecutableDestroy);

  GetArgs executable;
  executable.object = args.loaded;
  if (auto done = plugin.call(kLoadedExecutableGetExecutable, executable); !done)
    return fail(refusedBy(plugin, done.error(), "describe the program"));
  const Handle description(plugin, executable.result, kExecutableDestroy);
  CountArgs outputs;
  outputs.object = executable.result;
  if (auto done = plugin.call(kExecutableNumOutputs, outputs); !done)
    return fail(refusedBy(plugin, done.error(), "count the program's results"));
  return LoadedProgram(client, std::move(loaded), numDevices, outputs.count);
}

Result<std::vector<DeviceArrays>> LoadedProgram::run(std::span<const DeviceArrays> operands,
                                                     std::span<const ArrayType> results) const {
  const Plugin& plugin = client_.plugin();
  const auto numDevices = static_cast<size_t>(numDevices_);
  if (operands.size() != numDevices || results.size() != numOutputs_)
    return fail({.code = "SM6808",
                 .message = "the program is called otherwise than it was compiled",
                 .place = {},
                 .need = fmt::format("{} devices, {} results", numDevices_, numOutputs_),
                 .have = fmt::format("{} devices, {} results", operands.size(), results.size())});

  // The n-th device of the list is the n-th of the device assignment, replicas outermost.
  std::vector<std::vector<Handle>> inputs(numDevices);
  std::vector<std::vector<void*>> inputObjects(numDevices), outputObjects(numDevices);
  std::vector<void* const*> inputLists;
  std::vector<void**> outputLists;
  for (size_t d = 0; d < numDevices; ++d) {
    for (size_t i = 0; i < operands[d].size(); ++i) {
      auto buffer = toDevice(client_, client_.devices()[d], operands[d][i], i);
      if (!buffer) return fail(std::move(buffer.error()));
      inputObjects[d].push_back(buffer->get());
      inputs[d].push_back(std::move(*buffer));
    }
    outputObjects[d].resize(numOutputs_);
    inputLists.push_back(inputObjects[d].data());
    outputLists.push_back(outputObjects[d].data());
  }
  std::vector<void*> events(numDevices, nullptr);
  ExecuteOptions options;
  ExecuteArgs args;
  args.loaded = loaded_->get();
  args.options = &options;
  args.arguments = inputLists.data();
  args.numDevices = numDevices;
  args.numArguments = operands.empty() ? 0 : operands[0].size();
  args.outputs = outputLists.data();
  args.events = events.data();
  const auto started = plugin.call(kLoadedExecutableExecute, args);
  std::vector<Handle> outputs;  // destroyed even when something fails below
  for (const auto& list : outputObjects)
    for (void* object : list)
      if (object) outputs.emplace_back(plugin, object, kBufferDestroy);
  Status ended;
  for (size_t d = 0; d < numDevices; ++d) {
    Status one = await(plugin, events[d], fmt::format("run the program on device {}", client_.devices()[d].id));
    if (!one && ended) ended = std::move(one);
  }
  if (!started) return fail(refusedBy(plugin, started.error(), "run the program"));
  if (!ended) return fail(std::move(ended.error()));

  std::vector<DeviceArrays> arrays(numDevices);
  for (size_t d = 0; d < numDevices; ++d)
    for (size_t i = 0; i < numOutputs_; ++i) {
      if (!outputObjects[d][i]) return fail(gaveNothing(plugin, "result"));
      auto array = toHost(client_, client_.devices()[d], outputObjects[d][i], results[i], i);
      if (!array) return fail(std::move(array.error()));
      arrays[d].push_back(std::move(*array));
    }
  return arrays;
}

}  // namespace smalti::pjrt
