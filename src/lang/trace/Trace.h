// Tracing: while a kernel (or an index map) runs, every op of the language is recorded instead of computed.
//
// A trace is a `Function` of ir/program/Program.h: the same `Op`s as plain array programs, with StableHLO's names, and
// besides them the ops that only kernels have ("get", "swap", "program_id", "dma_start" …). Values of an outer
// block may be used in the regions of its ops. Refs are values too; what they refer to stands in `refs`.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/program/Program.h"
#include "lang/trace/Tracer.h"
#include "smalti/kernel_types.h"
#include "smalti/ref.h"
#include "smalti/specs.h"

namespace smalti::lang {

/// A recorded function: a kernel's body, an index map, or a program of arrays.
struct TracedFunction {
  Function function;
  std::vector<std::optional<MemorySpace>> refs;  ///< by ValueId: the memory space of a Ref, nullopt for other values
  std::vector<std::shared_ptr<const CalledKernel>> kernels;    ///< of a program: by Op::kernel
  std::vector<std::shared_ptr<const CustomFunction>> customs;  ///< by the attribute "custom"
};

/// Recording in progress: the tracer in force from its making to its end. One per kernel, index map or program; they
/// nest (an index map is traced on its own).
class Trace : public Tracer {
 public:
  /// `function`: traced by a transformation to be run again. Its ops are recorded unchanged, and values of the
  /// surrounding tracers become arguments, the `captures`.
  enum class Kind : uint8_t { kernel, program, function };
  /// `what` stands in messages: "kernel 'matmul'", "the index map of x".
  explicit Trace(std::string what, Kind = Kind::kernel);

  /// The trace that records on this thread, under whatever transforms; null: there is none.
  static Trace* current() { return Tracer::current().recording(); }

  Trace* recording() override { return this; }
  std::vector<Array> bind(OpCall) override;

  const std::string& what() const { return what_; }
  Kind kind() const { return kind_; }
  Array addArgument(ArrayType);
  Ref addRefArgument(ArrayType, MemorySpace);
  /// Records an op. Operands are Refs' or traced values' ids from `use`.
  std::vector<Array> record(const OpRecord&, std::vector<ValueId> operands, std::span<const ArrayType> results,
                            Attributes = {}, std::vector<Block> regions = {});
  /// An op whose result is a Ref into the memory of another, or new memory.
  Ref recordRef(const OpRecord&, std::vector<ValueId> operands, ArrayType, MemorySpace, Attributes = {});

  /// The id of a value in this trace: a traced one's own, a constant op for a concrete one. Error SM6104 for a
  /// concrete one in a kernel that is not a scalar, SM6105 for a value of another trace or of a block that has ended.
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

  /// Values of other tracers that a `function` uses: its arguments after those that were added.
  const std::vector<Array>& captures() const { return captures_; }

  /// Ends the trace: the function, without ops that nothing uses.
  TracedFunction finish(std::vector<Array> results = {});
  const TracedFunction& traced() const { return traced_; }
  MemorySpace spaceOf(ValueId v) const { return *traced_.refs[v]; }
  /// The number of the innermost block being traced: the body of a loop or branch has one of its own.
  int innermostBlock() const { return open_.back().id; }

 private:
  ValueId newValue(ArrayType, std::optional<MemorySpace>);
  Array tracer(ValueId);
  Ref ref(ValueId);
  /// Adds an op to the innermost block.
  void push(const OpRecord&, std::vector<ValueId> operands, std::vector<ValueId> results, Attributes,
            std::vector<Block> regions = {});
  std::vector<Array> recordKernel(const OpCall&);
  ValueId capture(const Array&);
  /// Whether the value is of this trace and of a block that has not ended.
  bool isOpen(uint64_t trace, ValueId) const;
  /// Where the op was called that gave a value of a block that has ended; unknown for a block's argument.
  SourcePlace placeOfValue(ValueId) const;
  /// Traces `body` into a new block, which it gives its arguments; what it returns are the block's results.
  Block openBlock(const std::function<std::vector<Array>(Block&)>& body);

  struct Open {
    int id;
    std::vector<Op>* ops;
  };
  std::string what_;
  Kind kind_;
  TracedFunction traced_;
  std::vector<Open> open_;    ///< blocks being traced, outermost first
  std::vector<int> blockOf_;  ///< by ValueId: the block that defines it
  std::vector<Array> captures_;
  std::vector<ValueId> capturedAs_;  ///< the argument of each capture
  int blocks_ = 0;
  TracerScope inForce_{*this};
};

/// Removes ops without effects whose results are unused.
void removeDead(TracedFunction&);

}  // namespace smalti::lang

namespace smalti::detail {
struct RefNode {
  uint64_t trace = 0;
  ValueId value = -1;
  ArrayType type;
  MemorySpace space = MemorySpace::vmem;
};
}  // namespace smalti::detail
