#include "gpu/device/Primitives.h"

#include <cstdio>

#include <fmt/format.h>

#include "llvm/IR/Module.h"

namespace smalti::gpu {

Reg Primitives::call(Builder& b, const char* name, llvm::Type* result, llvm::ArrayRef<Reg> arguments, bool convergent) {
  std::vector<llvm::Type*> types;
  for (Reg v : arguments) types.push_back(v->getType());
  auto callee = module_.getOrInsertFunction(name, llvm::FunctionType::get(result, types, false));
  auto* function = llvm::cast<llvm::Function>(callee.getCallee());
  function->setDoesNotThrow();
  if (convergent) function->setConvergent();
  auto* made = b.CreateCall(callee, llvm::SmallVector<Reg, 4>(arguments));
  if (convergent) made->setConvergent();
  return made;
}

Reg Primitives::thread(Builder& b) { return call(b, kThreadSymbol, b.getInt32Ty(), {}); }
Reg Primitives::block(Builder& b) { return call(b, kBlockSymbol, b.getInt32Ty(), {}); }
Reg Primitives::blocks(Builder& b) { return call(b, kBlocksSymbol, b.getInt32Ty(), {}); }
void Primitives::barrier(Builder& b) {
  Reg site = b.getInt32(static_cast<uint32_t>(barriers_++));
  if (threads_ == 0) {
    call(b, kBarrierSymbol, b.getVoidTy(), {site}, true);
    return;
  }
  call(b, kNamedBarrierSymbol, b.getVoidTy(), {site, b.getInt32(static_cast<uint32_t>(threads_))}, true);
}
void Primitives::warpBarrier(Builder& b) { call(b, kWarpBarrierSymbol, b.getVoidTy(), {}, true); }
void Primitives::raiseRegisterLimit(Builder& b, int count) {
  call(b, registerLimitName({.raises = true, .count = count}).c_str(), b.getVoidTy(), {}, true);
}
void Primitives::lowerRegisterLimit(Builder& b, int count) {
  call(b, registerLimitName({.raises = false, .count = count}).c_str(), b.getVoidTy(), {}, true);
}
Reg Primitives::opaqueCopy(Builder& b, Reg number) { return call(b, kOpaqueCopySymbol, b.getInt32Ty(), {number}); }
Reg Primitives::sameInWarp(Builder& b, Reg number) { return call(b, kSameSymbol, b.getInt32Ty(), {number}, true); }
Reg Primitives::shuffle(Builder& b, Reg bits, int laneMask) {
  return call(b, kShuffleSymbol, b.getInt32Ty(), {bits, b.getInt32(static_cast<uint32_t>(laneMask))}, true);
}
Reg Primitives::ofQuad(Builder& b, Reg bits, int lane) {
  return call(b, kQuadSymbol, b.getInt32Ty(), {bits, b.getInt32(static_cast<uint32_t>(lane))}, true);
}
Reg Primitives::packed(Builder& b, Reg low, Reg high, DType dtype) {
  return call(b, fmt::format("{}.{}", kPackSymbol, name(dtype)).c_str(), b.getInt32Ty(), {low, high});
}
void Primitives::mma(Builder& b, Reg sums, std::span<const Reg> left, std::span<const Reg> right, DType dtype) {
  std::vector<Reg> arguments{sums};
  arguments.insert(arguments.end(), left.begin(), left.end());
  arguments.insert(arguments.end(), right.begin(), right.end());
  call(b, mmaName(dtype).c_str(), b.getVoidTy(), arguments, true);
}
std::array<Reg, 4> Primitives::loadMatrices(Builder& b, Reg row, bool transposed) {
  // The result is in memory of the thread, so that both bodies have the same signature.
  auto& entry = b.GetInsertBlock()->getParent()->getEntryBlock();
  Builder at(&entry, entry.begin());
  auto* type = llvm::ArrayType::get(b.getInt32Ty(), 4);
  Reg place = at.CreateAlloca(type);
  call(b, kLoadMatricesSymbol, b.getVoidTy(), {place, row, b.getInt32(transposed ? 1 : 0)}, true);
  std::array<Reg, 4> words{};
  for (unsigned i = 0; i < 4; ++i)
    words[i] = b.CreateLoad(b.getInt32Ty(), b.CreateConstInBoundsGEP2_32(type, place, 0, i));
  return words;
}
void Primitives::copy(Builder& b, Reg to, Reg from, Reg bytes) {
  call(b, kCopySymbol, b.getVoidTy(), {to, from, bytes});
}
void Primitives::commitCopies(Builder& b) { call(b, kCommitSymbol, b.getVoidTy(), {}); }
void Primitives::waitForCopies(Builder& b, int groups) { call(b, waitName(groups).c_str(), b.getVoidTy(), {}); }
void Primitives::publish(Builder& b) { call(b, kPublishSymbol, b.getVoidTy(), {}); }
void Primitives::groupBegin(Builder& b) { call(b, kGroupBeginSymbol, b.getVoidTy(), {}, true); }
void Primitives::groupMma(Builder& b, Reg sums, const GroupOperand& left, const GroupOperand& right, Reg adds,
                          const GroupProduct& p) {
  const auto offset = [&](const GroupOperand& o) { return b.getInt32(static_cast<uint32_t>(o.offset)); };
  call(b, groupMmaName(p).c_str(), b.getVoidTy(),
       {sums, left.base, offset(left), right.base, offset(right), b.CreateZExt(adds, b.getInt32Ty())}, true);
}
void Primitives::groupMma(Builder& b, Reg sums, const std::array<Reg, 4>& left, const GroupOperand& right, Reg adds,
                          const GroupProduct& p) {
  call(b, groupMmaName(p).c_str(), b.getVoidTy(),
       {sums, left[0], left[1], left[2], left[3], right.base, b.getInt32(static_cast<uint32_t>(right.offset)),
        b.CreateZExt(adds, b.getInt32Ty())},
       true);
}
void Primitives::groupCommit(Builder& b) { call(b, kGroupCommitSymbol, b.getVoidTy(), {}, true); }
void Primitives::groupWait(Builder& b, int groups, Reg sums, int64_t count, DType sum) {
  if (!sums) sums = llvm::ConstantPointerNull::get(b.getPtrTy());
  call(b, groupWaitName({groups, static_cast<int>(count), sum}).c_str(), b.getVoidTy(), {sums}, true);
}
void Primitives::mbarrierInit(Builder& b, Reg mbarrier, int arrivals) {
  call(b, kMbarrierInitSymbol, b.getVoidTy(), {mbarrier, b.getInt32(static_cast<uint32_t>(arrivals))});
}
void Primitives::mbarrierExpect(Builder& b, Reg mbarrier, int64_t bytes) {
  call(b, kMbarrierExpectSymbol, b.getVoidTy(), {mbarrier, b.getInt32(static_cast<uint32_t>(bytes))});
}
void Primitives::mbarrierArrive(Builder& b, Reg mbarrier) {
  call(b, kMbarrierArriveSymbol, b.getVoidTy(), {mbarrier}, true);
}
Reg Primitives::mbarrierTest(Builder& b, Reg mbarrier, Reg parity) {
  return b.CreateICmpNE(call(b, kMbarrierTestSymbol, b.getInt32Ty(), {mbarrier, parity}), b.getInt32(0));
}
void Primitives::copyBox(Builder& b, Reg to, Reg map, std::span<const Reg> at, Reg mbarrier) {
  std::vector<Reg> arguments{to, map, mbarrier};
  arguments.insert(arguments.end(), at.begin(), at.end());
  call(b, copyBoxName(at.size()).c_str(), b.getVoidTy(), arguments);
}
Reg Primitives::shared(Builder& b) { return call(b, kSharedSymbol, b.getPtrTy(), {}); }
Reg Primitives::stopped(Builder& b) {
  return b.CreateICmpNE(call(b, kStoppedSymbol, b.getInt32Ty(), {}), b.getInt32(0));
}

std::string waitName(int groups) { return fmt::format("{}.{}", kWaitSymbol, groups); }
int groupsNamed(std::string_view name) {
  int groups = 0;
  std::sscanf(std::string(name).c_str() + std::string_view(kWaitSymbol).size(), ".%d", &groups);
  return groups;
}
std::string groupWaitName(const GroupWait& w) {
  return fmt::format("{}.{}.{}.{}", kGroupWaitSymbol, w.groups, w.sums, static_cast<int>(w.sum));
}
GroupWait groupWaitNamed(std::string_view name) {
  GroupWait w;
  int sum = 0;
  std::sscanf(std::string(name).c_str() + std::string_view(kGroupWaitSymbol).size(), ".%d.%d.%d", &w.groups, &w.sums,
              &sum);
  w.sum = static_cast<DType>(sum);
  return w;
}
std::string mmaName(DType dtype) { return fmt::format("{}.{}", kMmaSymbol, static_cast<int>(dtype)); }
DType mmaNamed(std::string_view name) {
  int dtype = 0;
  std::sscanf(std::string(name).c_str() + std::string_view(kMmaSymbol).size(), ".%d", &dtype);
  return static_cast<DType>(dtype);
}
std::string copyBoxName(size_t rank) { return fmt::format("{}.{}", kCopyBoxSymbol, rank); }
std::string registerLimitName(const RegisterLimit& r) {
  return fmt::format("{}.{}.{}", kRegisterLimitSymbol, r.raises ? 'i' : 'd', r.count);
}
RegisterLimit registerLimitNamed(std::string_view name) {
  RegisterLimit r;
  char direction = 0;
  std::sscanf(std::string(name).c_str() + std::string_view(kRegisterLimitSymbol).size(), ".%c.%d", &direction,
              &r.count);
  r.raises = direction == 'i';
  return r;
}
std::string groupMmaName(const GroupProduct& p) {
  return fmt::format("{}.{}.{}.{}{}.{}.{}", kGroupMmaSymbol, p.columns, static_cast<int>(p.dtype),
                     p.lhsInRegisters  ? 'r'
                     : p.lhsDepthInner ? 'k'
                                       : 'm',
                     p.rhsDepthInner ? 'k' : 'n', p.lhsStride, p.rhsStride);
}
GroupProduct groupProductNamed(std::string_view name) {
  GroupProduct p;
  int dtype = 0;
  char lhs = 0, rhs = 0;
  std::sscanf(std::string(name).c_str() + std::string_view(kGroupMmaSymbol).size(), ".%d.%d.%c%c.%d.%d", &p.columns,
              &dtype, &lhs, &rhs, &p.lhsStride, &p.rhsStride);
  p.dtype = static_cast<DType>(dtype);
  p.lhsInRegisters = lhs == 'r';
  p.lhsDepthInner = lhs != 'm';
  p.rhsDepthInner = rhs == 'k';
  return p;
}

}  // namespace smalti::gpu
