// The specs of a pallas_call: grid, blocks, index maps, scratch, compiler parameters. Labels as (B6): docs/features.md.
#pragma once

#include <array>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "smalti/arity.h"
#include "smalti/gpu_params.h"
#include "smalti/kernel_types.h"
#include "smalti/mesh.h"
#include "smalti/ref.h"

namespace smalti {

// Short names of dtypes: pl::f32.
inline constexpr DType pred = DType::pred, i2 = DType::i2, i4 = DType::i4, i8 = DType::i8, i16 = DType::i16,
                       i32 = DType::i32, i64 = DType::i64, u2 = DType::u2, u4 = DType::u4, u8 = DType::u8,
                       u16 = DType::u16, u32 = DType::u32, u64 = DType::u64, bf16 = DType::bf16, f16 = DType::f16,
                       f32 = DType::f32, f64 = DType::f64, f8e5m2 = DType::f8e5m2, f8e4m3fn = DType::f8e4m3fn,
                       f8e4m3b11fnuz = DType::f8e4m3b11fnuz, f8e8m0fnu = DType::f8e8m0fnu, f4e2m1fn = DType::f4e2m1fn;

inline constexpr DimensionSemantics parallel = DimensionSemantics::parallel, arbitrary = DimensionSemantics::arbitrary,
                                    core_parallel = DimensionSemantics::core_parallel;

/// jax.ShapeDtypeStruct.
struct ShapeDtype {
  Shape shape;
  DType dtype = DType::f32;
  /// The memory space of the result; unspecified: any.
  MemorySpace memory_space = MemorySpace::unspecified;
  ArrayType type() const { return {dtype, shape}; }
};

/// Memory of a kernel: scratch, run_scoped (C11).
struct MemoryRef {
  Shape shape;
  DType dtype = DType::f32;
  MemorySpace space = MemorySpace::vmem;
  Location at{};
};

/// A memory space, which also creates memory in it: `vmem({8, 128}, f32)`.
struct Space {
  MemorySpace space;
  operator MemorySpace() const { return space; }
  MemoryRef operator()(Shape shape, DType dtype, Location at = Location::current()) const {
    return {std::move(shape), dtype, space, at};
  }
  /// Shape and dtype of an array or Ref.
  MemoryRef like(const Array& x, Location at = Location::current()) const { return {x.shape(), x.dtype(), space, at}; }
  MemoryRef like(const Ref& x, Location at = Location::current()) const { return {x.shape(), x.dtype(), space, at}; }
};
inline constexpr Space any_space{MemorySpace::any}, hbm{MemorySpace::hbm}, vmem{MemorySpace::vmem},
    smem{MemorySpace::smem}, host{MemorySpace::host}, semaphore_space{MemorySpace::semaphore};

/// Semaphores (G1): `semaphore_type::dma({2})` is an array of two.
namespace semaphore_type {
inline MemoryRef regular(Shape shape = {}, Location at = Location::current()) {
  return {std::move(shape), DType::semaphore, MemorySpace::semaphore, at};
}
inline MemoryRef dma(Shape shape = {}, Location at = Location::current()) {
  return {std::move(shape), DType::dma_semaphore, MemorySpace::semaphore, at};
}
}  // namespace semaphore_type

// --- Block shapes ----------------------------------------------------------------------------------------------------

/// A block of size 1, whose axis is removed from the Ref (B5). Python's None.
struct Squeezed {};
inline constexpr Squeezed squeezed{};
/// A block of `size` elements, for which the index map returns the first element; `padding`: virtual elements before
/// and after the array (B6).
struct Element {
  int64_t size = 1;
  std::pair<int64_t, int64_t> padding{0, 0};
};
/// The index map returns a `ds(start, size)` of at most `size` elements (B7). In emit_pipeline only.
struct BoundedSlice {
  int64_t size = 1;
};
/// One axis of a block: a size in elements, for which the index map returns block indices, or one of the above.
class BlockDim {
 public:
  enum class Kind : uint8_t { blocked, squeezed, element, bounded };
  template <class T, class = std::enable_if_t<std::is_integral_v<T>>>
  BlockDim(T size) : size(size) {}
  BlockDim(Squeezed) : kind(Kind::squeezed) {}
  BlockDim(std::nullopt_t) : kind(Kind::squeezed) {}
  BlockDim(Element e) : kind(Kind::element), size(e.size), padding(e.padding) {}
  BlockDim(BoundedSlice b) : kind(Kind::bounded), size(b.size) {}

  Kind kind = Kind::blocked;
  int64_t size = 1;
  std::pair<int64_t, int64_t> padding{0, 0};
  bool operator==(const BlockDim&) const = default;
};

// --- Index maps ------------------------------------------------------------------------------------------------------

/// An argument of an index map: a grid index (an i32), or a scalar-prefetch Ref, read by `[]`.
class IndexArg : public Array {
 public:
  explicit IndexArg(const Array& gridIndex);
  explicit IndexArg(const Ref& prefetch);
  IndexArg(const IndexArg&);
  IndexArg& operator=(const IndexArg&);
  ~IndexArg();
  operator const Ref&() const { return ref_; }
  template <class... I>
  Array operator()(const Index& first, const I&... rest) const {
    return read({first, Index(rest)...});
  }
#if defined(__cpp_multidimensional_subscript)
  template <class... I>
  Array operator[](const Index& first, const I&... rest) const {
    return read({first, Index(rest)...});
  }
#else
  Array operator[](const Index& index) const { return read({index}); }
#endif

 private:
  Array read(std::initializer_list<Index> index) const;
  Ref ref_;
};

namespace detail {
/// One entry that an index map returns.
using MapEntry = std::variant<Operand, Slice>;
/// The entries that an index map returns, from a tuple, pair, vector, array or nest of them.
class MapEntries {
 public:
  MapEntries();
  MapEntries(MapEntries&&) noexcept;
  ~MapEntries();
  void add(const Slice& s);
  void add(const Operand& v);
  template <class T>
  auto add(const T& v) -> std::enable_if_t<std::is_convertible_v<const T&, Operand>> {
    add(Operand(v));
  }
  template <class... T>
  void add(const std::tuple<T...>& t) {
    std::apply([&](const auto&... e) { (add(e), ...); }, t);
  }
  template <class A, class B>
  void add(const std::pair<A, B>& p) {
    add(p.first);
    add(p.second);
  }
  template <class T>
  void add(const std::vector<T>& v) {
    for (const T& e : v) add(e);
  }
  template <class T, size_t N>
  void add(const std::array<T, N>& v) {
    for (const T& e : v) add(e);
  }

  std::vector<MapEntry> list;
};
}  // namespace detail

/// Any callable that takes the grid indices, then the scalar-prefetch Refs, and returns a tuple of block indices.
class IndexMap {
 public:
  IndexMap();
  template <class F, class = std::enable_if_t<!std::is_same_v<std::decay_t<F>, IndexMap>>>
  IndexMap(F map, Location at = Location::current()) : IndexMap() {
    this->at = at;
    detail::forEachCount<IndexArg, detail::kMaxMapArguments, F>([&]<size_t... I>(std::index_sequence<I...>) {
      add(sizeof...(I), [map](const IndexArg* a) {
        detail::MapEntries entries;
        (void)a;
        entries.add(map(a[I]...));
        return entries;
      });
    });
  }
  IndexMap(const IndexMap&);
  IndexMap(IndexMap&&) noexcept;
  IndexMap& operator=(const IndexMap&);
  IndexMap& operator=(IndexMap&&) noexcept;
  ~IndexMap();
  explicit operator bool() const { return !calls_.empty(); }
  /// Argument counts it can be called with.
  std::vector<size_t> arities() const;
  /// nullopt: it does not take this number of arguments.
  std::optional<std::vector<detail::MapEntry>> operator()(const std::vector<IndexArg>& arguments) const;

  Location at;

 private:
  using Call = std::function<detail::MapEntries(const IndexArg*)>;
  void add(size_t arguments, Call call);
  std::vector<std::pair<size_t, Call>> calls_;
};

// --- Block specs -----------------------------------------------------------------------------------------------------

/// The number of windows of an operand, and their use (B9).
struct Buffered {
  int buffer_count = 2;                  ///< windows in VMEM, 1 or more; 1: copies and computation alternate
  bool use_lookahead = false;            ///< fetch the next different block, not just the next step's
  std::optional<RevisitMode> revisit{};  ///< of outputs: in which steps a block may come again
  int prefetched_count = 0;              ///< number of first blocks that the caller has fetched already
};

struct BlockSpecOptions {
  MemorySpace memory_space = MemorySpace::unspecified;
  std::optional<Buffered> pipeline_mode{};
};

/// pl.BlockSpec: the block of an operand that each program sees (B1). Without a shape the whole array; without a map
/// block 0.
struct BlockSpec {
  BlockSpec(Location at = Location::current());
  BlockSpec(std::vector<BlockDim> block_shape, IndexMap index_map = {}, BlockSpecOptions options = {},
            Location at = Location::current());
  /// The whole array, in a memory space: `BlockSpec(any_space)`.
  BlockSpec(Space space, Location at = Location::current());
  BlockSpec(const BlockSpec&);
  BlockSpec(BlockSpec&&) noexcept;
  BlockSpec& operator=(const BlockSpec&);
  BlockSpec& operator=(BlockSpec&&) noexcept;
  ~BlockSpec();

  std::optional<std::vector<BlockDim>> block_shape;
  IndexMap index_map;
  MemorySpace memory_space = MemorySpace::unspecified;
  std::optional<Buffered> pipeline_mode;
  Location at;
};

/// A grid size that each call passes, before its operands: one kernel for all sizes.
struct DynamicSize {};
inline constexpr DynamicSize dynamic{};

/// A grid axis: a size, a traced or concrete i32 scalar array (dynamic, A4), `dynamic`, or a name with one of them.
class GridDim {
 public:
  GridDim(DynamicSize);
  GridDim(std::string_view name, DynamicSize);
  template <class T, class = std::enable_if_t<std::is_integral_v<T>>>
  GridDim(T size) : GridDim(std::string_view(), Fixed{static_cast<int64_t>(size)}) {}
  GridDim(const Array& size);
  template <class T, class = std::enable_if_t<std::is_integral_v<T>>>
  GridDim(std::string_view name, T size) : GridDim(name, Fixed{static_cast<int64_t>(size)}) {}
  GridDim(const GridDim&);
  GridDim(GridDim&&) noexcept;
  GridDim& operator=(const GridDim&);
  GridDim& operator=(GridDim&&) noexcept;
  ~GridDim();

  int64_t size = 0;
  std::optional<Array> dynamic;
  std::string name;
  bool at_call = false;

 private:
  struct Fixed {
    int64_t size;
  };
  GridDim(std::string_view name, Fixed size);
};

/// pltpu.CompilerParams (L1).
struct CompilerParams {
  std::vector<DimensionSemantics> dimension_semantics{};  ///< per grid axis; empty: all arbitrary
  std::vector<bool> allow_input_fusion{};                 ///< per operand: XLA may fuse its producer into the kernel
  std::optional<int64_t> vmem_limit_bytes{};  ///< limit of the kernel's VMEM, in bytes; nullopt: the chip's default
  std::optional<int64_t> collective_id{};     ///< of the barrier semaphore: one number per kernel that uses it
  bool has_side_effects = false;              ///< XLA keeps the call even if its results are unused
  std::map<std::string, std::variant<bool, int64_t, double, std::string>> flags{};  ///< of Mosaic, by name
  std::optional<int64_t> internal_scratch_in_bytes{};  ///< VMEM for Mosaic's own temporaries
  bool disable_bounds_checks = false;                  ///< on the TPU; the checks here stay
  bool disable_semaphore_checks = false;               ///< on the TPU; the checks here stay
  bool skip_device_barrier = false;                    ///< no barrier between all devices before the kernel
  bool shape_invariant_numerics = true;                ///< results do not depend on the sizes of blocks
  GpuParams gpu{};                                     ///< the pipeline on GPUs

  ~CompilerParams();  // as Call's
};

/// pl.GridSpec / pltpu.PrefetchScalarGridSpec (A3, F1): the same as the fields of Call, as one value to pass around.
struct GridSpec {
  int num_scalar_prefetch = 0;
  std::vector<GridDim> grid{};
  std::vector<BlockSpec> in_specs{};
  std::vector<BlockSpec> out_specs{};
  std::vector<MemoryRef> scratch_shapes{};

  ~GridSpec();  // as Call's
};

/// The shapes of the results: one or several.
struct OutShapes : std::vector<ShapeDtype> {
  OutShapes();
  OutShapes(ShapeDtype one);
  OutShapes(std::initializer_list<ShapeDtype> all);
  OutShapes(std::vector<ShapeDtype> all);
  OutShapes(const OutShapes&);
  OutShapes(OutShapes&&) noexcept;
  OutShapes& operator=(const OutShapes&);
  OutShapes& operator=(OutShapes&&) noexcept;
  ~OutShapes();
};

/// The arguments of pallas_call (A1), in Pallas' order.
struct Call {
  OutShapes out_shape{};
  std::optional<GridSpec> grid_spec{};
  std::vector<GridDim> grid{};
  std::vector<BlockSpec> in_specs{};
  std::vector<BlockSpec> out_specs{};
  std::vector<MemoryRef> scratch_shapes{};
  int num_scalar_prefetch = 0;
  /// input → output, counting scalar-prefetch operands (F3).
  std::map<int, int> input_output_aliases{};
  /// Prints the kernel as traced and the Mosaic module (M1).
  bool debug = false;
  std::string name{};
  CompilerParams compiler_params{};
  /// The devices to which device ids by axis name, tuples of them and `axis_index` refer (H5); inside a shard_map those
  /// are its mesh's.
  std::vector<MeshAxis> mesh{};
  /// Estimated from the kernel if not given (L5).
  std::optional<CostEstimate> cost_estimate{};
  /// Written to the exported module as `kernel_metadata` (A14).
  std::map<std::string, std::string> metadata{};
  /// The memory space of inputs whose spec has none.
  MemorySpace memory_space = MemorySpace::unspecified;

  // Not inline, nor are the special members of its parts: otherwise a program with one kernel takes twice as long to
  // compile. Having a destructor it is copied, not moved.
  ~Call();
};

}  // namespace smalti
