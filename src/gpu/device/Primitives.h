// What device code needs besides arithmetic and memory: one function of ours per primitive. Each has two bodies: of the
// PTX instructions (Ptx.cpp), and of this process, where the threads of a block are fibres (gpu/host).
#pragma once

#include <array>
#include <span>

#include "cpu/emit/elements/Registers.h"

namespace llvm {
class Module;
}

namespace smalti::gpu {

using cpu::Builder;
using cpu::Reg;

/// Threads that run in lockstep, and between which values are shuffled.
inline constexpr int kWarp = 32;

/// Names of the functions.
inline constexpr const char *kThreadSymbol = "smaltiGpuThread", *kBlockSymbol = "smaltiGpuBlock",
                            *kBlocksSymbol = "smaltiGpuBlocks", *kBarrierSymbol = "smaltiGpuBarrier",
                            *kShuffleSymbol = "smaltiGpuShuffle", *kSharedSymbol = "smaltiGpuShared",
                            *kStoppedSymbol = "smaltiGpuStopped", *kMmaSymbol = "smaltiGpuMma";

/// Calls of them.
class Primitives {
 public:
  explicit Primitives(llvm::Module& module) : module_(module) {}

  /// i32: the thread's number in its block (PTX ISA, %tid), the block's in the grid (%ctaid), the grid's blocks
  /// (%nctaid).
  Reg thread(Builder&);
  Reg block(Builder&);
  Reg blocks(Builder&);
  /// All threads of the block come here before any goes on, and see what the others have written (PTX ISA, bar.sync 0).
  void barrier(Builder&);
  /// The 32 bits that the thread whose lane differs in the bits of `laneMask` gives; all lanes of the warp take part
  /// (PTX ISA, shfl.sync.bfly).
  Reg shuffle(Builder&, Reg bits, int laneMask);
  /// A 16 × 8 product of depth 16 by a warp, added to `sums` (PTX ISA, mma.sync.aligned.m16n8k16, whose fragments these
  /// are): four words of the left operand, two of the right, each with two halves (f16, else bf16); four f32 sums.
  std::array<Reg, 4> mma(Builder&, std::span<const Reg> left, std::span<const Reg> right, std::span<const Reg> sums,
                         bool isF16);
  /// The block's shared memory.
  Reg shared(Builder&);
  /// i1: the call is to end.
  Reg stopped(Builder&);
  int barriers() const { return barriers_; }

 private:
  Reg call(Builder&, const char* name, llvm::Type* result, llvm::ArrayRef<Reg> arguments, bool convergent = false);
  llvm::Module& module_;
  int barriers_ = 0;
};

/// Gives the functions that the module declares their bodies for a GPU.
void definePtxBodies(llvm::Module&);

}  // namespace smalti::gpu
