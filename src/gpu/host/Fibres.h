// The threads of a block in this process: each is a fibre, which runs until it comes to a barrier or a shuffle.
//
// What a GPU leaves undefined is found here: a barrier that not all threads come to (CUDA C++ Programming Guide,
// "Synchronization Functions"), a shuffle that not all lanes of a warp take part in (PTX ISA, shfl.sync). Between two
// barriers the threads run in an order of the seed's: what depends on it is a race.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace smalti::gpu {

struct BlockLaunch {
  int32_t threads = 0, block = 0, blocks = 0;
  int64_t sharedBytes = 0;
  uint64_t seed = 0;
  const std::atomic<bool>* stop = nullptr;  ///< not owned; may be null
};

/// Runs `body` in each thread of the block, in this thread of the process. What went wrong: where threads wait for each
/// other at different places, as a sentence without a full stop.
std::optional<std::string> runBlock(const BlockLaunch&, const std::function<void()>& body);

/// The primitives (gpu/device/Primitives.h) of the thread that runs.
int32_t hostThread();
int32_t hostBlock();
int32_t hostBlocks();
void hostBarrier(int32_t site);
int32_t hostShuffle(int32_t bits, int32_t laneMask);
void hostMma(float* sums, int32_t isF16, const int32_t (&left)[4], const int32_t (&right)[2]);
void* hostShared();
int32_t hostStopped();

}  // namespace smalti::gpu
