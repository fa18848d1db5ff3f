// The floating-point mode of a thread.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace smalti {

/// IEEE arithmetic (to nearest even, with denormals, without traps) on this thread until the end of the scope. Hosts
/// have other modes: XLA's threads flush denormals to zero, so do programs linked with -ffast-math; and a new thread
/// begins with the mode of the one that makes it.
class FloatModeScope {
 public:
  FloatModeScope() : before_(get()) {
    if ((before_ & ~kRaised) != kIeee) set(kIeee);
  }
  ~FloatModeScope() {
    if ((before_ & ~kRaised) != kIeee) set(before_);
  }
  FloatModeScope(const FloatModeScope&) = delete;
  FloatModeScope& operator=(const FloatModeScope&) = delete;

 private:
#if defined(__x86_64__)
  using Mode = uint32_t;                                 // MXCSR
  static constexpr Mode kIeee = 0x1f80, kRaised = 0x3f;  // all exceptions masked; those that were raised
  static Mode get() { return _mm_getcsr(); }
  static void set(Mode mode) { _mm_setcsr(mode); }
#elif defined(__aarch64__)
  using Mode = uint64_t;  // FPCR; exceptions that were raised are in another register
  static constexpr Mode kIeee = 0, kRaised = 0;
  static Mode get() {
    Mode mode;
    asm volatile("mrs %0, fpcr" : "=r"(mode));
    return mode;
  }
  static void set(Mode mode) { asm volatile("msr fpcr, %0" ::"r"(mode)); }
#endif

  const Mode before_;
};

}  // namespace smalti
