// What device code needs besides arithmetic and memory: one function of Smalti per primitive. Each has two bodies: of
// the PTX instructions (Ptx.cpp), and of this process, where the threads of a block are fibres (gpu/host).
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "cpu/emit/elements/Registers.h"
#include "smalti/dtype.h"

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
                            *kStoppedSymbol = "smaltiGpuStopped", *kMmaSymbol = "smaltiGpuMma",
                            *kCopySymbol = "smaltiGpuCopy", *kCommitSymbol = "smaltiGpuCommit",
                            *kWaitSymbol = "smaltiGpuWait", *kLoadMatricesSymbol = "smaltiGpuLoadMatrices",
                            *kGroupBeginSymbol = "smaltiGpuGroupBegin", *kGroupCommitSymbol = "smaltiGpuGroupCommit",
                            *kGroupWaitSymbol = "smaltiGpuGroupWait", *kGroupMmaSymbol = "smaltiGpuGroupMma",
                            *kLeftGroupMmaSymbol = "smaltiGpuLeftGroupMma", *kPackSymbol = "smaltiGpuPack",
                            *kPublishSymbol = "smaltiGpuPublish", *kPartBarrierSymbol = "smaltiGpuPartBarrier",
                            *kSignalInitSymbol = "smaltiGpuSignalInit", *kSignalExpectSymbol = "smaltiGpuSignalExpect",
                            *kSignalArriveSymbol = "smaltiGpuSignalArrive", *kSignalTestSymbol = "smaltiGpuSignalTest",
                            *kCopyBoxSymbol = "smaltiGpuCopyBox", *kWarpBarrierSymbol = "smaltiGpuWarpBarrier",
                            *kHereSymbol = "smaltiGpuHere", *kSameSymbol = "smaltiGpuSame",
                            *kRegistersSymbol = "smaltiGpuRegisters";

/// What tensor cores multiply: bf16, f16, f8e4m3fn, f8e5m2, i8, and f32, of which they read the bits of TF32. An
/// instruction multiplies 32 bytes of the depth. Sums are f32, of i8 i32.
inline DType sumOf(DType operands) { return operands == DType::i8 ? DType::i32 : DType::f32; }

/// A product of a warp group: 64 rows by `columns` (PTX ISA, wgmma.mma_async.m64nNkK).
struct GroupProduct {
  int columns = 8;  ///< a multiple of 8, at most 256; of i8 from 32 on of 16
  DType dtype = DType::bf16;
  bool lhsDepthInner = true, rhsDepthInner = true;  ///< false: of 16 bits alone
  bool lhsInRegisters = false;                      ///< of 16 bits alone
  /// Bytes from 64 elements along rows or columns to the next, of operands whose depth is not inner.
  int lhsStride = 0, rhsStride = 0;
};

/// Where an operand of it begins in shared memory: bytes from an address that is the same in all threads of a warp.
struct GroupOperand {
  Reg base = nullptr;
  int64_t offset = 0;  ///< a multiple of 16
};

/// Calls of them.
class Primitives {
 public:
  explicit Primitives(llvm::Module& module) : module_(module) {}

  /// i32: the thread's number in its block (PTX ISA, %tid), the block's in the grid (%ctaid), the grid's blocks
  /// (%nctaid).
  Reg thread(Builder&);
  Reg block(Builder&);
  Reg blocks(Builder&);
  /// A barrier of all threads of the block, after which each sees what the others have written (PTX ISA, bar.sync 0).
  /// After `onlyFirst`, only those come (bar.sync 1).
  void barrier(Builder&);
  void onlyFirst(int threads) { threads_ = threads; }
  /// The same of the threads of a warp (PTX ISA, bar.warp.sync).
  void warpBarrier(Builder&);
  /// From here on each thread has `count` registers, a multiple of 8 from 24 to 256; all threads of a warp group come
  /// here. More are there when other warp groups of the block have returned enough (PTX ISA, setmaxnreg).
  void takeRegisters(Builder&, int count);
  void returnRegisters(Builder&, int count);
  /// The same i32. What is computed from it is not computed ahead of a loop, where it would occupy registers.
  Reg here(Builder&, Reg number);
  /// The same i32, which is known to be the same in all threads of the warp: instructions that have one operand for all
  /// of them take it from a register of the warp (PTX ISA, shfl.sync.idx).
  Reg sameInWarp(Builder&, Reg number);
  /// The 32 bits that the thread whose lane differs in the bits of `laneMask` gives; all lanes of the warp take part
  /// (PTX ISA, shfl.sync.bfly).
  Reg shuffle(Builder&, Reg bits, int laneMask);
  /// Two f32 rounded to bf16 or f16, in the low and the high half of a word (PTX ISA, cvt.rn.bf16x2.f32).
  Reg packed(Builder&, Reg low, Reg high, DType);
  /// A product of 16 × 8 by a warp, added to four sums at `sums` (PTX ISA, mma.sync.aligned.m16n8kK, whose fragments
  /// these are): four words of the left operand, two of the right, each with as many elements as it has room for.
  void mma(Builder&, Reg sums, std::span<const Reg> left, std::span<const Reg> right, DType);
  /// Four matrices of 8 × 8 elements of 16 bits out of shared memory, a row of which begins where each lane says; each
  /// lane gets two neighbours of each, along rows or (`transposed`) along columns (PTX ISA, ldmatrix.m8n8.x4.b16).
  std::array<Reg, 4> loadMatrices(Builder&, Reg row, bool transposed);
  /// 16 bytes from global memory to shared memory, of which those past `bytes` (i32) become 0; some time before the
  /// wait for their group ends (PTX ISA, cp.async.cg). Both addresses are multiples of 16.
  void copy(Builder&, Reg to, Reg from, Reg bytes);
  void commitCopies(Builder&);
  /// All but the last `groups` groups of this thread's copies are there (PTX ISA, cp.async.wait_group).
  void waitForCopies(Builder&, int groups);
  /// What this thread has written to shared memory is there for the products of warp groups that begin after the next
  /// barrier (PTX ISA, fence.proxy.async).
  void publish(Builder&);
  /// Before the first product of a group, and after sums have been written otherwise (PTX ISA, wgmma.fence).
  void groupBegin(Builder&);
  /// Adds the product of what lies at two addresses of shared memory, swizzled by 128 bytes, to `columns` / 2 sums at
  /// `sums`, some time before the group ends (PTX ISA, "Asynchronous Warpgroup Level Matrix Shared Memory Layout").
  /// Without `adds` (i1), the product is what they become.
  void groupMma(Builder&, Reg sums, const GroupOperand& left, const GroupOperand& right, Reg adds, const GroupProduct&);
  /// The same with the left operand in registers: four words of 16-bit elements (PTX ISA, "Register Fragments for
  /// wgmma.mma_async.m64nNk16").
  void groupMma(Builder&, Reg sums, const std::array<Reg, 4>& left, const GroupOperand& right, Reg adds,
                const GroupProduct&);
  /// The products since the last one are a group (PTX ISA, wgmma.commit_group).
  void groupCommit(Builder&);
  /// All but the last `groups` groups of products are there (PTX ISA, wgmma.wait_group). `sums`: what of them is read
  /// from now on, `count` of type `sum`; null: nothing.
  void groupWait(Builder&, int groups, Reg sums, int64_t count, DType sum);

  // ---- signals: objects of 8 bytes in shared memory that count arrivals and bytes in phases (PTX ISA, mbarrier)
  /// `arrivals` end a phase. By one thread, before others use it.
  void signalInit(Builder&, Reg signal, int arrivals);
  /// One arrival, and the phase ends no earlier than after this many bytes of copies (mbarrier.arrive.expect_tx).
  void signalExpect(Builder&, Reg signal, int64_t bytes);
  /// One arrival of a warp: all its lanes come here.
  void signalArrive(Builder&, Reg signal);
  /// i1: the phase of this parity (i32) has ended. Waits for a while (mbarrier.try_wait.parity).
  Reg signalTest(Builder&, Reg signal, Reg parity);
  /// A box of an array goes to shared memory, rows of 128 bytes swizzled; its bytes count for the signal (PTX ISA,
  /// cp.async.bulk.tensor). `at`: of its first element, i32, the fastest dimension first; what is outside of the array
  /// is 0. `map` describes array and box (TensorMap).
  void copyBox(Builder&, Reg to, Reg map, std::span<const Reg> at, Reg signal);
  /// The block's shared memory.
  Reg shared(Builder&);
  /// i1: the call is to end.
  Reg stopped(Builder&);
  int barriers() const { return barriers_; }

 private:
  Reg call(Builder&, const char* name, llvm::Type* result, llvm::ArrayRef<Reg> arguments, bool convergent = false);
  llvm::Module& module_;
  int barriers_ = 0, threads_ = 0;
};

/// Gives the functions that the module declares their bodies for a GPU.
void definePtxBodies(llvm::Module&);
/// Of functions that this process has others for, with more arguments.
void defineHostBodies(llvm::Module&);

/// What is part of an instruction is part of the function's name: the groups of copies that a wait leaves, and what a
/// product of a warp group is of.
std::string waitName(int groups);
int groupsNamed(std::string_view);
struct GroupWait {
  int groups = 0, sums = 0;
  DType sum = DType::f32;
};
std::string groupWaitName(const GroupWait&);
GroupWait groupWaitNamed(std::string_view);
std::string mmaName(DType);
DType mmaNamed(std::string_view);
std::string copyBoxName(size_t rank);
struct RegisterChange {
  bool takes = true;
  int count = 0;
};
std::string registersName(const RegisterChange&);
RegisterChange registersNamed(std::string_view);
std::string groupMmaName(const GroupProduct&);
GroupProduct groupProductNamed(std::string_view);

}  // namespace smalti::gpu
