// Programs on devices: compiled, loaded, run.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "pjrt/Client.h"
#include "smalti/array.h"

namespace smalti::pjrt {

/// Arrays of one device.
using DeviceArrays = std::vector<Array>;

struct RunControl {
  size_t numFetched = std::numeric_limits<size_t>::max();  ///< devices of this process whose results are returned
  const std::atomic<bool>* stop = nullptr;                 ///< true gives up waiting: SM9006
};

/// A program that is loaded on its devices, one partition or replica on each. It may run in several
/// threads at once.
class LoadedProgram {
 public:
  /// `module` is StableHLO, which contains the number of devices (Client::choose selects them). SM6804: there are
  /// fewer, or they belong to other hosts; SM6806: the compiler refuses it; SM6803: anything else that the plugin
  /// refuses.
  static Result<LoadedProgram> compile(const Client&, const std::string& module);

  /// A device of this process, and which of the program's devices it is: replicas outermost, then partitions.
  struct Place {
    const Device* device = nullptr;
    int64_t position = 0;
  };
  const std::vector<Place>& here() const { return here_; }
  int64_t numDevices() const { return numDevices_; }

  /// Runs it: `operands[i]` are main's arguments on the device here()[i], `results` the types of what comes back from
  /// each. Waits for the end. SM6803: the plugin refuses or fails; SM6808: wrong number of devices, or results of other
  /// types.
  Result<std::vector<DeviceArrays>> run(std::span<const DeviceArrays> operands, std::span<const ArrayType> results,
                                        const RunControl& = {}) const;

 private:
  LoadedProgram(Client client, std::shared_ptr<const Handle> loaded) : client_(std::move(client)), loaded_(loaded) {}
  Status readPlaces(std::span<const Device* const> assignment);

  Client client_;
  std::shared_ptr<const Handle> loaded_;
  std::vector<Place> here_;
  int64_t numDevices_ = 1;
  size_t numOutputs_ = 0;
};

}  // namespace smalti::pjrt
