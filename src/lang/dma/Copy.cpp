// Copies: ops "dma_start" and "dma_wait" of (src, dst, sem), of remote ones (src, dst, sem, send_sem, device_id).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lang/dma/Device.h"
#include "lang/trace/KernelOnly.h"
#include "lang/trace/Place.h"
#include "lang/trace/Trace.h"
#include "smalti/dma.h"

namespace smalti {
namespace {

using lang::AtPlace, lang::Trace;

std::string refStr(const Ref& r) { return r.node() ? r.node()->type.str() : "an empty Ref"; }

void checkTypes(const Ref& src, const Ref& dst) {
  if (!src.node() || !dst.node() || is_semaphore(src.dtype()) || is_semaphore(dst.dtype()))
    lang::refuse({.code = "SM6501",
                  .message = "DMA source and destination must be Refs of data",
                  .place = {},
                  .need = "two Refs",
                  .have = fmt::format("{} and {}", refStr(src), refStr(dst)),
                  .help = "the order is source, destination, semaphore"});
  if (src.dtype() != dst.dtype())
    lang::refuse({.code = "SM6501",
                  .message = "DMA source and target have different dtypes",
                  .place = {},
                  .need = refStr(src),
                  .have = refStr(dst),
                  .help = "a copy converts nothing: bitcast one of the Refs, or convert after the copy"});
  if (src.dtype() == DType::pred)
    lang::refuse({.code = "SM6501",
                  .message = "DMAs with bool dtypes are not supported",
                  .place = {},
                  .need = "numbers",
                  .have = refStr(src),
                  .help = "keep the mask as i32 and compare after the copy"});
}

void checkSemaphore(const Ref& sem) {
  if (sem.node() && is_semaphore(sem.dtype()) && sem.rank() == 0) return;
  const bool array = sem.node() && is_semaphore(sem.dtype());
  lang::refuse(
      {.code = "SM6502",
       .message = array ? "a copy takes one semaphore of an array of them" : "a copy needs a semaphore",
       .place = {},
       .need = "a ()-shaped DMA semaphore",
       .have = refStr(sem),
       .help = array ? "choose one: sem.at(i)" : "allocate one: semaphore_type::dma() in scratch or run_scoped"});
}

}  // namespace

void AsyncCopyDescriptor::record(const char* op, std::optional<bool> waitTarget, StartOptions options,
                                 const Location& at) const {
  AtPlace place(at);
  Trace& trace = lang::kernelTrace(op);
  std::vector<ValueId> operands{trace.use(src_), trace.use(dst_), trace.use(sem_)};
  if (send_) operands.push_back(trace.use(*send_));
  if (device_) operands.push_back(trace.use(*device_));
  lang::Attributes attributes{{"remote", is_remote()}};
  if (waitTarget)
    attributes.emplace_back("wait_target", *waitTarget);
  else
    attributes.emplace_back("priority", int64_t{options.priority});
  trace.record(op, std::move(operands), {}, std::move(attributes));
}

void AsyncCopyDescriptor::start(StartOptions options, Location at) const {
  AtPlace place(at);
  std::string wrong;
  if (options.priority < 0)
    wrong = fmt::format("DMA start priority must be non-negative: {}", options.priority);
  else if (options.priority > 1)
    wrong = fmt::format("only support priority 0 or 1, but got {}", options.priority);
  else if (options.priority > 0 && is_remote())
    wrong = "non-zero priority is not supported for remote DMA";
  else if (options.add)
    wrong = "DMA with add=True is not supported";
  if (!wrong.empty())
    lang::refuse({.code = "SM6503",
                  .message = std::move(wrong),
                  .place = {},
                  .need = "priority 0, or 1 for copies on this device, without add",
                  .help = options.add ? "copy to scratch and add there" : "leave the option out"});
  record("dma_start", std::nullopt, options, at);
}

void AsyncCopyDescriptor::wait(Location at) const {
  if (is_remote()) wait_send(at);
  wait_recv(at);
}

void AsyncCopyDescriptor::wait_send(Location at) const {
  AtPlace place(at);
  if (!is_remote())
    lang::refuse({.code = "SM6504",
                  .message = "Cannot `wait_send` on a local copy",
                  .place = {},
                  .need = "a copy of make_async_remote_copy",
                  .help = "call wait(): a local copy has one end"});
  record("dma_wait", false, {}, at);
}

void AsyncCopyDescriptor::wait_recv(Location at) const {
  AtPlace place(at);
  if (sem_.dtype() != DType::dma_semaphore)
    lang::refuse({.code = "SM6504",
                  .message = "dma_wait requires a DMA semaphore, but got a regular semaphore",
                  .place = {},
                  .need = "semaphore_type::dma()",
                  .have = refStr(sem_),
                  .help = "use semaphore_wait instead: the copy adds 1 to a regular semaphore"});
  record("dma_wait", true, {}, at);
}

AsyncCopyDescriptor make_async_copy(const Ref& src, const Ref& dst, const Ref& sem, Location at) {
  AtPlace place(at);
  lang::kernelTrace("make_async_copy");
  checkTypes(src, dst);
  checkSemaphore(sem);
  return {src, dst, sem, at};
}

AsyncCopyDescriptor async_copy(const Ref& src, const Ref& dst, const Ref& sem, StartOptions options, Location at) {
  const AsyncCopyDescriptor copy = make_async_copy(src, dst, sem, at);
  copy.start(options, at);
  return copy;
}

void sync_copy(const Ref& src, const Ref& dst, Location at) {
  run_scoped(
      [&](const Ref& sem) {
        const AsyncCopyDescriptor copy = make_async_copy(src, dst, sem, at);
        copy.start({}, at);
        copy.wait(at);
      },
      semaphore_type::dma({}, at));
}

AsyncCopyDescriptor make_async_remote_copy(const Ref& src, const Ref& dst, const Ref& send_sem, const Ref& recv_sem,
                                           const DeviceId& device_id, DeviceIdType type, Location at) {
  AtPlace place(at);
  lang::kernelTrace("make_async_remote_copy");
  checkTypes(src, dst);
  checkSemaphore(send_sem);
  checkSemaphore(recv_sem);
  return {src, dst, send_sem, recv_sem, lang::logicalId(device_id, type), at};
}

AsyncCopyDescriptor async_remote_copy(const Ref& src, const Ref& dst, const Ref& send_sem, const Ref& recv_sem,
                                      const DeviceId& device_id, DeviceIdType type, Location at) {
  const AsyncCopyDescriptor copy = make_async_remote_copy(src, dst, send_sem, recv_sem, device_id, type, at);
  copy.start({}, at);
  return copy;
}

Ref select_ref(const Operand& index, const std::vector<Ref>& refs) {
  AtPlace place(index.at());
  Trace& trace = lang::kernelTrace("select_ref");
  std::string wrong;
  if (index.rank() != 0 || !is_integer(index.dtype()))
    wrong = "the index of select_ref is no integer scalar";
  else if (refs.size() < 2)
    wrong = "select_ref needs at least two Refs";
  for (const Ref& r : refs)
    if (wrong.empty() &&
        (!r.node() || r.node()->type != refs[0].node()->type || r.memory_space() != refs[0].memory_space()))
      wrong = fmt::format("select_ref needs Refs of one type: {} and {} differ", refStr(refs[0]), refStr(r));
  if (!wrong.empty())
    lang::refuse({.code = "SM6507",
                  .message = std::move(wrong),
                  .place = {},
                  .need = "an integer and two or more Refs of the same shape, dtype and memory",
                  .help = "choose between blocks of one Ref with ref.at(i)"});
  std::vector<ValueId> operands{trace.use(index.array())};
  for (const Ref& r : refs) operands.push_back(trace.use(r));
  return trace.recordRef("select_ref", std::move(operands), refs[0].node()->type, refs[0].memory_space());
}

void touch(const Ref& ref, Location at) {
  AtPlace place(at);
  Trace& trace = lang::kernelTrace("touch");
  trace.record("touch", {trace.use(ref)}, {});
}

}  // namespace smalti
