// Whether a machine has a TPU, without asking it.
#pragma once

#include <filesystem>

namespace smalti::driver {

/// TPU VMs have a device file for each chip: dev/accel0 (with Google's driver), or dev/vfio/0 for a PCI device of
/// Google's. `root` is "/" but in tests.
bool hasTpu(const std::filesystem::path& root);

}  // namespace smalti::driver
