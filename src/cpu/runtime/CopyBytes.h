// memcpy and memmove without a case in which glibc's are slow.
#pragma once

#include <cstddef>

namespace smalti::cpu {

/// On Zen 3, `rep movsb`, which glibc 2.36 uses between about 2 KiB and 1 MiB, is slow if the target lies 16 bytes
/// behind the source modulo 4096: 1.7 to 2.9 GB/s instead of 38 (64 KiB from L3, AMD EPYC, 2026-11-29). A loop has 19
/// GB/s then.
void* copyBytes(void* to, const void* from, size_t bytes);
/// The same if they may overlap.
void* moveBytes(void* to, const void* from, size_t bytes);

}  // namespace smalti::cpu
