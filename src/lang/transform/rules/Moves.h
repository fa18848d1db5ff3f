// Rules of ops that move elements: shapes, pieces, gathers.
#pragma once

#include "lang/transform/rules/Support.h"

namespace smalti::lang {

#define SMALTI_TRANSPOSE(name) std::vector<MaybeZero> name(const OpCall&, const Mask& isLinear, Tangents cotangents)
#define SMALTI_BATCH(name) std::vector<Array> name(const OpCall&, const Mask& isBatched, int64_t size)
SMALTI_TRANSPOSE(transposeReshape);
SMALTI_TRANSPOSE(transposeBroadcastInDim);
SMALTI_TRANSPOSE(transposeTranspose);
SMALTI_TRANSPOSE(transposeSlice);
SMALTI_TRANSPOSE(transposeConcatenate);
SMALTI_TRANSPOSE(transposePad);
SMALTI_TRANSPOSE(transposeDynamicSlice);
SMALTI_TRANSPOSE(transposeDynamicUpdateSlice);
SMALTI_TRANSPOSE(transposeTakeAlongAxis);
SMALTI_TRANSPOSE(transposeScatterAdd);
SMALTI_TRANSPOSE(transposeRoll);
SMALTI_BATCH(batchReshape);
SMALTI_BATCH(batchBroadcastInDim);
SMALTI_BATCH(batchTranspose);
SMALTI_BATCH(batchSlice);
SMALTI_BATCH(batchConcatenate);
SMALTI_BATCH(batchPad);
SMALTI_BATCH(batchDynamicSlice);
SMALTI_BATCH(batchDynamicUpdateSlice);
SMALTI_BATCH(batchTakeAlongAxis);
SMALTI_BATCH(batchScatterAdd);
SMALTI_BATCH(batchRoll);
Differentiated jvpDynamicUpdateSlice(const OpCall&, Tangents);
#undef SMALTI_TRANSPOSE
#undef SMALTI_BATCH

}  // namespace smalti::lang
