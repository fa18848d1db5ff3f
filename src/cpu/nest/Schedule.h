// Names of src/schedule that code emission uses.
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

}  // namespace smalti::cpu
