// Tracing: while a kernel (or an index map) runs, every op of the language is recorded instead of computed.
//
// A trace is a `Function` of ir/Program.h: the same `Op`s as plain array programs, with StableHLO's names, and beside
// them the ops that only kernels have ("get", "swap", "program_id", "dma_start" …; see ir/KernelOps.h). Values of an
// outer block may be used in the regions of its ops. Refs are values too; what they refer to stands in `refs`.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/Program.h"
#include "smalti/kernel_types.h"
#include "smalti/operand.h"
#include "smalti/ref.h"
#include "smalti/specs.h"

namespace smalti::lang {

using Attributes = std::vector<std::pair<std::string, Attribute>>;

/// What is recorded: a kernel's body or an index map.
struct TracedFunction {
  Function function;
  std::vector<std::optional<MemorySpace>> refs;  ///< by ValueId: the memory space of a Ref, nullopt for other values
};

/// Recording in progress. One per kernel or index map; they nest (an index map is traced on its own).
class Trace {
 public:
  /// `what` stands in messages: "kernel 'matmul'", "the index map of x".
  explicit Trace(std::string what);
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// The innermost trace of this thread; null outside kernels.
  static Trace* current();

  const std::string& what() const { return what_; }
  Array addArgument(ArrayType);
  Ref addRefArgument(ArrayType, MemorySpace);
  /// Records an op. Operands are Refs' or traced values' ids from `use`.
  std::vector<Array> record(std::string_view name, std::vector<ValueId> operands, std::span<const ArrayType> results,
                            Attributes = {}, std::vector<Block> regions = {});
  /// An op whose result is a Ref into the memory of another, or new memory.
  Ref recordRef(std::string_view name, std::vector<ValueId> operands, ArrayType, MemorySpace, Attributes = {});

  /// The id of a value in this trace: a traced one's own, a constant op for a concrete one. Error SM6104 for a
  /// concrete one that is no scalar, SM6105 for a value of another trace or of a block that has ended.
  ValueId use(const Array&);
  ValueId use(const Ref&);
  /// All of them.
  std::vector<ValueId> use(std::span<const Array>);

  /// Traces `body` into a block of its own: its arguments have the types given, what it returns are the block's results
  /// (operands of its "return").
  Block block(std::span<const ArrayType> arguments,
              const std::function<std::vector<Array>(std::span<const Array>)>& body);
  /// A block with Refs as arguments after the arrays: run_scoped.
  Block refBlock(std::span<const std::pair<ArrayType, MemorySpace>> refs,
                 const std::function<std::vector<Array>(std::span<const Ref>)>& body);

  /// Grid of the kernel being traced, for program_id; index maps and pipelines have their own.
  std::vector<int64_t> grid;
  std::vector<std::string> gridNames;
  /// The devices around the call.
  std::vector<MeshAxis> mesh;
  /// Inside an emit_pipeline: what program_id and num_programs give.
  std::vector<Array> gridIndices, gridSizes;

  /// Ends the trace: the function, without ops that nothing uses.
  TracedFunction finish(std::vector<Array> results = {});
  const TracedFunction& traced() const { return traced_; }
  MemorySpace spaceOf(ValueId v) const { return *traced_.refs[v]; }

 private:
  ValueId newValue(ArrayType, std::optional<MemorySpace>);
  Array tracer(ValueId);
  Ref ref(ValueId);
  /// Adds an op to the innermost block.
  void push(std::string_view name, std::vector<ValueId> operands, std::vector<ValueId> results, Attributes,
            std::vector<Block> regions = {});
  /// Whether the value is of this trace and of a block that has not ended.
  bool isOpen(uint64_t trace, ValueId) const;
  /// Traces `body` into a new block, which it gives its arguments; what it returns are the block's results.
  Block openBlock(const std::function<std::vector<Array>(Block&)>& body);

  struct Open {
    int id;
    std::vector<Op>* ops;
  };
  std::string what_;
  uint64_t serial_;
  TracedFunction traced_;
  std::vector<Open> open_;    ///< blocks being traced, outermost first
  std::vector<int> blockOf_;  ///< by ValueId: the block that defines it
  int blocks_ = 0;
  Trace* outer_;
};

/// Runs an op on arrays: records it in the current trace, or computes it now. `results` are the types of its results.
std::vector<Array> bind(std::string_view name, std::span<const Array> operands, std::span<const ArrayType> results,
                        Attributes = {}, std::vector<Block> regions = {});
/// The same with one result.
Array bind1(std::string_view name, std::initializer_list<Array> operands, ArrayType result, Attributes = {});

/// Removes ops without effects whose results nobody uses.
void removeDead(Function&);

}  // namespace smalti::lang

namespace smalti::detail {
struct RefNode {
  uint64_t trace = 0;
  ValueId value = -1;
  ArrayType type;
  MemorySpace space = MemorySpace::vmem;
};
}  // namespace smalti::detail
