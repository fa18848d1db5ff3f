// Which instruction set the vectorised loops use: the best one this processor has.
#pragma once

#include <cstdint>

namespace smalti::eval {

/// In rising order; on other architectures than x86-64 there is only `baseline`.
enum class Isa : uint8_t { baseline, avx2, avx512 };

/// Whether this machine has it.
bool isaSupported(Isa);
/// The best one, unless a test has selected another.
Isa activeIsa();
/// For tests: use `isa`, which must be supported.
void setActiveIsa(Isa isa);

}  // namespace smalti::eval
