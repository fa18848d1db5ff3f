// The event of each instruction for observers: made from a program's table of ops when an observer subscribes.
#pragma once

#include <vector>

#include "machine/flat/Program.h"

namespace smalti::machine::flat {

class InstructionEvents {
 public:
  /// The program must outlive this.
  explicit InstructionEvents(const FlatProgram&);
  /// The instruction's own op last, ops that come with it before.
  std::span<const InstructionEvent> of(const Instruction* i) const {
    const auto at = static_cast<size_t>(i - code_);
    return {events_.data() + first_[at], events_.data() + first_[at + 1]};
  }

 private:
  const Instruction* code_;
  std::vector<ValueType> types_;
  std::vector<OpInfo> ops_;
  std::vector<InstructionEvent> events_;
  std::vector<size_t> first_;  ///< per instruction: into `events_`; one more at the end
};

}  // namespace smalti::machine::flat
