// Devices behind a plugin: arrays to them, programs on them, arrays back.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "pjrt/Plugin.h"
#include "smalti/array.h"

namespace smalti::pjrt {

struct Device {
  int64_t id = 0;          ///< in device assignments
  std::string kind;        ///< "TPU v5 lite"
  void* object = nullptr;  ///< of the client
};

/// PJRT's number of an element type. SM6809: it has none (semaphores, index).
Result<int> bufferType(DType);

/// The devices of this process. It and what it compiled may be used from several threads.
class Client {
 public:
  /// SM6803: the plugin finds no devices, or does not start.
  static Result<Client> create(Plugin);

  std::string platform() const;  ///< "tpu"
  std::string platformVersion() const;
  /// Those that this process can run on.
  const std::vector<Device>& devices() const { return devices_; }
  const Plugin& plugin() const { return client_->plugin(); }
  void* get() const { return client_->get(); }

 private:
  Client(std::shared_ptr<const Handle> client, std::vector<Device> devices)
      : client_(std::move(client)), devices_(std::move(devices)) {}
  std::shared_ptr<const Handle> client_;
  std::vector<Device> devices_;
};

/// Arrays of one device.
using DeviceArrays = std::vector<Array>;

/// A program that is compiled and loaded on the first devices of a client, one partition or replica on each.
class LoadedProgram {
 public:
  /// `module` is StableHLO; it says for how many devices it is. SM6804: the client has fewer; SM6806: the compiler
  /// refuses it; SM6803: anything else that the plugin refuses.
  static Result<LoadedProgram> compile(const Client&, const std::string& module);

  /// Runs it: `operands[device]` are main's arguments on that device, `results` the types of what comes back from each.
  /// Waits for the end. SM6803: the plugin refuses or fails; SM6808: wrong number of devices, or results of other
  /// types.
  Result<std::vector<DeviceArrays>> run(std::span<const DeviceArrays> operands,
                                        std::span<const ArrayType> results) const;

  int64_t numDevices() const { return numDevices_; }

 private:
  LoadedProgram(const Client& client, std::shared_ptr<const Handle> loaded, int64_t numDevices, size_t numOutputs)
      : client_(client), loaded_(std::move(loaded)), numDevices_(numDevices), numOutputs_(numOutputs) {}
  Client client_;
  std::shared_ptr<const Handle> loaded_;
  int64_t numDevices_;
  size_t numOutputs_;
};

}  // namespace smalti::pjrt
