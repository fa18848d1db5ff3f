// Random small kernels, written down twice: as a module, for a proof, and as a program that is run here step by step,
// which says what the proof must not deny.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "../../machine/runtime/TextKernel.h"
#include "cpu/analysis/Parallel.h"

namespace smalti::cpu::testing {

/// A number that a body computes with: a constant plus a grid index or a loop's variable.
struct Number {
  int64_t constant = 0;
  int gridAxis = -1;  ///< -1: none
  int loop = -1;      ///< depth of a loop around it; -1: none
};

/// One op of a body over the refs of the kernel. Every load is stored to the sink, so that it is not dead.
struct Statement {
  enum Kind : uint8_t { load, store, maskedStore, condition, loop } kind = load;
  size_t ref = 0;
  Shape size;                 ///< of the box that is loaded or stored
  std::vector<Number> start;  ///< of it
  int gridAxis = 0;           ///< condition: of the index that is compared
  int64_t equals = 0;         ///< condition: with what
  bool negated = false;       ///< condition
  int64_t rounds = 0;         ///< loop
  std::vector<Statement> body;
};

/// Where the block of an output lies: grid indices as coordinates, -1 for 0.
struct BlockMap {
  int axis[2] = {-1, -1};
  /// If not empty: coordinate 0 is what the index of axis[0] looks up in these, a scalar prefetch operand.
  std::vector<int64_t> lookedUp = {};

  int64_t coordinate(size_t dim, const std::vector<int64_t>& point) const;
};

struct Body {
  std::vector<int64_t> grid;
  size_t scratches = 2;
  std::vector<BlockMap> outputs;  ///< refs after the scratches
  std::vector<Statement> statements;

  static constexpr int64_t kSide = 4;  ///< of every ref
  size_t refs() const { return scratches + outputs.size(); }
  Shape arrayOf(size_t output) const;
  /// The module; its function takes the grid indices, the outputs, a sink, the scratches.
  machine::testing::TextKernel kernel() const;
  /// The number of the function's argument that a ref is.
  size_t argumentOf(size_t ref) const;
};

/// Drawn by rapidcheck. `outputs`: how many at most.
Body someBody(size_t outputs);
/// Two stores to parts of a scratch and a load of one, each in some steps of a grid of two axes, whose points have
/// output blocks of their own.
Body someAccumulator();

/// Several steps add to the same block of an output, which one axis looks up: in ascending order more often than not.
Body someRuns();

/// An element of an array or a scratch: where it is from, and whether anything has been written there.
using Element = std::pair<int64_t, int64_t>;

/// What one run of the body does to its refs, by brute force.
struct Trace {
  std::vector<std::set<Element>> written;  ///< by ref
  std::vector<bool> readFirst, stored;     ///< by ref
};
Trace runOnce(const Body&, const std::vector<int64_t>& indices);

/// All values of arrays after the grid has run. Values are numbers that tell apart what was computed from what.
using Values = std::map<std::pair<size_t, Element>, uint64_t>;  ///< by (output, element of the array)
struct GridRun {
  Values values;
  bool undefined = false;  ///< something is made of elements that nobody has written
  bool readsUnwrittenOutput = false;
};
/// Names the group of a point. Points of a group run in order with scratch of their own that starts with `junk`; groups
/// run in descending order of their names. Null: all points run in order with one scratch.
using GroupOf = std::function<std::vector<int64_t>(const std::vector<int64_t>& point)>;
GridRun runGrid(const Body&, const GroupOf&, uint64_t junk);
/// Groups of the points that may run in any order, as code divides them: of a plan's shared axes and runs.
GroupOf groupsOf(const Body&, const ParallelPlan&);

/// All points of a grid, the last axis fastest.
std::vector<std::vector<int64_t>> pointsOf(const std::vector<int64_t>& grid);

}  // namespace smalti::cpu::testing
