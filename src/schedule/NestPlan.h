// The plan of a loop nest: what it computes, where the results go, and in which order.
#pragma once

#include "llvm/ADT/DenseMap.h"
#include "schedule/ElementMap.h"
#include "schedule/NestFacts.h"
#include "smalti/array.h"

namespace smalti::schedule {

struct Nest;
struct Segment;
class Surroundings;

/// A value is expensive if an element takes about this many instructions; a buffer or a schedule then pays. Fitted with
/// `./do bench cpu` on the processor that docs/performance.md names.
constexpr int64_t kExpensiveInstructions = 12;

/// A buffer of a nest: row-major without gaps.
struct Buffer {
  DType dtype = DType::f32;
  Shape shape;
  mlir::Value value{};   ///< the value that it holds after the nest; null: only the nest uses it
  mlir::Value reuses{};  ///< the dead value whose buffer it takes over; null: new memory
};

/// A result of a nest: a write to memory, or a reduction.
struct Root {
  enum class Kind : uint8_t { write, rowReduction, accumulation } kind = Kind::write;
  size_t op = 0;  ///< index in Segment::ops
  mlir::Value value, mask;
  ElementMap map;                  ///< map of `value`
  std::optional<size_t> buffer{};  ///< the target of a write, or the accumulators; nullopt: the store's memory
  ElementMap targetMap;            ///< map of the target
  bool adds = false;               ///< a write adds to the memory's contents
  int64_t columns = 1;             ///< 1: one element per row
  int phase = 0;
  int64_t cost = 1;  ///< approximate number of instructions per element
};

/// Buffered rows of a value that later phases need.
struct RowBuffer {
  size_t buffer = 0;
  ElementMap map;
  int phase = 0;  ///< the phase that writes it
};

struct NestPlan {
  std::vector<Root> roots{};
  std::vector<Buffer> buffers{};
  llvm::DenseMap<mlir::Value, RowBuffer> rowBuffers{};
  int column = 0;          ///< the number of the column loop, which follows the row loops
  bool flattened = false;  ///< the nest runs over one dense row instead of many short ones
  RowSchedule rows{};

  int phases() const;
};

/// Plans one nest of a segment.
NestPlan planNest(const Segment&, const Nest&, const Surroundings&);

}  // namespace smalti::schedule
