// Kernels of mutated modules as native code.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ir/KernelPackage.h"
#include "machine/Machine.h"
#include "smalti/array.h"

namespace smalti::fuzz {

inline constexpr unsigned kNativeSeconds = 2;             ///< of a call
inline constexpr int64_t kNativeMemoryBytes = 4LL << 30;  ///< of the process that calls

struct NativeTally {
  int64_t compiled = 0, notNative = 0, refused = 0;  ///< kernels
  int64_t ran = 0, faults = 0, failed = 0, stopped = 0;
  int64_t missed = 0;        ///< the machine ended with an access out of bounds or the like, native code did not
  int64_t differs = 0;       ///< other integers than the machine's
  int64_t floatsDiffer = 0;  ///< floats that are far from the machine's
  int64_t wrong() const { return missed + differs + floatsDiffer; }
};
std::string describe(const NativeTally&);

/// Whose code is made, as cpu::processorNamed takes it.
extern std::string nativeProcessor;

/// Compiles the kernel and, on one device, calls it in a process of its own: pages that nobody may touch lie
/// around every buffer, time and memory are limited. `seed`: where in its pages a buffer lies. `machine`: what the
/// machine made of the same call. A signal other than the time limit's ends the program.
void runNative(const KernelPackage&, const std::vector<Array>& operands, const Result<machine::KernelResult>& machine,
               bool oneDevice, uint64_t seed, NativeTally&);

}  // namespace smalti::fuzz
