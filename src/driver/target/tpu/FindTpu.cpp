#include "driver/target/tpu/FindTpu.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <string_view>

namespace smalti::driver {
namespace {

namespace fs = std::filesystem;

/// Google's, in Linux's files of PCI devices.
constexpr std::string_view kGoogle = "0x1ae0";

bool isNumber(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

/// Is there a character device PREFIX0, PREFIX1, …? Linux has a folder dev/accel for accelerators of any kind.
bool hasDevice(const fs::path& folder, std::string_view prefix) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(prefix) && isNumber(std::string_view(name).substr(prefix.size())) &&
        entry.is_character_file(error))
      return true;
  }
  return false;
}

bool hasPciDeviceOfGoogle(const fs::path& root) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root / "sys/bus/pci/devices", error)) {
    std::ifstream file(entry.path() / "vendor");
    if (std::string vendor; file >> vendor && vendor == kGoogle) return true;
  }
  return false;
}

}  // namespace

bool hasTpu(const fs::path& root) {
  // GPUs and network cards can be passed through vfio, too.
  return hasDevice(root / "dev", "accel") || (hasDevice(root / "dev/vfio", "") && hasPciDeviceOfGoogle(root));
}

}  // namespace smalti::driver
