// Limits measured with Google's TPU compiler (libtpu 0.0.50.1).
#include <array>

#include "ir/Legality.h"

namespace smalti {

namespace {
constexpr int64_t kMiB = 1 << 20, kKiB = 1 << 10;
constexpr std::array kChips{
    Chip{"v4", 16 * kMiB, 16 * kMiB, false},
    Chip{"v5e", 16 * kMiB, 128 * kMiB, true},
    Chip{"v5p", 16 * kMiB, 64 * kMiB - 64 * kKiB, true},
    Chip{"v6e", 32 * kMiB, 128 * kMiB - 64 * kKiB, true},
    Chip{"v7x", 32 * kMiB, 64 * kMiB - 64 * kKiB, true},
};
}  // namespace

std::span<const Chip> chips() { return kChips; }

const Chip* findChip(std::string_view name) {
  for (const Chip& c : kChips)
    if (c.name == name) return &c;
  return nullptr;
}

}  // namespace smalti
