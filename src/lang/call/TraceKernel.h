// Makes a TracedKernel from a pallas_call and the types of its operands: checks the specs, traces body and index maps.
#pragma once

#include "lang/call/TracedKernel.h"
#include "smalti/pallas_call.h"

namespace smalti::lang {

/// `operands`: scalar prefetch, then inputs. Errors SM62xx, and those of the ops in the kernel.
TracedKernel traceKernel(const Kernel&, const Call&, const Location& at, std::span<const ArrayType> operands);

}  // namespace smalti::lang
