// A kernel reduced to what determines its time: scalars, copies, semaphores, control flow; what happens between
// them to vectors is only an amount of work.
#pragma once

#include <string>
#include <vector>

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "ir/KernelPackage.h"
#include "sim/Work.h"

namespace smalti::sim {

/// The number of an operand: of a slot for numbers or for refs.
using Slot = int32_t;
inline constexpr Slot kNone = -1;

enum class Do : uint8_t {
  unknown,  ///< a number that the model does not compute
  bound,    ///< of a grid axis
  move,
  binary,
  select,
  loadNumber,
  storeNumber,
  allocate,
  slice,
  squeeze,
  other,  ///< another view of the same bytes
  spend,
  jump,
  jumpUnless,
  loopTest,  ///< jumps out when the counter has reached its end
  startCopy,
  waitCopy,
  signal,
  waitSignal,
  readSignal,
  finish,
};

enum class Binary : uint8_t {
  add,
  sub,
  mul,
  divS,
  divU,
  remS,
  remU,
  floorDivS,
  ceilDivS,
  minS,
  maxS,
  minU,
  maxU,
  bitAnd,
  bitOr,
  bitXor,
  shiftLeft,
  shiftRightS,
  shiftRightU,
  eq,
  ne,
  ltS,
  leS,
  gtS,
  geS,
  ltU,
  leU,
  gtU,
  geU,
  signExtend,
  zeroExtend,
  truncate,
  countLeadingZeros,
  popCount,
};

struct Instruction {
  Do what = Do::finish;
  Binary binary = Binary::add;
  uint8_t bits = 64;  ///< of a number
  Slot to = kNone, a = kNone, b = kNone, c = kNone;
  int32_t first = 0, count = 0;  ///< of `Code::lists`
  int32_t target = 0;            ///< of a jump; else of a table
  int32_t origin = -1;           ///< of `Code::origins`
};

/// Vectors between two events, and scalars.
struct Stretch {
  Work work;
  int64_t scalars = 0;
  std::vector<std::pair<mlir::Operation*, Work>> ops;
};

/// The origin of an unknown number.
struct Origin {
  std::string what;  ///< "input 1"
  SourcePlace place;
};

struct Code {
  std::vector<Instruction> instructions;
  std::vector<Stretch> stretches;
  std::vector<Slot> lists;
  std::vector<mlir::Type> types;  ///< of what is allocated, sliced to, squeezed to
  std::vector<Origin> origins;
  std::vector<std::pair<Slot, int64_t>> constants;
  std::vector<Slot> numberArguments, refArguments;  ///< by argument; kNone: it is not of that kind
  std::vector<Slot> results;                        ///< of an index map
  int32_t numbers = 0, refs = 0;
};

/// SM6903 for ops whose time or control flow is not known.
Result<Code> codeOf(mlir::func::FuncOp, const tpu::Chip&);

/// The value of a binary operation; `bits` of its operands. Division by zero gives 0.
int64_t compute(Binary, uint8_t bits, int64_t a, int64_t b);

}  // namespace smalti::sim
