// The devices behind a plugin.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pjrt/Plugin.h"

namespace smalti::pjrt {

struct Device {
  int64_t id = 0;          ///< in device assignments
  std::string kind;        ///< "TPU v5 lite"
  void* object = nullptr;  ///< of the client
  bool here = true;        ///< this process runs on it; others belong to processes on other hosts
};

/// It and what it compiled may be used from several threads.
class Client {
 public:
  /// SM6803: the plugin finds no devices, or does not start.
  static Result<Client> create(Plugin);

  std::string platform() const;  ///< "tpu"
  std::string platformVersion() const;
  /// The devices of all processes, in the plugin's order. At least one is local.
  const std::vector<Device>& devices() const { return *devices_; }
  const Device* find(const void* object) const;
  /// The devices of a program for `numDevices` devices: the first ones of this process; if it has fewer, the first ones
  /// of all processes, and every process with one of these runs the same program. Error SM6804: there are fewer
  /// devices, or none of them is local.
  Result<std::vector<const Device*>> choose(int64_t numDevices) const;
  const Plugin& plugin() const { return client_->plugin(); }
  void* get() const { return client_->get(); }

 private:
  using Devices = std::shared_ptr<const std::vector<Device>>;
  Client(std::shared_ptr<const Handle> client, Devices devices)
      : client_(std::move(client)), devices_(std::move(devices)) {}
  std::shared_ptr<const Handle> client_;
  Devices devices_;  ///< one list for all copies, which programs point into
};

}  // namespace smalti::pjrt
