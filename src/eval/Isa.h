// Which instruction set the vectorised loops use: the best one this processor has.
#pragma once

#include <cstdint>

namespace smalti::eval {

/// In rising order; on other architectures than x86-64 there is only `baseline`.
enum class Isa : uint8_t { baseline, avx2, avx512 };

/// The one in use.
Isa isa();
/// What the processor can run.
Isa bestIsa();
/// For tests: use no better one than `limit`.
void limitIsa(Isa limit);

}  // namespace smalti::eval
