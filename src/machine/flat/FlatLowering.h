// Compiles a function: keeps which slot holds which value, and collects instructions. What each op becomes is in
// ops/*.cpp, found by name in ops/Table.h.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "llvm/ADT/DenseMap.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "ir/facts/Liveness.h"
#include "machine/flat/Frame.h"
#include "machine/flat/Program.h"
#include "machine/flat/Types.h"

namespace smalti::machine::flat {

struct FlatOpRow;  // ops/Table.h

class FlatLowering {
 public:
  FlatLowering(mlir::func::FuncOp function, const CompileOptions& options);
  Result<std::shared_ptr<const FlatProgram>> run();

  const CompileOptions& options() const { return options_; }
  const Liveness& liveness() const { return liveness_; }

  // ---- values
  bool isRef(mlir::Value v) const { return llvm::isa<mlir::MemRefType>(v.getType()); }
  /// The value as operand of an instruction about to be emitted.
  Operand operand(mlir::Value) const;
  std::vector<Operand> operands(mlir::ValueRange) const;
  int32_t ref(mlir::Value) const;
  /// A place for an op's result. `splat`: a vector of equal elements, kept as one. `reuse`: operands that the
  /// result may overwrite element by element when this is their last use.
  Operand define(mlir::Value result, bool splat = false, mlir::ValueRange reuse = {});
  int32_t defineRef(mlir::Value result);
  /// `result` is `source`'s memory under its own type.
  void alias(mlir::Value result, mlir::Value source);
  /// `result` is a vector of elements equal to the single element that `source` holds.
  void aliasSplat(mlir::Value result, mlir::Value source);
  /// A scalar (or splat) known at compile time, `element` in storage form.
  void constant(mlir::Value result, const void* element);
  /// A dense constant; `data` holds all elements in storage form.
  void denseConstant(mlir::Value result, std::span<const std::byte> data);
  /// A scalar slot that belongs to no value.
  Operand scratchScalar(DType);
  /// Inputs of a loop or branch: makes `to` hold what `from` holds, all at once (they may be permuted).
  void moveAll(mlir::ValueRange from, mlir::ValueRange to);
  /// A place for a block argument or a result of control flow, written by `moveAll`.
  void defineMerged(mlir::Value);
  /// After the control flow that writes it: from now on the place holds the value.
  void settleMerged(mlir::Value);
  /// When `value` is defined, let it be in the place of `merged` if that is free then.
  void requestCoalescing(mlir::Value value, mlir::Value merged) { coalescing_[value] = merged; }

  // ---- code
  int here() const { return static_cast<int>(program_->code.size()); }
  Instruction& emit(Handler);
  template <class P>
  void emit(P payload) {
    const bool quiet = P::kQuiet;
    const int quietSince = quietSince_;
    auto owned = std::make_unique<const P>(std::move(payload));
    Instruction& i = emit(&step<P>);
    i.payload = owned.get();
    program_->payloads.push_back(std::move(owned));
    if (quiet) quietSince_ = quietSince;
  }
  /// Keeps a payload that instructions already point to.
  void keep(std::unique_ptr<const Payload> payload) { program_->payloads.push_back(std::move(payload)); }
  Instruction& at(int index) { return program_->code[static_cast<size_t>(index)]; }
  /// The same, put before an instruction that is there already (nothing after it may be a jump's target).
  template <class P>
  void emitBefore(int index, P payload) {
    emit(std::move(payload));
    moveLastTo(index);
  }
  /// The instruction of `block` whose only result is `value`, if nothing but checks of bounds came after it; else -1.
  /// Sees through reshapes of values that are used only once.
  int latestInstruction(mlir::Value value, mlir::Block*) const;
  /// Instructions from `begin` to here repeat: values from before that they use live until here.
  void closeLoop(int begin);

  // ---- ops
  /// Ops of the block but its terminator.
  Status lowerBody(mlir::Block&);
  /// SM4001 for an op that the machine cannot run.
  tl::unexpected<Diagnostic> refuse(mlir::Operation&, std::string why = {}) const;
  int identity(mlir::Operation& op) const { return liveness_.begin(&op); }

  /// Allocation sites of the innermost open scope (function or tpu.region).
  int addSite(AllocationSite);
  void openScope() { scopes_.emplace_back(); }
  /// Emits the release of what the scope allocated.
  void closeScope();

  FlatProgram& program() { return *program_; }

 private:
  /// Memory in the arena shared by a group of values that are never alive together, or by aliases.
  struct Storage {
    int64_t bytes = 0;
    int first = -1, last = -1;  ///< instructions between which it is needed
    int lastUse = -1;           ///< position (Liveness) of the last use of any value in it
  };
  struct Value {
    int32_t slot = -1;
    bool splat = false;
    int32_t storage = -1;  ///< -1: inline or constant
  };

  Status lowerOp(mlir::Operation&);
  /// From now on instructions are this op's; what they were before.
  /// The facts about an op that depend only on its name.
  struct KnownName {
    int32_t number = 0;              ///< index into OpTable::names
    const FlatOpRow* row = nullptr;  ///< null: an element-wise op, or the function's terminator
  };
  KnownName known(mlir::Operation&);
  int32_t enterOp(mlir::Operation&, KnownName);
  int32_t typeNumber(mlir::Type);
  int32_t placeNumber();
  /// Assigns each op of a block without instructions to the op whose events include it.
  void attachOps(std::span<const int32_t> ops);
  void moveLastTo(int index);
  int32_t newSlot(SlotInit);
  int32_t newStorage(int64_t bytes);
  void bind(mlir::Value, Value);
  void touch(int32_t storage, int instruction);
  bool coalesce(mlir::Value result, mlir::ValueRange reuse, int64_t bytes, Value& out);
  bool takeOperand(mlir::Value result, mlir::ValueRange reuse, int64_t bytes, Value& out);
  Operand as(mlir::Type, const Value&) const;
  void copy(const Operand& from, const Operand& to);
  Status plan();
  Diagnostic tooLargeDiagnostic(SourcePlace) const;

  mlir::func::FuncOp function_;
  CompileOptions options_;
  Liveness liveness_;
  std::shared_ptr<FlatProgram> program_;
  llvm::DenseMap<mlir::Value, Value> values_;
  llvm::DenseMap<mlir::Value, int32_t> refs_;
  llvm::DenseMap<mlir::Value, mlir::Value> coalescing_;
  std::vector<Storage> storages_;
  std::vector<int32_t> storageOfSlot_;
  llvm::DenseMap<int32_t, int> definedAt_;  ///< slot → its op's only instruction
  int quietSince_ = 0;                      ///< from here on there are only checks of bounds
  std::vector<std::vector<int>> scopes_;
  mlir::Operation* current_ = nullptr;
  mlir::LocationAttr location_;  ///< that the last of the program's places is of
  int32_t currentOp_ = 0;        ///< index into OpTable::ops
  llvm::DenseMap<mlir::Type, int32_t> typeNumbers_;
  llvm::DenseMap<const void*, KnownName> names_;  ///< by op name
  bool tooLarge_ = false;
  int depth_ = 0;
};

/// Limit of all values alive at once.
inline constexpr int64_t kMaxValueBytes = int64_t{8} << 30;

/// Copies a value from slot to slot, mask included (i->a to i->out, n elements).
const Instruction* copyScalar(Frame&, const Instruction*);

}  // namespace smalti::machine::flat
