#include "pjrt/Client.h"

#include <algorithm>

#include <fmt/format.h>

namespace smalti::pjrt {

using namespace abi;

namespace {

Result<std::vector<void*>> listOf(const Plugin& plugin, Entry entry, void* client) {
  ListArgs list;
  list.object = client;
  if (auto done = plugin.call(entry, list); !done) return fail(refusedBy(plugin, done.error(), "list its devices"));
  if (!list.items) return std::vector<void*>();
  return std::vector<void*>(list.items, list.items + list.count);
}

Result<Device> describe(const Plugin& plugin, void* object) {
  GetArgs description;
  description.object = object;
  if (auto done = plugin.call(kDeviceGetDescription, description); !done)
    return fail(refusedBy(plugin, done.error(), "describe a device"));
  if (!description.result) return fail(hasNoResult(plugin, "description of a device"));
  IntArgs id;
  id.object = description.result;
  if (auto done = plugin.call(kDeviceDescriptionId, id); !done)
    return fail(refusedBy(plugin, done.error(), "number a device"));
  return Device{
      .id = id.value, .kind = plugin.text(kDeviceDescriptionKind, description.result), .object = object, .here = true};
}

}  // namespace

Result<Client> Client::create(Plugin plugin) {
  ClientCreateArgs args;
  if (auto done = plugin.call(kClientCreate, args); !done) {
    Diagnostic d = refusedBy(plugin, done.error(), "find devices");
    if (d.help.empty()) d.help = "run it on a machine with a TPU; smalti compile needs none";
    return fail(std::move(d));
  }
  if (!args.client) return fail(hasNoResult(plugin, "client"));
  auto client = std::make_shared<const Handle>(plugin, args.client, kClientDestroy);
  const auto here = listOf(plugin, kClientAddressableDevices, args.client);
  if (!here) return fail(here.error());
  if (here->empty()) return fail(hasNoResult(plugin, "device"));
  auto all = listOf(plugin, kClientDevices, args.client);
  if (!all) return fail(all.error());
  if (all->empty()) all = here;
  std::vector<Device> devices;
  for (void* object : *all) {
    auto device = object ? describe(plugin, object) : fail(hasNoResult(plugin, "device"));
    if (!device) return fail(std::move(device.error()));
    device->here = std::ranges::find(*here, object) != here->end();
    devices.push_back(std::move(*device));
  }
  if (std::ranges::none_of(devices, &Device::here)) return fail(hasNoResult(plugin, "device of this process"));
  return Client(std::move(client), std::make_shared<const std::vector<Device>>(std::move(devices)));
}

std::string Client::platform() const { return plugin().text(kClientPlatformName, get()); }
std::string Client::platformVersion() const { return plugin().text(kClientPlatformVersion, get()); }

const Device* Client::find(const void* object) const {
  const auto found = std::ranges::find(devices(), object, &Device::object);
  return found == devices().end() ? nullptr : &*found;
}

Result<std::vector<const Device*>> Client::choose(int64_t numDevices) const {
  std::vector<const Device*> here, all;
  for (const Device& d : devices()) {
    all.push_back(&d);
    if (d.here) here.push_back(&d);
  }
  const auto wanted = static_cast<size_t>(numDevices);
  auto& chosen = wanted <= here.size() ? here : all;
  if (wanted > chosen.size())
    return fail({.code = "SM6804",
                 .message = "the program is for more devices than there are",
                 .place = {},
                 .need = fmt::format("{} devices", numDevices),
                 .have = fmt::format("{} ({})", all.size(), all.front()->kind),
                 .help = "run it where there are as many, or on the interpret target, which has any number"});
  const size_t everywhere = all.size();
  chosen.resize(wanted);
  if (std::ranges::none_of(chosen, &Device::here))
    return fail({.code = "SM6804",
                 .message = "the program runs on devices of other hosts",
                 .place = {},
                 .need = fmt::format("one of the first {} devices of all hosts in this process", numDevices),
                 .have = fmt::format("{} of {}, the first of id {}", here.size(), everywhere, here.front()->id),
                 .help = "run it on the hosts of the first devices only, or as a program for all devices"});
  return std::move(chosen);
}

}  // namespace smalti::pjrt
