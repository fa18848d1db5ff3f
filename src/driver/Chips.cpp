#include "smalti/chips.h"

#include "tpu/chip/Chip.h"

namespace smalti {

Result<std::vector<ChipDescription>> chips() {
  std::vector<ChipDescription> all;
  for (const std::string_view name : tpu::chipNames()) {
    auto chip = tpu::findChip(name);
    if (!chip) return fail(std::move(chip.error()));
    all.push_back({.name = std::move(chip->name),
                   .title = std::move(chip->title),
                   .device_kind = std::move(chip->names.deviceKind),
                   .cores_per_device = static_cast<int>(chip->device.coresPerDevice)});
  }
  return all;
}

}  // namespace smalti
