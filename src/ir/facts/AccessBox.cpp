#include "ir/facts/AccessBox.h"

#include "ir/facts/Attributes.h"

namespace smalti {

int64_t AccessBox::span(size_t d) const {
  int64_t span = 0;
  return __builtin_mul_overflow(sizes[d] - 1, step(d), &span) || span == INT64_MAX ? INT64_MAX : span + 1;
}

tl::expected<AccessBox, const char*> accessBoxOf(mlir::Operation& op, size_t refRank, size_t indices,
                                                 const Shape& value) {
  AccessBox box{value, integersAttribute(op, "strides")};
  if (box.sizes.size() < indices) box.sizes.insert(box.sizes.begin(), indices - box.sizes.size(), 1);
  if (refRank != indices || box.sizes.size() != indices || (!box.steps.empty() && box.steps.size() != indices))
    return tl::unexpected<const char*>("a load or store whose rank differs from its ref's");
  for (size_t d = 0; d < indices; ++d) {
    if (box.step(d) < 0) return tl::unexpected<const char*>("a load or store with negative strides");
    // The order of stores to one element is not defined.
    const bool repeats = box.step(d) == 0 && box.sizes[d] > 1, isStore = op.getNumResults() == 0;
    if (repeats && isStore) return tl::unexpected<const char*>("a store with strides below 1");
  }
  return box;
}

}  // namespace smalti
