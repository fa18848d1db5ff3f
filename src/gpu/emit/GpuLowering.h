// Lowers a kernel's body to device code: what all parts of the lowering share.
//
// All threads of a block run the whole body, with the same scalars and the same control flow. A vector op is deferred.
// Each op that needs elements (a store, a reduction, a product, a loop) becomes a nest, in which a thread computes its
// own elements and all that they depend on. Values that other threads need go through memory, and a barrier separates
// the writes from the reads.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cpu/Unsupported.h"
#include "cpu/emit/PackedView.h"
#include "cpu/runtime/KernelStatus.h"
#include "eval/Poison.h"
#include "gpu/device/Primitives.h"
#include "gpu/emit/Hazards.h"
#include "gpu/emit/PrintBuffer.h"
#include "gpu/plan/ElementShare.h"
#include "gpu/plan/LaunchPlan.h"
#include "ir/Types.h"
#include "ir/facts/Attributes.h"
#include "ir/facts/Liveness.h"
#include "llvm/ADT/DenseMap.h"
#include "mlir/IR/BuiltinTypes.h"
#include "smalti/diagnostic.h"

namespace smalti::gpu {

using cpu::constantOf;
using cpu::KernelStatus;
using cpu::NativeResult;
using cpu::unsupported;
using cpu::View;

class Stream;
struct ProductForm;

inline bool isVector(mlir::Value v) { return llvm::isa<mlir::VectorType>(v.getType()); }

/// Indices of an element, i64, one for each dimension.
using ElementIndex = llvm::SmallVector<Reg, 4>;

/// Values that cost at least this much per element, in additions, are computed once. Chosen, not measured.
inline constexpr int kExpensiveElement = 16;

class GpuLowering {
  cpu::Arena shared_, global_;  // declared before all views, which release their memory when they are destroyed

 public:
  GpuLowering(llvm::Module&, llvm::Function*, const LaunchPlan&, eval::Poison, mlir::Operation* root);

  Builder b;
  llvm::Module& module;
  llvm::Function* function;
  const LaunchPlan& plan;
  const eval::Poison poison;
  Primitives device;
  Hazards hazards;
  SourcePlace unsupportedAt;  ///< the first op without device code
  Reg thread = nullptr;       ///< i32
  /// The same for the indices of elements in registers; null: `thread`. Steps and their branches have copies of their
  /// own, so that the indices of many elements are not computed before the loops over steps, where they would occupy
  /// registers.
  Reg threadOfElements = nullptr;
  Reg workspace = nullptr;  ///< memory of this block in global memory
  Reg sharedBase = nullptr;
  Reg kernelStatus = nullptr;  ///< pointer to the KernelStatus that the kernel reports
  Reg iterations = nullptr;    ///< slot: loop iterations that are left
  std::vector<Reg> gridBounds;
  Stream* stream = nullptr;  ///< of products whose operands are copied across steps; may be null; not owned
  PrintBuffer prints;        ///< for debug prints, if the kernel has any
  View barrier;              ///< the barrier semaphore, if the kernel uses it
  /// Products that are computed together with a later op (RegisterPlan::sums).
  llvm::DenseMap<mlir::Operation*, std::shared_ptr<ProductForm>> waitingProducts;
  /// Two buffers per reduction in registers for the partial results of warps (allocateReductionBuffers); slot: which of
  /// the two this point uses.
  llvm::DenseMap<mlir::Operation*, View> reductionBuffers;
  Reg reductionBufferHalf = nullptr;
  Reg random[3] = {};  ///< slots of the random generator, if the kernel uses it (ops/Random.cpp)

  // ---- values
  Reg scalar(mlir::Value);
  void setScalar(mlir::Value v, Reg r) { scalars_[v] = r; }
  /// Computes a scalar from known ones, constants, and loads of refs that nothing writes; null: it depends on more.
  Reg scalarFrom(mlir::Value, llvm::DenseMap<mlir::Value, Reg>& known);
  bool hasRef(mlir::Value v) const { return refs_.contains(v); }
  const View& ref(mlir::Value v) const { return refs_.find(v)->second; }
  void setRef(mlir::Value v, View view) { refs_[v] = std::move(view); }
  /// A ref that accesses memory as elements of another width (cpu/emit/PackedView.h) and has no `ref`; null for other
  /// refs.
  const cpu::PackedView* packedRef(mlir::Value v) const {
    const auto found = packedRefs_.find(v);
    return found == packedRefs_.end() ? nullptr : &found->second;
  }
  void setPackedRef(mlir::Value v, cpu::PackedView view) { packedRefs_[v] = std::move(view); }
  /// Defers a vector op: its elements are computed where they are needed. `box`: the memory that a load reads.
  void defer(mlir::Operation&, std::optional<View> box = std::nullopt);
  /// The vector value in memory, which all threads may read after the next `touch`.
  tl::expected<View, cpu::Unsupported> view(mlir::Value);
  void setView(mlir::Value v, View view) { views_[v] = std::move(view); }
  /// Like `view`, but a load whose memory has not been overwritten is read in place.
  tl::expected<View, cpu::Unsupported> readable(mlir::Value);
  /// Computes the value and stores it to `to`, which has its shape.
  NativeResult computeInto(mlir::Value, const View& to);
  /// Stores elements of the value, after all of them have been computed.
  void storeRun(mlir::Value, const View& to, std::span<const ElementIndex> run);
  /// Computes one element, in a nest or in every thread; null: `status` says why there is no code.
  Reg element(mlir::Value, const ElementIndex&);
  /// The memories that elements of the value are computed from.
  MemorySet reads(mlir::Value) const;
  /// Whether some element of the value is computed from an element of the memory at another index.
  bool readsElsewhere(mlir::Value, int memory) const;
  /// Allocates memory for a value.
  View allocate(DType, std::span<const int64_t> shape);
  /// Allocates undefined memory of the kernel (semaphores: 0).
  View allocateUndefined(DType, DType undefined, std::span<const int64_t> shape);
  /// The most elements of a value that every thread has in registers, in row-major order. Chosen, not measured.
  static constexpr int64_t kKnownElements = 4;
  void setKnown(mlir::Value v, std::vector<Reg> elements) { known_[v] = std::move(elements); }
  int newMemory() { return nextMemory_++; }
  /// Whether the view may point to shared memory instead of global memory.
  bool isShared(const View& v) const { return inShared_.contains(v.memory); }
  void noteShared(int memory) { inShared_.insert(memory); }
  /// Accesses need no barrier, since nothing writes the memory, or each element is always accessed by the same thread.
  void noteUnshared(int memory) { unshared_.insert(memory); }
  /// A stack slot of each thread, which the optimiser promotes to a register.
  Reg slot(llvm::Type*);
  const Liveness& liveness() const { return liveness_; }

  // ---- values in registers (Fragments.cpp)
  /// A value or a ref in the threads' registers: a matrix, or a value per row of one.
  struct Fragment {
    Reg sums = nullptr;          ///< slot of the thread's elements
    llvm::Type* type = nullptr;  ///< type of an element
    Distribution distribution;
    int64_t rows = 0;           ///< rows of the value
    int memory = View::kValue;  ///< memory number of a ref
    bool pending = false;       ///< products that add to the elements may be in flight

    const ProductTile& tile() const { return distribution.tile; }
    bool perRow() const { return distribution.perRow; }
  };
  Fragment newFragment(const Distribution&, mlir::Type);
  llvm::Type* sumType(const ProductTile& t) { return cpu::storageType(b.getContext(), sumOf(t.dtype)); }
  void setFragment(mlir::Value v, Fragment f) { fragments_[v] = std::move(f); }
  /// The registers of a ref or a value; null: it is in memory, or computed from several.
  const Fragment* fragment(mlir::Value) const;
  /// The registers of the ref with this memory number; null: it is in memory.
  const Fragment* registersOfMemory(int memory) const;
  /// The distribution of the value, if it is computed from values in registers.
  std::optional<Distribution> distributionUnder(mlir::Value) const;
  /// Whether the value is deferred and has not been materialised.
  bool isDeferred(mlir::Value v) const {
    return deferred_.contains(v) && !fragments_.contains(v) && !views_.contains(v);
  }
  /// The f32 value that this deferred bf16 or f16 value is rounded from, so that one instruction can round a pair of
  /// elements; null: the value is not of this form.
  mlir::Value unrounded(mlir::Value) const;
  /// Whether a value of this shape fills the distribution.
  static bool coversAll(const Distribution&, std::span<const int64_t> shape);
  /// What threads do for rows of the distribution beyond the value's end. Code that only computes registers needs no
  /// branch if such rows are copies of the last row.
  enum class RowsBeyond : uint8_t { skip, repeatLast };
  /// Emits `body` for each element that the thread has of a value of this shape: a matrix, perhaps after unit
  /// dimensions, or a value per row.
  void forDistributed(const Distribution&, std::span<const int64_t> shape, RowsBeyond,
                      const std::function<void(const ElementIndex&)>& body);
  /// The fragment's element at the index of the enclosing forDistributed, or the value of its row.
  Reg currentElement(const Fragment&);
  void setElement(const Fragment&, Reg element);
  /// i1: whether this thread stores the values per row, of which four threads have copies.
  Reg storesRows() { return b.CreateICmpEQ(b.CreateURem(thread, b.getInt32(4)), b.getInt32(0)); }

  // ---- threads
  /// Emits a barrier if the following accesses, which read and write these memories, need one.
  void touch(const MemorySet& reads, const MemorySet& writes);
  void barrierNow();
  /// Distributes the elements among the threads; consecutive threads take consecutive elements. `body` has no barrier.
  void forElements(std::span<const int64_t> shape, const std::function<void(const ElementIndex&)>& body);
  /// The same with sizes that are known at run time.
  void forElements(std::span<const Reg> sizes, const std::function<void(const ElementIndex&)>& body);
  /// The same in runs of consecutive elements, several at once (plan/ElementShare.h). `body` emits all reads before all
  /// writes, so that each run is one access. Elements in registers remain known afterwards.
  void forRuns(std::span<const int64_t> shape, const std::function<void(std::span<const ElementIndex>)>& body);
  /// The indices of the elements that a thread has in registers, computed where they dominate all later code.
  const std::vector<ElementIndex>& elementsInRegisters(const ElementShare&, std::span<const int64_t> shape);
  void byOneThread(const std::function<void()>& body);
  /// The indices of a row-major position.
  ElementIndex placeOf(Reg linear, std::span<const int64_t> shape);
  Reg linearOf(const ElementIndex&, std::span<const int64_t> shape);
  void fill(const View& to, Reg element);

  // ---- control
  /// Ends the call with `otherwise` unless `ok`, which is the same in all threads, is true.
  void require(Reg ok, KernelStatus otherwise = KernelStatus::fault);
  /// Notes how the call ended, unless it has ended otherwise.
  void note(KernelStatus end);
  void loop(Reg begin, Reg end, Reg step, const std::function<void(Reg)>& body);
  /// A loop that carries registers.
  std::vector<Reg> carry(Reg begin, Reg end, Reg step, std::vector<Reg> start,
                         const std::function<std::vector<Reg>(Reg, const std::vector<Reg>&)>& body);
  void when(Reg condition, const std::function<void()>& body);
  void countIteration();
  NativeResult lowerBlock(mlir::Block&);
  NativeResult lowerOp(mlir::Operation&);
  /// Materialises values before an op with regions: loads, if the regions may change memory; expensive values, if the
  /// regions are a loop and use them.
  NativeResult beforeRegions(mlir::Operation&, bool isLoop);
  /// What is known about values inside `body` is forgotten afterwards, since its code may not have run.
  NativeResult inRegion(const std::function<NativeResult()>& body);
  /// Materialises deferred loads of memory that is about to change, if they are needed later. `store`: the op that
  /// changes `box`; it may itself read the elements that it overwrites.
  NativeResult keepLoads(int memory, mlir::Operation* store = nullptr, const View* box = nullptr,
                         mlir::Value stored = nullptr);
  /// The address of one of the call's tensor maps (DeviceKernel::maps).
  Reg tensorMap(size_t number);
  Reg index(int64_t i) { return b.getInt64(static_cast<uint64_t>(i)); }
  int64_t sharedUsed() const { return sharedPeak_; }
  int64_t workspaceUsed() const { return global_.peakBytes(); }

  /// Elements that are computed during its lifetime are forgotten afterwards, since their code may not have run.
  class Scope {
   public:
    explicit Scope(GpuLowering& l) : l_(l) { l_.memo_.emplace_back(); }
    ~Scope() { l_.memo_.pop_back(); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    GpuLowering& l_;
  };

  /// The error says why there is no device code.
  NativeResult status;

  /// Records why there is no device code; returns null.
  Reg refuse(std::string why);

 private:
  struct Deferred {
    mlir::Operation* op = nullptr;
    std::optional<View> box;
    int cost = 0;   ///< approximate cost of an element, in additions
    int depth = 0;  ///< longest chain of ops that are fused
  };
  using Memo = std::vector<std::pair<ElementIndex, Reg>>;
  Reg compute(mlir::Value, const Deferred&, const ElementIndex&);
  Reg computeElementwise(mlir::Operation&, const ElementIndex&);
  Reg scalarLoadedFrom(mlir::Operation& load, llvm::DenseMap<mlir::Value, Reg>& known);
  Reg constantAt(mlir::Value, const ElementIndex&);
  /// Computes each element of the value once, by one thread: into its registers if they are distributed, else to
  /// memory.
  NativeResult computeOnce(mlir::Value);
  /// Computes the value now: a small one in the registers of every thread, another one as computeOnce does.
  NativeResult materialise(mlir::Value);
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
  int64_t currentSum_ = -1, currentRow_ = -1;  ///< numbers of the current element of the thread and of its row
  llvm::DenseMap<mlir::Value, Reg> scalars_;
  llvm::DenseMap<mlir::Value, View> refs_, views_;
  llvm::DenseMap<mlir::Value, std::vector<Reg>> known_;
  llvm::DenseMap<mlir::Value, cpu::PackedView> packedRefs_;
  llvm::DenseMap<mlir::Value, Deferred> deferred_;
  std::vector<llvm::DenseMap<mlir::Value, Memo>> memo_;
  std::map<std::pair<Shape, int64_t>, std::vector<ElementIndex>> inRegisters_;  ///< key: shape and length of runs
  llvm::DenseSet<mlir::Operation*> done_;
  llvm::DenseMap<mlir::Value, llvm::GlobalVariable*> constants_;
  llvm::DenseSet<int> inShared_, unshared_;
  int64_t sharedPeak_ = 0;
  int nextMemory_ = 0;
};

/// Lowers one op that is neither scalar nor deferred. Each file of emit/ops has a table by op name.
using LowerOp = NativeResult (*)(GpuLowering&, mlir::Operation&);
using GpuOpRow = std::pair<std::string_view, LowerOp>;
LowerOp findLowering(mlir::Operation&);

/// Whether each element of the op's result is an element of its operands.
bool movesElementsHere(mlir::Operation&);
/// Fails if the form of such an op is not supported.
NativeResult checkMove(GpuLowering&, mlir::Operation&);
/// Computes an element of its result.
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
