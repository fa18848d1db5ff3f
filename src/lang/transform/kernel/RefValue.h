// Accesses of Refs as functions of arrays: the part of an array that a Ref names, and the array with another part.
#pragma once

#include <vector>

#include "lang/refs/Indexer.h"
#include "smalti/operand.h"

namespace smalti::lang {

/// A step from memory to a part of it, as "get", "swap" and the ops that make Refs of Refs say it.
struct PartOf {
  enum class Kind : uint8_t { slice, reshape, bitcast };
  Kind kind = Kind::slice;
  std::vector<AxisIndex> axes;  ///< of a slice
  std::vector<Array> starts;    ///< of the axes with a dynamic start, in order
  ArrayType type;               ///< of the part
};

Array readPart(const Array& whole, const PartOf&);
Array withPart(const Array& whole, const PartOf&, const Array& part);

}  // namespace smalti::lang
