// Runs the threads of a block in this process: each is a fibre, which runs until it reaches a barrier or a shuffle.
//
// Detects what is undefined on a GPU: a barrier that not all threads reach (CUDA C++ Programming Guide,
// "Synchronization Functions"), and a shuffle in which not all lanes of a warp take part (PTX ISA, shfl.sync). The seed
// determines the order of the threads between two barriers; results that depend on it reveal a race. With odd seeds, a
// warp runs as far ahead of the others as barriers permit. Asynchronous operations (copies to shared memory, products
// of warp groups) complete as late as the wait for them permits or, depending on the seed, immediately; a missing wait,
// or memory that is overwritten too early, changes the results. Sums that are written while a product is in flight, and
// a missing wgmma.fence or fence.proxy.async, are errors. Shared memory is full of NaN at first.
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
  int64_t frameBytes = 0;  ///< of the stack: what `body` takes beside the primitives
  uint64_t seed = 0;
  const std::atomic<bool>* stop = nullptr;  ///< not owned; may be null
};

/// Runs `body` in each thread of the block, in this thread of the process. Returns an error, as a sentence without a
/// full stop, if threads wait for each other at different places.
std::optional<std::string> runBlock(const BlockLaunch&, const std::function<void()>& body);

/// The primitives (gpu/device/Primitives.h), called by the running fibre.
int32_t hostThread();
int32_t hostBlock();
int32_t hostBlocks();
void hostBarrier(int32_t site);
int32_t hostShuffle(int32_t bits, int32_t laneMask);
int32_t hostQuad(int32_t bits, int32_t lane);
void hostWarpBarrier();
void hostMma(void* sums, DType, const int32_t (&left)[4], const int32_t (&right)[2]);
void hostLoadMatrices(int32_t (&words)[4], const void* row, int32_t transposed);
void hostNamedBarrier(int32_t site, int32_t threads);
void hostMbarrierInit(void* mbarrier, int32_t arrivals);
void hostMbarrierExpect(void* mbarrier, int32_t bytes);
void hostMbarrierArrive(void* mbarrier);
int32_t hostMbarrierTest(void* mbarrier, int32_t parity);
void hostCopyBox(void* to, const HostTensorMap& map, void* mbarrier, const int32_t (&at)[TensorMap::kMaxDimensions]);
void hostGroupBegin();
void hostGroupCommit();
void hostGroupWait(int32_t groups);
void hostGroupMma(void* sums, const void* left, const void* right, bool adds, const GroupProduct&);
void hostGroupMma(void* sums, const int32_t (&left)[4], const void* right, bool adds, const GroupProduct&);
void hostCopy(void* to, const void* from, int32_t bytes);
void hostCommitCopies();
void hostWaitForCopies(int32_t groups);
void hostPublish();
void* hostShared();
int32_t hostStopped();

}  // namespace smalti::gpu
