// Names of src/schedule that code emission uses, and which ops have native code in a nest.
#pragma once

#include "schedule/BodyScheduler.h"
#include "schedule/ElementMap.h"
#include "schedule/Segment.h"
#include "schedule/UnitDims.h"

namespace smalti::cpu {

using schedule::Access;
using schedule::BodyScheduler;
using schedule::Buffer;
using schedule::ElementMap;
using schedule::Flush;
using schedule::identityMap;
using schedule::iotaDimension;
using schedule::isRematerializable;
using schedule::isRowReduction;
using schedule::isSplatConstant;
using schedule::isVector;
using schedule::MapEntry;
using schedule::Nest;
using schedule::NestPlan;
using schedule::operandMap;
using schedule::Root;
using schedule::RowBuffer;
using schedule::rowMap;
using schedule::ScheduledOp;
using schedule::Segment;

/// Whether nests can compute the op (apart from loads and stores, which are added with their accesses).
bool isCollected(mlir::Operation&);
/// Whether nests can compute the reduction.
bool isNativeReduction(mlir::Operation&);

}  // namespace smalti::cpu
