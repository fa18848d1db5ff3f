// A description of a fused loop nest for `smalti show --stage plan`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mlir/IR/Operation.h"
#include "smalti/array.h"

namespace smalti::schedule {
struct Segment;
struct Nest;
}  // namespace smalti::schedule

namespace smalti::cpu {

struct NestDetails;

/// A materialised value.
struct NestValue {
  std::string op;  ///< that makes it: "math.exp"
  DType dtype = DType::f32;
  Shape shape;
  bool reusesBuffer = false;  ///< it takes over the buffer of a value that is read for the last time
};

/// The vectors of a loop over columns.
struct NestVectors {
  int lanes = 1;
  int perIteration = 1;  ///< vectors that one iteration computes
  bool operator==(const NestVectors&) const = default;
};

struct NestSummary {
  int position = 0;      ///< among all that the body computes, from 1 in the order of the code
  std::string within{};  ///< enclosingControlFlow of its ops
  int segment = 0;       ///< number in the body; 0: the nest computes a single value that another op needs
  Shape rows{};          ///< of its loops; empty: one dense row
  int64_t columns = 1;
  std::vector<std::string> ops{};      ///< fused, in program order: "arith.mulf"
  int phases = 1;                      ///< of a row; each reduction of a row ends one
  int64_t rowBlock = 1;                ///< number of rows that run each phase together
  bool pipelinesLastPhase = false;     ///< a row's last phase runs during an earlier phase of the next row
  int64_t prefetchRows = 0;            ///< how many rows ahead memory is prefetched; 0: not at all
  int prefetchLevel = 0;               ///< the cache that is prefetched into
  int64_t bufferedValues = 0;          ///< number of values whose rows are buffered between phases
  std::vector<NestVectors> vectors{};  ///< that differ, in the order of the loops
  std::vector<NestValue> values{};     ///< materialised by the nest
  int64_t stores = 0, reductions = 0;
  bool skipsRows = false;         ///< rows that a mask discards are not computed
  int64_t sharedRows = 0;         ///< rows that a thread of the call takes at a time; 0: one thread computes all
  bool readsRowsInPlace = false;  ///< if a mask keeps all rows, its values are these rows in memory
  int64_t reciprocals = 0;        ///< divisors of rows that multiplications by their reciprocals replace
};

/// The innermost condition or loop around the op, with its line: "if, line 12"; "" if there is none.
std::string enclosingControlFlow(mlir::Operation&);

NestSummary summarise(const schedule::Segment&, const schedule::Nest&, const NestDetails&);

}  // namespace smalti::cpu
