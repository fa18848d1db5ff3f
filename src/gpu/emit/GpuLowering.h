// From a kernel's body to device code: what every part of the lowering shares.
//
// All threads of a block run the whole body. Scalars are the same in every thread, so are the ways that control flow
// takes. A vector op is remembered, not computed; what needs its elements (a store, a reduction, a product, a loop)
// becomes a nest, in which each thread computes the elements that are its own, and everything that they are made of.
// What other threads need goes through memory, with a barrier between.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cpu/Unsupported.h"
#include "cpu/emit/PackedView.h"
#include "eval/Poison.h"
#include "gpu/device/KernelEnd.h"
#include "gpu/device/Primitives.h"
#include "gpu/emit/Hazards.h"
#include "gpu/emit/PrintBuffer.h"
#include "gpu/plan/ElementShare.h"
#include "gpu/plan/LaunchPlan.h"
#include "ir/Types.h"
#include "ir/facts/Attributes.h"
#include "ir/facts/Liveness.h"
#include "llvm/ADT/DenseMap.h"
#include "smalti/diagnostic.h"

namespace smalti::gpu {

using cpu::constantOf;
using cpu::NativeResult;
using cpu::unsupported;
using cpu::View;

class Stream;
struct ProductForm;

inline bool isVector(mlir::Value v) { return llvm::isa<mlir::VectorType>(v.getType()); }

/// Indices of an element, i64, one for each dimension.
using ElementIndex = llvm::SmallVector<Reg, 4>;

/// Values that cost at least this much per element (in additions) are computed once.
inline constexpr int kExpensiveElement = 16;

class GpuLowering {
  cpu::Arena shared_, global_;  // before all views: they give their places back

 public:
  GpuLowering(llvm::Module&, llvm::Function*, const LaunchPlan&, eval::Poison, mlir::Operation* root);

  Builder b;
  llvm::Module& module;
  llvm::Function* function;
  const LaunchPlan& plan;
  const eval::Poison poison;
  Primitives device;
  Hazards hazards;
  SourcePlace unsupportedAt;  ///< of the first op that has no device code
  Reg thread = nullptr;       ///< i32
  Reg workspace = nullptr;    ///< of this block, in global memory
  Reg sharedBase = nullptr;
  Reg status = nullptr;      ///< where a call that ends early says why
  Reg iterations = nullptr;  ///< slot of the iterations that are left
  std::vector<Reg> gridBounds;
  Stream* stream = nullptr;  ///< of operands of products across steps, where there are such; not owned
  PrintBuffer prints;        ///< of a kernel that prints
  View barrier;              ///< the barrier semaphore, where the kernel asks for it
  /// Products that are computed with a later op (RegisterPlan::sums).
  llvm::DenseMap<mlir::Operation*, std::shared_ptr<ProductForm>> waitingProducts;
  /// Of reductions that have memory of their own for what warps exchange, and a slot: which half of it this point uses.
  llvm::DenseMap<mlir::Operation*, View> exchanges;
  Reg exchangeNumber = nullptr;
  Reg random[3] = {};  ///< slots of the random generator, where there is one (ops/Random.cpp)

  // ---- values
  Reg scalar(mlir::Value);
  void setScalar(mlir::Value v, Reg r) { scalars_[v] = r; }
  /// A scalar that is computed from known ones, constants, and loads of refs that nothing writes; null: it is not.
  Reg scalarFrom(mlir::Value, llvm::DenseMap<mlir::Value, Reg>& known);
  bool hasRef(mlir::Value v) const { return refs_.contains(v); }
  const View& ref(mlir::Value v) const { return refs_.find(v)->second; }
  void setRef(mlir::Value v, View view) { refs_[v] = std::move(view); }
  /// A ref that accesses memory as elements of another width (cpu/emit/PackedView.h), which has no `ref`; null for
  /// others.
  const cpu::PackedView* packedRef(mlir::Value v) const {
    const auto found = packedRefs_.find(v);
    return found == packedRefs_.end() ? nullptr : &found->second;
  }
  void setPackedRef(mlir::Value v, cpu::PackedView view) { packedRefs_[v] = std::move(view); }
  /// A vector op whose elements are computed where they are needed; `box`: of a load, what it reads.
  void defer(mlir::Operation&, std::optional<View> box = std::nullopt);
  /// A vector value in memory, which all threads may read after the next `touch`.
  tl::expected<View, cpu::Unsupported> view(mlir::Value);
  void setView(mlir::Value v, View view) { views_[v] = std::move(view); }
  /// As `view`, but a load whose memory has not been overwritten is read in place.
  tl::expected<View, cpu::Unsupported> readable(mlir::Value);
  /// The value is made at `to`, of its shape.
  NativeResult computeInto(mlir::Value, const View& to);
  /// Elements of the value to their places, all computed before the first is stored.
  void storeRun(mlir::Value, const View& to, std::span<const ElementIndex> run);
  /// One element, in a nest or of every thread; null, and `failure` says why, when there is none.
  Reg element(mlir::Value, const ElementIndex&);
  /// Memories that the elements of a value are read from.
  MemorySet reads(mlir::Value) const;
  /// Some element of the memory is read for another place of the value.
  bool readsElsewhere(mlir::Value, int memory) const;
  /// Room for a value.
  View allocate(DType, std::span<const int64_t> shape);
  /// Room for memory of the kernel, undefined (semaphores: 0).
  View allocateUndefined(DType, DType undefined, std::span<const int64_t> shape);
  /// Elements of a value of up to this many, in row-major order, that every thread has in registers.
  static constexpr int64_t kKnownElements = 4;
  void setKnown(mlir::Value v, std::vector<Reg> elements) { known_[v] = std::move(elements); }
  int newMemory() { return nextMemory_++; }
  /// Whether the view may point to shared memory instead of global memory.
  bool isShared(const View& v) const { return inShared_.contains(v.memory); }
  void noteShared(int memory) { inShared_.insert(memory); }
  /// Each element of the memory is accessed by the same thread all the time: no other waits for it.
  void noteOwned(int memory) { owned_.insert(memory); }
  /// A slot that each thread has, which the optimiser makes a register.
  Reg slot(llvm::Type*);
  const Liveness& liveness() const { return liveness_; }

  // ---- values in registers (Fragments.cpp)
  /// A value or a ref in the threads' registers: a matrix, or a value per row of one.
  struct Fragment {
    Reg sums = nullptr;          ///< the thread's elements
    llvm::Type* type = nullptr;  ///< of one of them
    Distribution distribution;
    int64_t rows = 0;           ///< of the value
    int memory = View::kValue;  ///< of a ref
    bool pending = false;       ///< products that add to them may not have ended

    const ProductTile& tile() const { return distribution.tile; }
    bool perRow() const { return distribution.perRow; }
  };
  Fragment newFragment(const Distribution&, mlir::Type);
  llvm::Type* sumType(const ProductTile& t) { return cpu::storageType(b.getContext(), sumOf(t.dtype)); }
  void setFragment(mlir::Value v, Fragment f) { fragments_[v] = std::move(f); }
  /// The registers of a ref or a value; null: it is in memory, or consists of several.
  const Fragment* fragment(mlir::Value) const;
  /// The same of a ref, by its memory; null: it is in memory.
  const Fragment* resident(int memory) const;
  /// How the elements of the value are distributed, if they are computed from some that are in registers.
  std::optional<Distribution> distributionUnder(mlir::Value) const;
  /// Whether the value is computed where its elements are needed, and not kept anywhere.
  bool isDeferred(mlir::Value v) const {
    return deferred_.contains(v) && !fragments_.contains(v) && !views_.contains(v);
  }
  /// The f32 values that are rounded to this value of bf16 or f16 where its elements are needed, so that pairs of them
  /// can be rounded by one instruction; null: it is another value.
  mlir::Value unrounded(mlir::Value) const;
  /// Whether a value of that shape has all the elements that the threads could have.
  static bool coversAll(const Distribution&, std::span<const int64_t> shape);
  /// Rows of a distribution that are beyond the value's end, in threads that have others, too: code that only computes
  /// registers needs no branch for them if they are computed as copies of the last row.
  enum class RowsBeyond : uint8_t { skip, repeatLast };
  /// Each thread takes the elements that it has of a value of that shape: a matrix, perhaps after dimensions of 1, or a
  /// value per row.
  void forDistributed(const Distribution&, std::span<const int64_t> shape, RowsBeyond,
                      const std::function<void(const ElementIndex&)>& body);
  /// The element at hand, or the one of its row, of a fragment.
  Reg currentElement(const Fragment&);
  void setElement(const Fragment&, Reg element);
  /// i1: of the threads that have the same values per row, this is the one that stores them.
  Reg storesRows() { return b.CreateICmpEQ(b.CreateURem(thread, b.getInt32(4)), b.getInt32(0)); }

  // ---- threads
  /// What follows reads and writes these memories: a barrier where other threads must come first.
  void touch(const MemorySet& reads, const MemorySet& writes);
  void barrierNow();
  /// Each thread takes its share of the elements; consecutive threads, consecutive elements. No barrier inside.
  void forElements(std::span<const int64_t> shape, const std::function<void(const ElementIndex&)>& body);
  /// The same of sizes that are known when the code runs.
  void forElements(std::span<const Reg> sizes, const std::function<void(const ElementIndex&)>& body);
  /// The same in runs of consecutive elements, several together (plan/ElementShare.h): what reads memory comes before
  /// what writes it, so that each run is one access. Elements that stay in registers remain known afterwards.
  void forRuns(std::span<const int64_t> shape, const std::function<void(std::span<const ElementIndex>)>& body);
  /// The place of each element that a thread has in registers; in code that all later code follows.
  const std::vector<ElementIndex>& elementsInRegisters(const ElementShare&, std::span<const int64_t> shape);
  void byOneThread(const std::function<void()>& body);
  /// Row-major position → indices.
  ElementIndex placeOf(Reg linear, std::span<const int64_t> shape);
  Reg linearOf(const ElementIndex&, std::span<const int64_t> shape);
  void fill(const View& to, Reg element);

  // ---- control
  /// Goes on only where `ok`, which is the same in all threads, is true; else the call ends so.
  void require(Reg ok, KernelEnd otherwise = KernelEnd::fault);
  void loop(Reg begin, Reg end, Reg step, const std::function<void(Reg)>& body);
  /// A loop that carries registers.
  std::vector<Reg> carry(Reg begin, Reg end, Reg step, std::vector<Reg> start,
                         const std::function<std::vector<Reg>(Reg, const std::vector<Reg>&)>& body);
  void when(Reg condition, const std::function<void()>& body);
  void countRound();
  NativeResult lowerBlock(mlir::Block&);
  NativeResult lowerOp(mlir::Operation&);
  /// Before an op with regions: what has been loaded is kept where they may change memory, what is expensive is
  /// computed where they run more than once.
  NativeResult beforeRegions(mlir::Operation&, bool isLoop);
  /// What `body` makes known of values from outside is forgotten afterwards: it may not have run.
  NativeResult inRegion(const std::function<NativeResult()>& body);
  /// Loads whose values are needed later are made values: the memory is about to change. `store`: the op that changes
  /// it, which may itself read what is in the place that it writes.
  NativeResult keepLoads(int memory, mlir::Operation* store = nullptr, const View* box = nullptr,
                         mlir::Value stored = nullptr);
  /// Of the call's tensor maps (DeviceKernel::maps).
  Reg tensorMap(size_t number);
  Reg index(int64_t i) { return b.getInt64(static_cast<uint64_t>(i)); }
  int64_t sharedUsed() const { return sharedPeak_; }
  int64_t workspaceUsed() const { return global_.peakBytes(); }

  /// Elements that are computed while this lives are forgotten afterwards: their code may not have run.
  class Scope {
   public:
    explicit Scope(GpuLowering& l) : l_(l) { l_.memo_.emplace_back(); }
    ~Scope() { l_.memo_.pop_back(); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    GpuLowering& l_;
  };

  NativeResult failure;

  /// Records why there is no device code; returns null.
  Reg refuse(std::string why);

 private:
  struct Deferred {
    mlir::Operation* op = nullptr;
    std::optional<View> box;
    int cost = 0;   ///< of one element: about as many additions
    int depth = 0;  ///< of ops that are computed together
  };
  using Memo = std::vector<std::pair<ElementIndex, Reg>>;
  Reg compute(mlir::Value, const Deferred&, const ElementIndex&);
  Reg computeElementwise(mlir::Operation&, const ElementIndex&);
  Reg scalarLoadedFrom(mlir::Operation& load, llvm::DenseMap<mlir::Value, Reg>& known);
  Reg constantAt(mlir::Value, const ElementIndex&);
  NativeResult materialise(mlir::Value);
  /// The value is computed now: in the registers of all threads if it is small, else in memory.
  NativeResult settle(mlir::Value);
  bool staysInRegisters(mlir::Value, llvm::DenseSet<mlir::Operation*>& seen) const;
  bool isNeeded(mlir::Value, mlir::Operation* besides = nullptr) const;
  static bool isComputedWith(mlir::Value, mlir::Operation& user);
  int consumers(mlir::Value, llvm::DenseSet<mlir::Operation*>& seen) const;
  void releaseUpTo(int position);
  int lastNeed(mlir::Value) const;
  void addRun(const ElementShare&, std::span<const int64_t> shape, Reg number, std::vector<ElementIndex>& elements);
  Reg arenaPointer(const cpu::Arena::Block&, bool inShared);

  Liveness liveness_;
  llvm::DenseMap<mlir::Value, Fragment> fragments_;
  int64_t currentSum_ = -1, currentRow_ = -1;  ///< of those that a thread has: the element at hand, and its row
  llvm::DenseMap<mlir::Value, Reg> scalars_;
  llvm::DenseMap<mlir::Value, View> refs_, views_;
  llvm::DenseMap<mlir::Value, std::vector<Reg>> known_;
  llvm::DenseMap<mlir::Value, cpu::PackedView> packedRefs_;
  llvm::DenseMap<mlir::Value, Deferred> deferred_;
  std::vector<llvm::DenseMap<mlir::Value, Memo>> memo_;
  std::map<std::pair<Shape, int64_t>, std::vector<ElementIndex>> inRegisters_;  ///< by shape and length of runs
  llvm::DenseSet<mlir::Operation*> done_;
  llvm::DenseMap<mlir::Value, llvm::GlobalVariable*> constants_;
  llvm::DenseSet<int> inShared_, owned_;
  int64_t sharedPeak_ = 0;
  int nextMemory_ = 0;
};

/// Lowers one op that is neither scalar nor deferred; by name, one table per file of emit/ops.
using LowerOp = NativeResult (*)(GpuLowering&, mlir::Operation&);
using GpuOpRow = std::pair<std::string_view, LowerOp>;
LowerOp findLowering(mlir::Operation&);

/// Ops whose elements are other elements of their operands.
bool movesElementsHere(mlir::Operation&);
/// Whether the form of such an op is known: it is deferred then.
NativeResult checkMove(GpuLowering&, mlir::Operation&);
/// The element of its result.
Reg movedElement(GpuLowering&, mlir::Operation&, const ElementIndex&);

std::span<const GpuOpRow> atomicOps();
std::span<const GpuOpRow> concatenateOps();
std::span<const GpuOpRow> controlOps();
std::span<const GpuOpRow> convOps();
std::span<const GpuOpRow> memoryOps();
std::span<const GpuOpRow> printOps();
std::span<const GpuOpRow> refOps();
std::span<const GpuOpRow> productOps();
std::span<const GpuOpRow> randomOps();
std::span<const GpuOpRow> reduceOps();
std::span<const GpuOpRow> scalarOps();
std::span<const GpuOpRow> searchOps();
std::span<const GpuOpRow> syncOps();

}  // namespace smalti::gpu
