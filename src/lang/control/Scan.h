// The op "scan": carries, then arrays whose slices along axis 0 the steps take; gives the carries, then what the steps
// give, stacked. Attributes: num_carry, length, reverse.
#pragma once

#include "lang/trace/Tracer.h"

namespace smalti::lang {

std::vector<Array> bindScan(std::span<const Array> operands, size_t numCarry, int64_t length, bool reverse,
                            const std::vector<ArrayType>& results, const Region&, const Location& at);
const OpRecord& scanRecord();

}  // namespace smalti::lang
