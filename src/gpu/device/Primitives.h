// The primitives of device code besides arithmetic and memory accesses, one function per primitive. Each has two
// bodies: PTX instructions (Ptx.cpp), and a function of this process, where threads are fibres (gpu/host).
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

/// Threads of a warp, between which values are shuffled (CUDA C++ Programming Guide, "SIMT Architecture").
inline constexpr int kWarp = 32;

/// Names of the functions.
inline constexpr const char *kThreadSymbol = "smaltiGpuThread", *kBlockSymbol = "smaltiGpuBlock",
                            *kBlocksSymbol = "smaltiGpuBlocks", *kBarrierSymbol = "smaltiGpuBarrier",
                            *kShuffleSymbol = "smaltiGpuShuffle", *kQuadSymbol = "smaltiGpuQuad",
                            *kSharedSymbol = "smaltiGpuShared", *kStoppedSymbol = "smaltiGpuStopped",
                            *kMmaSymbol = "smaltiGpuMma", *kCopySymbol = "smaltiGpuCopy",
                            *kCommitSymbol = "smaltiGpuCommit", *kWaitSymbol = "smaltiGpuWait",
                            *kLoadMatricesSymbol = "smaltiGpuLoadMatrices", *kGroupBeginSymbol = "smaltiGpuGroupBegin",
                            *kGroupCommitSymbol = "smaltiGpuGroupCommit", *kGroupWaitSymbol = "smaltiGpuGroupWait",
                            *kGroupMmaSymbol = "smaltiGpuGroupMma", *kLeftGroupMmaSymbol = "smaltiGpuLeftGroupMma",
                            *kPackSymbol = "smaltiGpuPack", *kPublishSymbol = "smaltiGpuPublish",
                            *kNamedBarrierSymbol = "smaltiGpuNamedBarrier",
                            *kMbarrierInitSymbol = "smaltiGpuMbarrierInit",
                            *kMbarrierExpectSymbol = "smaltiGpuMbarrierExpect",
                            *kMbarrierArriveSymbol = "smaltiGpuMbarrierArrive",
                            *kMbarrierTestSymbol = "smaltiGpuMbarrierTest", *kCopyBoxSymbol = "smaltiGpuCopyBox",
                            *kWarpBarrierSymbol = "smaltiGpuWarpBarrier", *kOpaqueCopySymbol = "smaltiGpuOpaqueCopy",
                            *kSameSymbol = "smaltiGpuSame", *kRegisterLimitSymbol = "smaltiGpuRegisterLimit";

/// The dtype of the sums. Tensor cores multiply bf16, f16, f8e4m3fn, f8e5m2, i8, and f32, of which they read the bits
/// of TF32; an instruction multiplies 32 bytes along K. Sums are f32, for i8 they are i32.
inline DType sumOf(DType operands) { return operands == DType::i8 ? DType::i32 : DType::f32; }

/// A product of a warp group: 64 rows by `columns` (PTX ISA, wgmma.mma_async.m64nNkK).
struct GroupProduct {
  int columns = 8;  ///< a multiple of 8, at most 256; for i8, above 32 a multiple of 16
  DType dtype = DType::bf16;
  bool lhsDepthInner = true, rhsDepthInner = true;  ///< false: only for 16-bit elements
  bool lhsInRegisters = false;                      ///< only for 16-bit elements
  /// Bytes from 64 elements along rows or columns to the next 64, for operands in which K is not the inner dimension.
  int lhsStride = 0, rhsStride = 0;
};

/// Where an operand of a group product begins in shared memory: `offset` bytes after `base`, which is the same in all
/// threads of a warp.
struct GroupOperand {
  Reg base = nullptr;
  int64_t offset = 0;  ///< a multiple of 16
};

/// Emits calls of the primitives.
class Primitives {
 public:
  explicit Primitives(llvm::Module& module) : module_(module) {}

  /// i32: the thread's number in its block (PTX ISA, %tid), the block's in the grid (%ctaid), the grid's blocks
  /// (%nctaid).
  Reg thread(Builder&);
  Reg block(Builder&);
  Reg blocks(Builder&);
  /// A barrier of all threads of the block, after which each sees what the others have written (PTX ISA, bar.sync 0).
  /// After `onlyFirst`, a barrier of the first `threads` threads (bar.sync 1).
  void barrier(Builder&);
  void onlyFirst(int threads) { threads_ = threads; }
  /// A barrier of the threads of a warp (PTX ISA, bar.warp.sync).
  void warpBarrier(Builder&);
  /// Changes the number of registers per thread to `count`, a multiple of 8 from 24 to 256; all threads of a warp group
  /// must execute it. Raising the limit waits until other warp groups of the block have lowered theirs (PTX ISA,
  /// setmaxnreg.inc, setmaxnreg.dec).
  void raiseRegisterLimit(Builder&, int count);
  void lowerRegisterLimit(Builder&, int count);
  /// A copy of the i32 that the compiler cannot see through, so that values computed from it are not hoisted out of
  /// loops, where they would occupy registers.
  Reg opaqueCopy(Builder&, Reg number);
  /// A copy of the i32, which must be equal in all threads of the warp, that ptxas knows to be uniform and may keep in
  /// a uniform register (PTX ISA, shfl.sync.idx).
  Reg sameInWarp(Builder&, Reg number);
  /// The 32 bits of the lane whose number differs in the bits of `laneMask`; all lanes of the warp must take part (PTX
  /// ISA, shfl.sync.bfly).
  Reg shuffle(Builder&, Reg bits, int laneMask);
  /// The 32 bits of one of the four neighbouring lanes to which this lane belongs; all lanes of the warp must take part
  /// (PTX ISA, shfl.sync.idx).
  Reg ofQuad(Builder&, Reg bits, int lane);
  /// Two f32 rounded to bf16 or f16, in the low and the high half of a word (PTX ISA, cvt.rn.bf16x2.f32).
  Reg packed(Builder&, Reg low, Reg high, DType);
  /// A warp multiplies 16 × K by K × 8 and adds the product to the thread's four sums at `sums`. The fragments are
  /// those of PTX ISA, mma.sync.aligned.m16n8kK: four words of the left operand and two of the right, packed.
  void mma(Builder&, Reg sums, std::span<const Reg> left, std::span<const Reg> right, DType);
  /// Loads four matrices of 8 × 8 16-bit elements from shared memory; `row` is the address of one row per lane. Each
  /// lane gets two neighbours of each matrix, along rows or (`transposed`) along columns (PTX ISA,
  /// ldmatrix.m8n8.x4.b16).
  std::array<Reg, 4> loadMatrices(Builder&, Reg row, bool transposed);
  /// Copies 16 bytes asynchronously from global to shared memory; bytes past `bytes` (i32) become 0. The copy is
  /// complete after the wait for its group (PTX ISA, cp.async.cg). Both addresses are multiples of 16.
  void copy(Builder&, Reg to, Reg from, Reg bytes);
  void commitCopies(Builder&);
  /// Waits until all but the last `groups` groups of this thread's copies are complete (PTX ISA, cp.async.wait_group).
  void waitForCopies(Builder&, int groups);
  /// Makes this thread's writes to shared memory visible to products of warp groups that begin after the next barrier
  /// (PTX ISA, fence.proxy.async).
  void publish(Builder&);
  /// Must precede the first product of a group, and follow other writes of its sums (PTX ISA, wgmma.fence).
  void groupBegin(Builder&);
  /// Multiplies two operands in shared memory, swizzled by 128 bytes, asynchronously, and adds the product to `columns`
  /// / 2 sums at `sums` (PTX ISA, "Asynchronous Warpgroup Level Matrix Shared Memory Layout"). If `adds` (i1) is false,
  /// the product replaces the sums.
  void groupMma(Builder&, Reg sums, const GroupOperand& left, const GroupOperand& right, Reg adds, const GroupProduct&);
  /// Multiplies with the left operand in registers: four words of 16-bit elements (PTX ISA, "Register Fragments for
  /// wgmma.mma_async.m64nNk16").
  void groupMma(Builder&, Reg sums, const std::array<Reg, 4>& left, const GroupOperand& right, Reg adds,
                const GroupProduct&);
  /// Makes the products since the last call a group (PTX ISA, wgmma.commit_group).
  void groupCommit(Builder&);
  /// Waits until all but the last `groups` groups of products are complete (PTX ISA, wgmma.wait_group). `sums`: the
  /// `count` sums of type `sum` that are read afterwards; null: none.
  void groupWait(Builder&, int groups, Reg sums, int64_t count, DType sum);

  // ---- mbarriers: objects of 8 bytes in shared memory that count arrivals and bytes in phases (PTX ISA, mbarrier)
  /// A phase ends after `arrivals` arrivals. One thread initialises it before others use it.
  void mbarrierInit(Builder&, Reg mbarrier, int arrivals);
  /// Arrives once, and extends the phase until this many bytes have been copied (mbarrier.arrive.expect_tx).
  void mbarrierExpect(Builder&, Reg mbarrier, int64_t bytes);
  /// Arrives once for a warp; all its lanes must execute it.
  void mbarrierArrive(Builder&, Reg mbarrier);
  /// i1: whether the phase of this parity (i32) has ended; waits for a limited time (mbarrier.try_wait.parity).
  Reg mbarrierTest(Builder&, Reg mbarrier, Reg parity);
  /// Copies a box of an array asynchronously to shared memory, in swizzled rows of 128 bytes, and counts its bytes in
  /// the mbarrier (PTX ISA, cp.async.bulk.tensor). `at`: indices of its first element, i32, the fastest dimension
  /// first; elements outside the array are 0. `map` describes array and box (TensorMap).
  void copyBox(Builder&, Reg to, Reg map, std::span<const Reg> at, Reg mbarrier);
  /// The block's shared memory.
  Reg shared(Builder&);
  /// i1: whether the caller has stopped the call.
  Reg stopped(Builder&);
  int barriers() const { return barriers_; }

 private:
  Reg call(Builder&, const char* name, llvm::Type* result, llvm::ArrayRef<Reg> arguments, bool convergent = false);
  llvm::Module& module_;
  int barriers_ = 0, threads_ = 0;
};

/// Defines the primitives that the module declares, for a GPU.
void definePtxBodies(llvm::Module&);
/// Defines those whose names contain arguments of the functions of this process.
void defineHostBodies(llvm::Module&);

/// Immediate operands of an instruction are part of the function's name: the number of groups of copies that a wait
/// leaves pending, and the form of a warp group's product.
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
struct RegisterLimit {
  bool raises = true;
  int count = 0;
};
std::string registerLimitName(const RegisterLimit&);
RegisterLimit registerLimitNamed(std::string_view);
std::string groupMmaName(const GroupProduct&);
GroupProduct groupProductNamed(std::string_view);

}  // namespace smalti::gpu
