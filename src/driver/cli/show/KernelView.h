// A kernel as shown to users: grid, operands with their windows and index maps, ops. Read from the module's attributes,
// so that it works for bare kernels too.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "driver/cli/Session.h"
#include "driver/term/Table.h"
#include "ir/KernelPackage.h"

namespace smalti::cli {

struct OperandView {
  std::string role;      ///< "prefetch 0", "input 0", "output 0", "operand 0" (bare kernel), "scratch 0"
  std::string space;     ///< "vmem", "smem", "any", …
  std::string array;     ///< "f32[4096]"; "" when not known
  std::string ref;       ///< its type in the kernel: "f32[1024]"
  std::string indexMap;  ///< "(i, k)"; "" when passed whole
  std::string notes;     ///< "element-indexed, padded", "synchronous", "aliases output 0"
};

struct KernelView {
  std::string name;
  std::string grid;       ///< "4 x 2 x ?"; "" without one
  std::string semantics;  ///< "parallel, arbitrary"
  std::vector<OperandView> operands;
  std::map<std::string, int64_t> ops;  ///< how often each occurs, index maps included
};

KernelView viewKernel(const KernelPackage&);

term::Table operandTable(const KernelView&);
Json toJson(const KernelView&);
/// Names of the grid's indices in index maps: i, j, k, …
std::string gridIndexName(size_t dim);

}  // namespace smalti::cli
