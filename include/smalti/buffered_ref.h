// Manually managed buffers (J8): blocks of a Ref in HBM pass through several buffers in VMEM; the kernel decides when
// each is copied and awaited. `emit_pipeline` does this automatically.
//
//   const auto rows = pl::BufferedRef::input({{8, 128}, [](auto i) { return std::tuple{i, 0}; }}, x_hbm);
//   pl::run_scoped([&](const std::vector<pl::Ref>& memory) {
//     pl::BufferedRef x = rows.with_memory(memory);
//     x.copy_in(x_hbm, {0});
//     x = x.advance_copy_in_slot();
//     x.wait_in(x_hbm, {0});
//     use(x.current_ref());
//     x = x.advance_wait_in_slot();
//   }, rows.memory());
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "smalti/memory.h"
#include "smalti/ref.h"
#include "smalti/specs.h"

namespace smalti {

namespace lang {
class PipelineWindow;
}

enum class BufferType : uint8_t { input, output, input_output };

/// pltpu.BufferedRef. A value: functions return a changed copy. Its counters are i32 scalars, which a loop carries
/// (`cumulative_…`, `with_slot_index`); copy number n is in buffer n mod `buffer_count`.
class BufferedRef {
 public:
  /// Buffers for blocks of `spec`, in its memory space (default VMEM), of Refs with the type of `source`.
  /// `indices` below are the arguments of the index map. Errors SM6521 … SM6525, as for emit_pipeline.
  static BufferedRef create(const BlockSpec& spec, const Ref& source, BufferType type, int buffer_count = 2,
                            Location at = Location::current());
  static BufferedRef input(const BlockSpec& spec, const Ref& source, int buffer_count = 2,
                           Location at = Location::current()) {
    return create(spec, source, BufferType::input, buffer_count, at);
  }
  static BufferedRef output(const BlockSpec& spec, const Ref& source, int buffer_count = 2,
                            Location at = Location::current()) {
    return create(spec, source, BufferType::output, buffer_count, at);
  }
  static BufferedRef input_output(const BlockSpec& spec, const Ref& source, int buffer_count = 2,
                                  Location at = Location::current()) {
    return create(spec, source, BufferType::input_output, buffer_count, at);
  }

  /// The memory for run_scoped: the buffers, unless `with_window_ref` gave them, and a DMA semaphore for each and for
  /// each direction.
  std::vector<MemoryRef> memory() const;
  /// With Refs to the memory that `memory` describes. Error SM6527.
  BufferedRef with_memory(const std::vector<Ref>& memory) const;
  /// With the kernel's own memory as buffers: `[buffer_count, block…]`. Error SM6522.
  BufferedRef with_window_ref(const Ref& window) const;

  /// Resets all counters to 0.
  BufferedRef initialize_slots() const;
  /// Copies and waits so far: of an input in, of an output out.
  const Array& cumulative_copy_in() const { return copy_in_; }
  const Array& cumulative_wait_in() const { return wait_in_; }
  const Array& cumulative_copy_out() const { return copy_out_; }
  const Array& cumulative_wait_out() const { return wait_out_; }
  struct SlotIndex {
    std::optional<Operand> copy_in_slot{}, wait_in_slot{}, copy_out_slot{}, wait_out_slot{};
  };
  BufferedRef with_slot_index(const SlotIndex& slots) const;
  /// Increments the counter where `predicate` is true.
  BufferedRef advance_copy_in_slot(const Operand& predicate = true) const;
  BufferedRef advance_wait_in_slot(const Operand& predicate = true) const;
  BufferedRef advance_copy_out_slot(const Operand& predicate = true) const;
  BufferedRef advance_wait_out_slot(const Operand& predicate = true) const;

  /// Starts the copy of block `indices` of `source` into the current buffer for copies in; waits for it in the current
  /// one for waits. If the block reaches past the edge of the array, whole tiles are copied. Errors SM6522 (of an
  /// output; no memory; another type of Ref), SM6523 (indices).
  void copy_in(const Ref& source, const std::vector<Operand>& indices, Location at = Location::current()) const;
  void wait_in(const Ref& source, const std::vector<Operand>& indices, Location at = Location::current()) const;
  /// The same in the other direction. With one buffer, `copy_out` waits itself.
  void copy_out(const Ref& destination, const std::vector<Operand>& indices, Location at = Location::current()) const;
  void wait_out(const Ref& destination, const std::vector<Operand>& indices, Location at = Location::current()) const;

  /// The buffer that the kernel works on: of an input the last one awaited, of others the next one to be copied out.
  Ref current_ref(Location at = Location::current()) const;
  /// Block `indices` as an index of the array.
  std::vector<Index> compute_slice(const std::vector<Operand>& indices) const;

 private:
  BufferedRef() = default;
  const lang::PipelineWindow& bound(const char* verb, bool direction, const Location& at) const;
  BufferedRef advanced(Array BufferedRef::* count, const Operand& predicate) const;

  std::shared_ptr<const lang::PipelineWindow> window_;
  bool hasMemory_ = false;
  Array copy_in_, wait_in_, copy_out_, wait_out_;
};

}  // namespace smalti
