#include "gpu/plan/ElementShare.h"

#include "smalti/array.h"

namespace smalti::gpu {

ElementShare shareElements(std::span<const int64_t> shape, int64_t threads, int64_t longestRun) {
  ElementShare share{.elements = num_elements(shape), .threads = threads};
  if (share.elements <= 0) return share;
  int64_t last = 1;
  for (size_t d = shape.size(); d-- > 0 && last == 1;) last = shape[d];
  // A run that leaves threads without elements would have fewer accesses in flight.
  share.run = longestRun;
  while (share.run > 1 && (last % share.run != 0 || share.elements < threads * share.run)) share.run /= 2;
  const int64_t atOnce = threads * share.run;
  if (share.elements % atOnce != 0) return share;
  const int64_t runs = share.elements / atOnce;
  while (share.batch * 2 * share.run <= kBatchElements && runs % (share.batch * 2) == 0) share.batch *= 2;
  share.rounds = runs / share.batch;
  share.inRegisters = share.perThread() <= kElementsInRegisters;
  return share;
}

}  // namespace smalti::gpu
