// Lowers a kernel's body to LLVM IR: the state and functions that all parts of the lowering share.
//
// Scalars become registers immediately. Vector ops are deferred, and computed by fused loop nests (nest/) at the points
// that the body's plan says (plan/BodyPlan.h). Values between nests are in the arena.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cpu/Processor.h"
#include "cpu/Report.h"
#include "cpu/Unsupported.h"
#include "cpu/emit/Arena.h"
#include "cpu/emit/SharedLoop.h"
#include "cpu/emit/View.h"
#include "cpu/nest/Schedule.h"
#include "cpu/plan/BodyPlan.h"
#include "cpu/runtime/KernelStatus.h"
#include "ir/Types.h"
#include "ir/facts/Attributes.h"
#include "llvm/ADT/DenseMap.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace smalti::cpu {

class FallbackOps;
struct MeasuredLowering;
struct PackedView;

/// The refusal of a body whose code would not follow its plan: an error in one of the two.
inline constexpr const char* kOtherPlan = "its code differs from its plan, which is a bug in Smalti";

/// What the code depends on besides its plan and the processor.
struct LowerOptions {
  eval::Poison poison = eval::Poison::intMin;
  bool countIterations = true;           ///< counts iterations of loops that may be endless (IterationLimit.h)
  bool devices = false;                  ///< whether other devices run the call at the same time (runtime/Devices.h)
  MeasuredLowering* measured = nullptr;  ///< receives the parts of code that measures itself (Measured.h); null: none
};

class NativeLowering {
 public:
  NativeLowering(llvm::Module&, llvm::Function*, const Processor&, const BodyPlan&, NativeReport&, FallbackOps&,
                 LowerOptions);
  ~NativeLowering();

  Builder b;
  llvm::Module& module;
  llvm::Function* function;
  const Processor& processor;
  const BodyPlan& plan;
  NativeReport& report;
  FallbackOps& interpreted;
  const LowerOptions options;
  Arena arena;
  /// Memory of scopes that other devices may access before this one enters the scope: undefined from the start of the
  /// call, and not shared with other values.
  struct ForPeers {
    std::shared_ptr<const Arena::Block> place;
    ArrayType type;
  };
  std::vector<ForPeers> forPeers;
  Reg arenaBase = nullptr, context = nullptr;
  Reg iterationsToCheck =
      nullptr;  ///< slot of the iteration counter; null: iterations are not counted (IterationLimit.h)
  /// Of loops and the kernel: how many loads their bodies contain whose bounds may be checked (ops/ReadOutside.h).
  llvm::DenseMap<mlir::Operation*, int64_t> checkedLoads;
  std::vector<Reg> gridBounds;  ///< i64
  View barrier;                 ///< the barrier semaphore, if the kernel uses it
  /// An entry of the packed-B cache: a packed operand that several products share.
  struct PackedB {
    std::shared_ptr<const Arena::Block> place;
    Reg from = nullptr;  ///< slots, by ReuseInfo::block: the operands that are packed there
  };
  std::map<std::string, PackedB> packedB;
  std::vector<SharedRegion> shared;  ///< emitted so far (SharedLoop.h)
  /// Concatenations whose blocks the only user, a product, reads directly (ConcatOperand.h).
  llvm::DenseMap<mlir::Value, std::vector<View>> concatOperands;

  // ---- values
  Reg scalar(mlir::Value);
  void setScalar(mlir::Value v, Reg r) { scalars_[v] = r; }
  const View& ref(mlir::Value v) const { return refs_.find(v)->second; }
  bool hasRef(mlir::Value v) const { return refs_.contains(v); }
  void setRef(mlir::Value v, View view) { refs_[v] = std::move(view); }
  /// A ref that accesses memory as elements of another width (PackedView.h), which has no `ref`; null: not such a ref.
  const PackedView* packedRef(mlir::Value v) const;
  void setPackedRef(mlir::Value v, PackedView view);
  /// Returns the memory of a vector value; `lowerBlock` reports a value that has none.
  View view(mlir::Value);
  /// The value's memory; null: it has none yet.
  const View* findView(mlir::Value v) const {
    auto at = views_.find(v);
    return at == views_.end() ? nullptr : &at->second;
  }
  void setView(mlir::Value v, View view);
  /// Allocates memory for a value between two nests, dense.
  View allocate(DType, std::span<const int64_t> shape);
  /// Allocates memory for an allocation of the kernel: undefined (semaphores: 0) from where its scope begins.
  View allocateScoped(DType, std::span<const int64_t> shape);
  int newMemory() { return nextMemory_++; }
  /// The plan of a tpu.matmul or tpu.conv that is not interpreted.
  const ProductOpPlan& productPlan(mlir::Operation& op) const { return *plan.ops.find(&op)->second.product; }

  // ---- control
  /// A function of this module, with an empty block, whose caller keeps all its registers, where LLVM has a convention
  /// for that. Calls take its convention.
  llvm::Function* newFunctionForRareCases(llvm::StringRef name, llvm::FunctionType*);
  /// Ends the call with that status unless `ok` is true.
  void require(Reg ok, KernelStatus otherwise = KernelStatus::fault);
  /// for (i = begin; i < end; i += step) body(i); i64.
  void loop(Reg begin, Reg end, Reg step, const std::function<void(Reg)>& body);
  /// if (condition) body();
  void when(Reg condition, const std::function<void()>& body);
  void ifElse(Reg condition, const std::function<void()>& body, const std::function<void()>& otherwise);
  /// Lowers the ops of the block but its terminator; then every value that is still needed is in memory or a register.
  NativeResult lowerBlock(mlir::Block&);
  NativeResult lowerOp(mlir::Operation&);
  /// Copies the elements of a view into another of the same shape.
  void copy(const View& from, const View& to);
  View denseCopy(const View&);
  void fill(const View& to, Reg element);
  Reg index(int64_t i) { return b.getInt64(static_cast<uint64_t>(i)); }

  // ---- deferred vector ops
  /// Defers a load or store of `box`.
  void addAccess(mlir::Operation& op, View box) { boxes_[&op] = std::move(box); }
  /// The box that a deferred load or store accesses.
  const View& boxOf(mlir::Operation* op) const { return boxes_.find(op)->second; }
  /// The memory of a store that the plan located before the current op (LocatedStore), in the shape of its value.
  const View& located(mlir::Operation* store) const { return located_.find(store)->second; }

 private:
  View at(DType, std::span<const int64_t> shape, std::shared_ptr<const Arena::Block>);
  int64_t placeBytes(DType, std::span<const int64_t> shape);
  NativeResult lowerHere(mlir::Operation&);
  NativeResult lowerScalar(mlir::Operation&);
  /// Adds the refused op to a refusal, unless that names an inner op already.
  NativeResult atOp(NativeResult, mlir::Operation&);
  /// What the plan has before the op's own code.
  NativeResult emitBefore(mlir::Operation&);
  NativeResult emitNests(const PlannedNests&);
  NativeResult locate(const LocatedStore&);

  std::map<KernelStatus, llvm::BasicBlock*> leaving_;  ///< blocks that end the call
  llvm::DenseMap<mlir::Value, Reg> scalars_;
  llvm::DenseMap<mlir::Value, View> refs_, views_;
  llvm::DenseMap<mlir::Value, std::shared_ptr<const PackedView>> packedRefs_;
  llvm::DenseMap<mlir::Operation*, View> boxes_;  ///< of deferred loads and stores
  llvm::DenseMap<mlir::Operation*, View> located_;
  int nextMemory_ = 0;
  NativeResult status_;
};

/// The element of a constant vector with equal elements.
Reg splatConstant(Builder&, mlir::Value);

/// The memory that a vector store writes, in the shape of its value; its bounds are checked.
tl::expected<View, Unsupported> storeBox(NativeLowering&, mlir::Operation& store);

/// Lowers any other op without memory effects: src/eval computes it on values in memory (InterpreterFallback.cpp).
NativeResult lowerByInterpreter(NativeLowering&, mlir::Operation&);

}  // namespace smalti::cpu
