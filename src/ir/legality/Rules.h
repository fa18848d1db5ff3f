// The parts of illegalOn: each adds what it finds.
#pragma once

#include <string>
#include <vector>

#include "ir/Legality.h"

namespace smalti::legality {

/// What Pallas itself refuses to lower, on any chip; `where` names the chip in the messages.
void checkBlocks(const KernelPackage&, const std::string& where, std::vector<Diagnostic>&);
void checkCopies(const KernelPackage&, const std::string& where, std::vector<Diagnostic>&);
/// What the chip's compiler refuses.
void checkVmem(const KernelPackage&, const Chip&, std::vector<Diagnostic>&);
void checkOps(const KernelPackage&, const Chip&, std::vector<Diagnostic>&);

}  // namespace smalti::legality
