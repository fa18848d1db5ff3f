// The rules of each file of this folder.
#pragma once

#include "tpu/rules/Rule.h"

namespace smalti::tpu {

std::span<const Rule> indexRules();       // Indices.cpp
std::span<const Rule> copyRules();        // Copies.cpp
std::span<const Rule> semaphoreRules();   // Semaphores.cpp
std::span<const Rule> blockRules();       // Blocks.cpp
std::span<const Rule> typeRules();        // Types.cpp
std::span<const Rule> scalarRules();      // Scalars.cpp
std::span<const Rule> matmulRules();      // Matmul.cpp
std::span<const Rule> reshapeRules();     // Reshapes.cpp
std::span<const Rule> maskRules();        // Masks.cpp
std::span<const Rule> strideRules();      // Strides.cpp
std::span<const Rule> gatherRules();      // Gathers.cpp
std::span<const Rule> controlRules();     // Control.cpp
std::span<const Rule> generationRules();  // Generations.cpp
std::span<const Rule> queueRules();       // Queues.cpp
std::span<const Rule> vmemRules();        // Vmem.cpp

}  // namespace smalti::tpu
