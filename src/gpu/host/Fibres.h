// The threads of a block in this process: each is a fibre, which runs until it comes to a barrier or a shuffle.
//
// What a GPU leaves undefined is found here: a barrier that not all threads come to (CUDA C++ Programming Guide,
// "Synchronization Functions"), a shuffle that not all lanes of a warp take part in (PTX ISA, shfl.sync). Between two
// barriers the threads run in an order of the seed's: what depends on it is a race. What a GPU does some time before a
// wait (copies to shared memory, products of warp groups) is done in the wait, or at once where the seed says so: a
// wait that is missing, and memory that is written again too early, show as other results.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "gpu/device/Primitives.h"
#include "gpu/device/TensorMap.h"

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
void hostWarpBarrier();
void hostMma(void* sums, DType, const int32_t (&left)[4], const int32_t (&right)[2]);
void hostLoadMatrices(int32_t (&words)[4], const void* row, int32_t transposed);
void hostPartBarrier(int32_t site, int32_t threads);
void hostSignalInit(void* signal, int32_t arrivals);
void hostSignalExpect(void* signal, int32_t bytes);
void hostSignalArrive(void* signal);
int32_t hostSignalTest(void* signal, int32_t parity);
void hostCopyBox(void* to, const HostTensorMap& map, void* signal, const int32_t (&at)[TensorMap::kMaxDimensions]);
void hostGroupBegin();
void hostGroupCommit();
void hostGroupWait(int32_t groups);
void hostGroupMma(void* sums, const void* left, const void* right, bool adds, const GroupProduct&);
void hostGroupMma(void* sums, const int32_t (&left)[4], const void* right, bool adds, const GroupProduct&);
void hostCopy(void* to, const void* from, int32_t bytes);
void hostCommitCopies();
void hostWaitForCopies(int32_t groups);
void* hostShared();
int32_t hostStopped();

}  // namespace smalti::gpu
