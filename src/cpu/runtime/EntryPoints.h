// The state of one thread of a call, and the functions of this process that generated code calls with it.
#pragma once

#include <span>

#include "cpu/emit/InterpreterFallback.h"
#include "cpu/jit/Jit.h"
#include "cpu/runtime/AsyncCopies.h"
#include "cpu/runtime/CallLimits.h"
#include "cpu/runtime/Devices.h"
#include "cpu/runtime/OutsideReads.h"
#include "cpu/runtime/Stamps.h"

namespace smalti::cpu {

/// The `context` of the kernel function: its limits come first, since generated code reads them.
struct KernelContext {
  CallLimits limits;
  FallbackContext* fallback = nullptr;
  DeviceMember member{};     ///< without a group: the only device
  Stamps* stamps = nullptr;  ///< time stamps of measured code; null otherwise
  int threads = 1;           ///< that may share work inside a step (emit/SharedLoop.h)
  OutsideReads outside{};
  AsyncCopies copies{};
};

/// All functions that generated code may call, by name.
std::span<const RuntimeSymbol> runtimeSymbols();

}  // namespace smalti::cpu
