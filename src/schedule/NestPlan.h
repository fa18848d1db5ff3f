// What a loop nest makes, where and in which order.
#pragma once

#include "llvm/ADT/DenseMap.h"
#include "schedule/ElementMap.h"
#include "schedule/NestFacts.h"
#include "smalti/array.h"

namespace smalti::schedule {

struct Nest;
struct Segment;
class Surroundings;

/// An element that takes this many instructions, roughly, is expensive: worth a buffer, or a schedule. Fitted with
/// `./do bench cpu` on the processor that docs/performance.md names.
constexpr int64_t kExpensiveInstructions = 12;

/// Memory that a nest needs: row-major without gaps.
struct Buffer {
  DType dtype = DType::f32;
  Shape shape;
  mlir::Value value{};   ///< that is in it when the nest is done; null: it serves the nest alone
  mlir::Value reuses{};  ///< the value whose buffer this is from now on: nothing needs that any more; null: new memory
};

/// Something that a nest makes: memory it writes, or a reduction.
struct Root {
  enum class Kind : uint8_t { write, rowReduction, accumulation } kind = Kind::write;
  size_t op = 0;  ///< of the segment
  mlir::Value value, mask;
  ElementMap map;                  ///< of the value
  std::optional<size_t> buffer{};  ///< write: where; accumulation: the accumulators; absent: the memory of the store
  ElementMap targetMap;            ///< which element of that
  bool adds = false;               ///< write: add to what is there
  int64_t columns = 1;             ///< 1: once per row
  int phase = 0;
  int64_t cost = 1;  ///< instructions, roughly, to compute an element of the value
};

/// A row of a value that later phases need, in memory.
struct RowBuffer {
  size_t buffer = 0;
  ElementMap map;
  int phase = 0;  ///< that writes it
};

struct NestPlan {
  std::vector<Root> roots{};
  std::vector<Buffer> buffers{};
  llvm::DenseMap<mlir::Value, RowBuffer> rowBuffers{};
  int column = 0;          ///< the number of the column loop: rows come before
  bool flattened = false;  ///< one dense row instead of many short ones
  RowSchedule rows{};

  int phases() const;
};

/// Plans one nest of a segment.
NestPlan planNest(const Segment&, const Nest&, const Surroundings&);

}  // namespace smalti::schedule
