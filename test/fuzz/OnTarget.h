// Kernels of mutated modules on another target than the machine.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "driver/target/Target.h"
#include "ir/KernelPackage.h"
#include "machine/Machine.h"
#include "smalti/array.h"

namespace smalti::fuzz {

inline constexpr unsigned kNativeSeconds = 2;             ///< of a call
inline constexpr int64_t kNativeMemoryBytes = 4LL << 30;  ///< of the process that calls

struct TargetTally {
  int64_t compiled = 0, notNative = 0, refused = 0;  ///< kernels
  int64_t ran = 0, failed = 0, stopped = 0;
  int64_t missed = 0;        ///< the machine ended with an access out of bounds or the like, native code did not
  int64_t differs = 0;       ///< other integers than the machine's
  int64_t floatsDiffer = 0;  ///< floats that are far from the machine's
  int64_t wrong() const { return missed + differs + floatsDiffer; }
};
std::string describe(const TargetTally&);

/// Compiles kernels whose results are compared with those of the machine; empty: none.
extern driver::KernelCompiler targetCompiler;
extern std::string targetName;
/// Sets them, or ends the program with a message. `processor`: whose code target cpu makes, as cpu::processorNamed
/// takes it; empty: this one's.
void chooseTarget(const std::string& target, const std::string& processor);

/// Compiles the kernel and, on one device, calls it in a process of its own: pages that nobody may touch lie
/// around every buffer, time and memory are limited. `seed`: where in its pages a buffer lies. `machine`: what the
/// machine made of the same call. A signal other than the time limit's ends the program.
void runOnTarget(const KernelPackage&, const std::vector<Array>& operands, const Result<machine::KernelResult>& machine,
                 bool oneDevice, uint64_t seed, const driver::ExecuteSettings&, TargetTally&);

}  // namespace smalti::fuzz
