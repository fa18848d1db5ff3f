// The kinds of atomic updates (tpu.atomic).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace smalti {

enum class AtomicKind : uint8_t {
  add,
  max,
  min,
  unsignedMax,
  unsignedMin,
  bitAnd,
  bitOr,
  bitXor,
  exchange,         ///< stores the value
  compareExchange,  ///< stores the value if the element is the expected one
};

/// The kind of this name; nullopt: there is none.
std::optional<AtomicKind> atomicKindNamed(std::string_view);
/// "add", "max", "min", "maxu", "minu", "and", "or", "xor", "xchg", "cas".
std::string_view name(AtomicKind);

}  // namespace smalti
