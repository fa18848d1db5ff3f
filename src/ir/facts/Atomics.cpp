#include "ir/facts/Atomics.h"

#include <algorithm>
#include <array>

namespace smalti {
namespace {

constexpr std::array<std::string_view, 10> kAtomicNames{"add", "max", "min", "maxu", "minu",
                                                        "and", "or",  "xor", "xchg", "cas"};

}  // namespace

std::optional<AtomicKind> atomicKindNamed(std::string_view text) {
  const auto* found = std::ranges::find(kAtomicNames, text);
  if (found == kAtomicNames.end()) return std::nullopt;
  return static_cast<AtomicKind>(found - kAtomicNames.begin());
}

std::string_view name(AtomicKind kind) { return kAtomicNames[static_cast<size_t>(kind)]; }

}  // namespace smalti
