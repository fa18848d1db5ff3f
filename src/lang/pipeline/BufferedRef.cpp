// BufferedRef: a pipeline's window whose copies and counts are the kernel's own business.
#include "smalti/buffered_ref.h"

#include <fmt/format.h>

#include "lang/pipeline/Conditions.h"
#include "lang/pipeline/PipelineWindow.h"
#include "lang/trace/KernelOnly.h"
#include "lang/trace/SourceLocationScope.h"

namespace smalti {
namespace {

lang::GridPoint pointOf(const std::vector<Operand>& indices) {
  lang::GridPoint point;
  for (const Operand& i : indices) point.push_back(lang::scalarI32(i));
  return point;
}

}  // namespace

BufferedRef BufferedRef::create(const BlockSpec& spec, const Ref& source, BufferType type, int buffer_count,
                                Location at) {
  lang::SourceLocationScope place(at);
  lang::kernelTrace("BufferedRef");
  BlockSpec buffered = spec;
  buffered.pipeline_mode = Buffered{buffer_count};
  BufferedRef b;
  b.window_ = std::make_shared<lang::PipelineWindow>("the BufferedRef", source, buffered, type != BufferType::output,
                                                     type != BufferType::input, nullptr, at);
  if (!b.window_->buffered())
    lang::refuse({.code = "SM6522",
                  .message = "a BufferedRef copies between two memories",
                  .place = {},
                  .need = "a Ref in another memory space than the spec's",
                  .have = "both in the same",
                  .help = "use the Ref itself: what is in VMEM needs no buffers"});
  return b.initialize_slots();
}

std::vector<MemoryRef> BufferedRef::memory() const { return window_->memory(); }

BufferedRef BufferedRef::with_memory(const std::vector<Ref>& memory) const {
  lang::checkAllocations(memory, window_->memory(), window_->at());
  auto window = std::make_shared<lang::PipelineWindow>(*window_);
  const Ref* next = memory.data();
  window->bind(next);
  BufferedRef b = *this;
  b.window_ = std::move(window);
  b.hasMemory_ = true;
  return b;
}

BufferedRef BufferedRef::with_window_ref(const Ref& ref) const {
  auto window = std::make_shared<lang::PipelineWindow>(*window_);
  window->useBuffer(ref);
  BufferedRef b = *this;
  b.window_ = std::move(window);
  return b;
}

BufferedRef BufferedRef::initialize_slots() const {
  return with_slot_index({.copy_in_slot = 0, .wait_in_slot = 0, .copy_out_slot = 0, .wait_out_slot = 0});
}

BufferedRef BufferedRef::with_slot_index(const SlotIndex& slots) const {
  BufferedRef b = *this;
  const auto set = [](Array& to, const std::optional<Operand>& count) {
    if (count) to = lang::scalarI32(*count);
  };
  set(b.copy_in_, slots.copy_in_slot);
  set(b.wait_in_, slots.wait_in_slot);
  set(b.copy_out_, slots.copy_out_slot);
  set(b.wait_out_, slots.wait_out_slot);
  return b;
}

BufferedRef BufferedRef::advanced(Array BufferedRef::* count, const Operand& predicate) const {
  BufferedRef b = *this;
  b.*count = lang::selectValue(predicate.array(), lang::plus(b.*count, 1), b.*count);
  return b;
}
BufferedRef BufferedRef::advance_copy_in_slot(const Operand& p) const { return advanced(&BufferedRef::copy_in_, p); }
BufferedRef BufferedRef::advance_wait_in_slot(const Operand& p) const { return advanced(&BufferedRef::wait_in_, p); }
BufferedRef BufferedRef::advance_copy_out_slot(const Operand& p) const { return advanced(&BufferedRef::copy_out_, p); }
BufferedRef BufferedRef::advance_wait_out_slot(const Operand& p) const { return advanced(&BufferedRef::wait_out_, p); }

const lang::PipelineWindow& BufferedRef::bound(const char* verb, bool direction, const Location& at) const {
  lang::SourceLocationScope place(at);
  if (!direction)
    lang::refuse(
        {.code = "SM6522",
         .message = fmt::format("{} of a BufferedRef that is only an {}", verb, window_->input() ? "input" : "output"),
         .place = {},
         .need = "input for copies in, output for copies out",
         .help = "make it with BufferedRef::input_output"});
  if (!hasMemory_)
    lang::refuse({.code = "SM6522",
                  .message = fmt::format("{} of a BufferedRef without memory", verb),
                  .place = {},
                  .need = "the Refs that run_scoped(body, buffered.memory()) gives to its body",
                  .help = "call with_memory(refs) there"});
  return *window_;
}

void BufferedRef::copy_in(const Ref& source, const std::vector<Operand>& indices, Location at) const {
  const lang::PipelineWindow w = bound("copy_in", window_->input(), at).of(source);
  w.startIn(w.blockAt(pointOf(indices)), copy_in_);
}
void BufferedRef::wait_in(const Ref& source, const std::vector<Operand>& indices, Location at) const {
  const lang::PipelineWindow w = bound("wait_in", window_->input(), at).of(source);
  w.waitIn(w.blockAt(pointOf(indices)), wait_in_);
}
void BufferedRef::copy_out(const Ref& destination, const std::vector<Operand>& indices, Location at) const {
  const lang::PipelineWindow w = bound("copy_out", window_->output(), at).of(destination);
  w.startOut(w.blockAt(pointOf(indices)), copy_out_);
}
void BufferedRef::wait_out(const Ref& destination, const std::vector<Operand>& indices, Location at) const {
  const lang::PipelineWindow w = bound("wait_out", window_->output(), at).of(destination);
  w.waitOut(w.blockAt(pointOf(indices)), wait_out_);
}

Ref BufferedRef::current_ref(Location at) const {
  return bound("current_ref", true, at).view({}, window_->output() ? copy_out_ : wait_in_);
}

std::vector<Index> BufferedRef::compute_slice(const std::vector<Operand>& indices) const {
  return window_->sourceSlice(window_->blockAt(pointOf(indices)));
}

}  // namespace smalti
