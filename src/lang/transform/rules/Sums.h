// Rules of reductions and products.
#pragma once

#include "lang/transform/rules/Support.h"

namespace smalti::lang {

Differentiated jvpReduceExtreme(const OpCall&, Tangents);
Differentiated jvpReduceProd(const OpCall&, Tangents);
std::vector<MaybeZero> transposeReduceSum(const OpCall&, const Mask&, Tangents);
std::vector<Array> batchReduce(const OpCall&, const Mask&, int64_t size);
std::vector<Array> batchReduceIndex(const OpCall&, const Mask&, int64_t size);
Differentiated jvpDotGeneral(const OpCall&, Tangents);
std::vector<MaybeZero> transposeDotGeneral(const OpCall&, const Mask&, Tangents);
std::vector<Array> batchDotGeneral(const OpCall&, const Mask&, int64_t size);

}  // namespace smalti::lang
