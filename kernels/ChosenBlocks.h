// The blocks that kernels choose where their options are 0.
#pragma once

#include "smalti/kernels/flash_attention.h"
#include "smalti/kernels/grouped_matmul.h"

namespace smalti::kernels {

/// 1 where there is no such axis: of a type that the kernel refuses.
inline int64_t dim(const ArrayType& t, size_t axis) { return axis < t.shape.size() ? t.shape[axis] : 1; }

struct AttentionBlocks {
  int64_t block_q, block_k;
};
AttentionBlocks chosen_blocks(const ArrayType& q, const ArrayType& k, const AttentionOptions&);
GroupedMatmulOptions chosen_blocks(const ArrayType& x, const ArrayType& y, const GroupedMatmulOptions&);

}  // namespace smalti::kernels
