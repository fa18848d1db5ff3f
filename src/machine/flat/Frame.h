// The state of one run of a flat program, as its instructions see it.
#pragma once

#include <array>
#include <type_traits>

#include "base/MaxDimensions.h"
#include "eval/Tensor.h"
#include "machine/flat/MatrixUnit.h"
#include "machine/flat/Program.h"

namespace smalti::machine::flat {

inline constexpr int kMaxRank = kMaxDimensions;
/// The mask of a single undefined element.
inline constexpr uint8_t kUndefined = 0;

/// Zeroed memory whose untouched pages cost nothing; grows on request.
class Pages {
 public:
  Pages() = default;
  Pages(Pages&&) noexcept;
  ~Pages();
  /// At least `bytes`, 64-byte aligned; null if they cannot be allocated. Growing discards the content.
  std::byte* reserve(int64_t bytes);
  std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
  int64_t bytes_ = 0;
};

enum class Stop : uint8_t { none, finished, blocked, failed };

struct Frame {
  const FlatProgram* program = nullptr;
  Slot* slots = nullptr;
  Ref* refs = nullptr;
  Core* core = nullptr;
  Observer* observer = nullptr;
  bool tracks = false;
  Stop stop = Stop::none;
  const Instruction* at = nullptr;  ///< the instruction being done
  Diagnostic failure;

  Pages arena, maskArena;
  std::array<Pages, 4> scratch;
  std::vector<Buffer*> allocated;  ///< per allocation site; null: not allocated
  MatrixUnits matrixUnits;
  std::vector<int32_t> results;
  bool resultsUndefined = false;

  const SourcePlace& place() const { return placeOf(at); }
  const SourcePlace& placeOf(const Instruction* i) const {
    return program->places[static_cast<size_t>(program->placeOf[static_cast<size_t>(i - program->code.data())])];
  }

  eval::Input input(const Operand& o) const { return {slots[o.slot].data, o.dtype, o.shape, o.splat}; }
  eval::Output output(const Operand& o) const { return {slots[o.slot].data, o.dtype, o.shape}; }
  const uint8_t* mask(const Operand& o) const { return slots[o.slot].mask; }
  void setDefined(const Operand& o) { slots[o.slot].mask = nullptr; }
  void setUndefined(const Operand& o);
  /// Memory for the result's mask, made the slot's mask; the caller fills it.
  uint8_t* newMask(const Operand& o) { return newMask(slots[o.slot]); }
  uint8_t* newMask(Slot&);
  /// Drops a mask that says "all defined".
  void tidyMask(const Operand& o);

  /// Integers of any storage width, sign-extended; i1 is 0 or 1.
  int64_t integer(const Operand&) const;
  bool undefined(const Operand& o) const { return slots[o.slot].mask && !slots[o.slot].mask[0]; }
  /// As `integer`, telling the observer when the value is undefined.
  int64_t integerUsed(const Operand&, UndefinedUse, const char* what);

  /// Temporary memory, valid until the same index is asked for again.
  std::byte* temporary(int index, int64_t bytes) { return scratch[static_cast<size_t>(index)].reserve(bytes); }

  /// Makes the run fail; returns false for `return frame.fail(…)`.
  bool fail(Diagnostic);
  bool fail(Status);
  void releaseSite(int site);
};

/// The handler of payloads whose `run` returns nothing, or whether to continue.
template <class P>
const Instruction* step(Frame& frame, const Instruction* i) {
  const auto& payload = *static_cast<const P*>(i->payload);
  if constexpr (std::is_void_v<decltype(payload.run(frame))>) {
    payload.run(frame);
    return i + 1;
  } else {
    return payload.run(frame) ? i + 1 : nullptr;
  }
}

/// Applies a data-movement function to a value and, when some element is undefined, to its mask.
template <class Fn>
void moveElements(Frame& frame, const Operand& in, const Operand& out, Fn&& fn) {
  fn(frame.input(in), frame.output(out));
  const uint8_t* mask = frame.mask(in);
  if (!mask) {
    frame.setDefined(out);
    return;
  }
  uint8_t* result = frame.newMask(out);
  fn(eval::Input{reinterpret_cast<const std::byte*>(mask), DType::pred, in.shape, in.splat},
     eval::Output{reinterpret_cast<std::byte*>(result), DType::pred, out.shape});
  frame.tidyMask(out);
}

}  // namespace smalti::machine::flat
