#include "pjrt/Transfer.h"

#include <memory>

#include <fmt/format.h>

#include "pjrt/ElementTypes.h"
#include "pjrt/Event.h"

namespace smalti::pjrt {

using namespace abi;

namespace {

std::string nameOf(const Device& device, std::string_view array, size_t number) {
  return fmt::format("{} {} of device {} ({})", array, number, device.id, device.kind);
}

/// Error SM6808: the buffer has another type, as far as the plugin reports it.
Status checkType(const Plugin& plugin, void* buffer, const ArrayType& type, const std::string& which) {
  IntArgs element;
  element.object = buffer;
  DimensionsArgs dims;
  dims.object = buffer;
  if (!plugin.call(kBufferElementType, element) || !plugin.call(kBufferDimensions, dims)) return {};
  const Shape shape(dims.dims, dims.dims + (dims.dims ? dims.count : 0));
  if (element.value == bufferType(type.dtype).value_or(0) && shape == type.shape) return {};
  return fail({.code = "SM6808",
               .message = fmt::format("{} is not what the program returns", which),
               .place = {},
               .need = type.str(),
               .have = fmt::format("an array {} of PJRT's element type {}", shape_str(shape), element.value)});
}

}  // namespace

Result<Handle> toDevice(const Client& client, const Device& device, const Array& array, size_t number,
                        const std::atomic<bool>* stop) {
  const Plugin& plugin = client.plugin();
  const auto type = bufferType(array.dtype());
  if (!type) return fail(type.error());
  const std::string what = "take " + nameOf(device, "operand", number);
  BufferFromHostArgs args;
  args.client = client.get();
  static constexpr std::byte kNone{};  // an array without elements may have no memory
  args.data = array.bytes() > 0 ? array.data() : &kNone;
  args.type = *type;
  args.dims = array.shape().data();
  args.numDims = array.shape().size();
  args.device = device.object;
  if (auto done = plugin.call(kClientBufferFromHostBuffer, args); !done)
    return fail(refusedBy(plugin, done.error(), what));
  Handle buffer(plugin, args.buffer, kBufferDestroy);
  // Before all else: it is destroyed even where there is no buffer.
  if (Status done = await(plugin, args.doneWithHostBuffer, what, stop); !done) return fail(std::move(done.error()));
  if (!args.buffer) return fail(hasNoResult(plugin, "buffer"));
  return buffer;
}

Result<Array> toHost(const Client& client, const Device& device, void* buffer, const ArrayType& type, size_t number,
                     const std::atomic<bool>* stop) {
  const Plugin& plugin = client.plugin();
  const std::string which = nameOf(device, "result", number);
  if (Status same = checkType(plugin, buffer, type, which); !same) return fail(std::move(same.error()));
  // Without a layout the bytes have the device's.
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
  if (args.size == 0) return array;
  args.destination = array->data();
  args.event = nullptr;
  if (auto done = plugin.call(kBufferToHostBuffer, args); !done) return fail(refusedBy(plugin, done.error(), what));
  if (Status done = await(plugin, args.event, what, stop, std::make_shared<Array>(*array)); !done)
    return fail(std::move(done.error()));
  return array;
}

}  // namespace smalti::pjrt
