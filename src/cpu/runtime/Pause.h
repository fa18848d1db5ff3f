// What a thread executes while it spins.
#pragma once

namespace smalti::cpu {

inline void pauseBriefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace smalti::cpu
