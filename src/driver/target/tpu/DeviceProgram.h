// A Program as devices get it: its text, and which part of each argument goes where.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/program/Program.h"

namespace smalti::driver {

struct DeviceProgram {
  std::string stableHlo;
  DeviceMesh mesh;                             ///< of all devices; no axes: they all get whole arrays
  std::vector<std::optional<Sharding>> parts;  ///< by argument of main; nullopt: every device gets all of it
  std::vector<ArrayType> results;              ///< every device has all of them

  /// The arguments of the device at a position of the mesh.
  Result<std::vector<Array>> partsFor(int64_t position, std::span<const Array> arguments) const;
};

/// Arguments are split as main's attributes say, where they say it; results are gathered on every device.
Result<DeviceProgram> deviceProgram(const Program&);

}  // namespace smalti::driver
