// Every reason, by name. docs/tpu_legality.md is this list for people.
#pragma once

#include "tpu/Legality.h"

namespace smalti::tpu::reason {

extern const Reason& kBlockShape;
extern const Reason& kElementIndex;
extern const Reason& kUnalignedIndex;
extern const Reason& kDmaOffset;
extern const Reason& kDmaSize;
extern const Reason& kDmaLinear;
extern const Reason& kElementType;
extern const Reason& kNarrowArithmetic;
extern const Reason& kScalarType;
extern const Reason& kF16;
extern const Reason& kShapeCast;
extern const Reason& kGatherWidth;
extern const Reason& kGatherRegisters;
extern const Reason& kRefReshape;
extern const Reason& kMatmulType;
extern const Reason& kStridedMinor;
extern const Reason& kStridedLanes;
extern const Reason& kStridedStart;
extern const Reason& kStridedStore;
extern const Reason& kScalarExtract;
extern const Reason& kSublaneGather;
extern const Reason& kSubelementMask;
extern const Reason& kNarrowShift;
extern const Reason& kCoreParallel;
extern const Reason& kUnsupportedType;
extern const Reason& kBoolCarry;
extern const Reason& kBoolRelayout;
extern const Reason& kUnsupportedOp;
extern const Reason& kMatrixQueue;
extern const Reason& kVmem;

}  // namespace smalti::tpu::reason
