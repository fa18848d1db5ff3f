// Divides elements into the runs that threads take (plan/ElementShare.h).
#include "gpu/emit/GpuLowering.h"
#include "llvm/IR/Instructions.h"

namespace smalti::gpu {

void GpuLowering::addRun(const ElementShare& share, std::span<const int64_t> shape, Reg number,
                         std::vector<ElementIndex>& elements) {
  size_t last = shape.size();
  while (last > 0 && shape[last - 1] == 1) --last;
  if (last == 0) {
    elements.emplace_back(shape.size(), index(0));
    return;
  }
  // The shape of the runs: each row consists of runs.
  Shape runs(shape.begin(), shape.end());
  runs[last - 1] /= share.run;
  ElementIndex first = placeOf(number, runs);
  first[last - 1] = b.CreateMul(first[last - 1], index(share.run), "", true, true);
  for (int64_t k = 0; k < share.run; ++k) {
    elements.push_back(first);
    // The additions do not overflow, so that LLVM knows that the elements are neighbours and merges accesses.
    if (k > 0) elements.back()[last - 1] = b.CreateAdd(first[last - 1], index(k), "", true, true);
  }
}

const std::vector<ElementIndex>& GpuLowering::elementsInRegisters(const ElementShare& share,
                                                                  std::span<const int64_t> shape) {
  auto& elements = inRegisters_[{Shape(shape.begin(), shape.end()), share.run}];
  if (!elements.empty()) return elements;
  // After the definition of the thread's number, which dominates all later code.
  const Builder::InsertPointGuard guard(b);
  auto* known = llvm::cast<llvm::Instruction>(thread);
  b.SetInsertPoint(known->getParent(), std::next(known->getIterator()));
  size_t last = shape.size();
  while (last > 0 && shape[last - 1] == 1) --last;
  const int64_t columns = last > 0 ? shape[last - 1] / share.run : 1;
  for (int64_t r = 0; r < share.perThread() / share.run; ++r) {
    if (last > 0 && columns % share.threads == 0) {
      // All threads are in one row, whose index is a constant.
      const int64_t perRow = columns / share.threads;
      const size_t begin = elements.size();
      addRun(share, shape,
             b.CreateAdd(b.CreateZExt(thread, b.getInt64Ty()), index(r % perRow * share.threads), "", true, true),
             elements);
      const Shape outer(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(last - 1));
      const ElementIndex row = placeOf(index(r / perRow), outer);
      for (size_t e = begin; e < elements.size(); ++e) std::ranges::copy(row, elements[e].begin());
    } else {
      addRun(share, shape, b.CreateAdd(thread, b.getInt32(static_cast<uint32_t>(r * share.threads)), "", true, true),
             elements);
    }
  }
  return elements;
}

void GpuLowering::forRuns(std::span<const int64_t> shape,
                          const std::function<void(std::span<const ElementIndex>)>& body) {
  const ElementShare share = shareElements(shape, plan.threads, plan.longestRun);
  if (share.elements <= 0) return;
  if (share.inRegisters) {
    const std::vector<ElementIndex> elements = elementsInRegisters(share, shape);
    const auto together = static_cast<size_t>(share.batch * share.run);
    for (size_t e = 0; e < elements.size(); e += together) body(std::span(elements).subspan(e, together));
    return;
  }
  const Scope scope(*this);
  const int64_t runs = share.elements / share.run;
  // Fewer than 2^31 elements are numbered by 32-bit integers, which GPUs divide faster.
  const bool isSmall = share.elements + share.threads <= INT32_MAX;
  Reg first = isSmall ? thread : b.CreateZExt(thread, b.getInt64Ty());
  const auto number = [&](int64_t i) { return llvm::ConstantInt::get(first->getType(), static_cast<uint64_t>(i)); };
  const auto take = [&](Reg run) {
    std::vector<ElementIndex> elements;
    for (int64_t i = 0; i < share.batch; ++i)
      addRun(share, shape, i == 0 ? run : b.CreateAdd(run, number(i * share.threads), "", true, true), elements);
    body(elements);
  };
  if (runs <= share.threads) return when(b.CreateICmpULT(first, number(runs)), [&] { take(first); });
  loop(first, number(runs), number(share.threads * share.batch), take);
}

}  // namespace smalti::gpu
