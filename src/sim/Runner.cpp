#include "sim/Runner.h"

#include <fmt/format.h>

namespace smalti::sim {
namespace {

/// Instructions between looks at the clock: about a millisecond.
constexpr uint64_t kInstructionsPerLook = uint64_t{1} << 16;

bool isHbm(const Buffer& b) { return b.space == tpu::MemorySpace::any || b.space == tpu::MemorySpace::hbm; }

}  // namespace

Runner::Runner(const Code& code, const tpu::Chip& chip, Memory& memory, std::span<const int64_t> grid,
               const Question& question)
    : code_(code),
      chip_(chip),
      memory_(memory),
      grid_(grid.begin(), grid.end()),
      question_(question),
      numbers_(static_cast<size_t>(code.numbers)),
      refs_(static_cast<size_t>(code.refs)),
      readFrom_(code.origins.size()),
      passed_(code.stretches.size()),
      deadline_(std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                                       std::chrono::duration<double>(question.timeLimitSeconds))) {
  for (const Origin& origin : code.origins) assumed_.push_back(question.assume.at(origin.place));
  for (const auto& [slot, value] : code.constants) numbers_[static_cast<size_t>(slot)] = {value};
}

void Runner::setNumber(size_t argument, int64_t value) {
  if (const Slot s = code_.numberArguments[argument]; s != kNone) numbers_[static_cast<size_t>(s)] = {value};
}

void Runner::setRef(size_t argument, const View& view) {
  if (const Slot s = code_.refArguments[argument]; s != kNone) refs_[static_cast<size_t>(s)] = view;
}

Runner::Number Runner::unknown(int32_t origin) const {
  const auto& assumed = assumed_[static_cast<size_t>(origin)];
  return assumed ? Number{*assumed} : Number{0, origin};
}

Diagnostic Runner::notKnown(const Instruction& i, const Number& n) const {
  const Origin& from = code_.origins[static_cast<size_t>(n.origin)];
  const ReadFrom& buffer = readFrom_[static_cast<size_t>(n.origin)];
  const std::string what = i.origin >= 0 ? code_.origins[static_cast<size_t>(i.origin)].what : "an address";
  const std::string here = from.place.str();
  Diagnostic d{.code = "SM6902",
               .message = fmt::format("{} depends on data that is not given", what),
               .place = i.origin >= 0 ? code_.origins[static_cast<size_t>(i.origin)].place : from.place};
  const Question::Source* source =
      buffer.operand && *buffer.operand < question_.sources.size() ? &question_.sources[*buffer.operand] : nullptr;
  if (source) {
    d.have = fmt::format("it is read from {}, which is {}", buffer.name, source->what);
    d.help = source->help;
    return d;
  }
  const std::string at = from.place.known() && !(from.place == d.place) ? " at " + here : "";
  d.have = (buffer.name.empty() ? "it comes from " + from.what : fmt::format("it is read from {}", buffer.name)) + at;
  const bool known = from.place.known();
  const std::string number = fmt::format("what line {} gives (--assume {}=NUMBER)", from.place.line, here);
  if (what.find("branch") != std::string::npos)
    d.help = "say what such branches do" + (known ? " (--assume always, --assume never), or " + number
                                                  : std::string(": --assume always, or --assume never"));
  else
    d.help = known ? "say " + number : "time a kernel whose loops do not depend on computed floats or vectors";
  return d;
}

Status Runner::run(Clock& clock) {
  at_ = 0;
  while (true) {
    const Instruction& i = code_.instructions[at_++];
    if (++instructions_ % kInstructionsPerLook == 0 && isLate())
      return fail({.code = "SM9012",
                   .message = "the model of the kernel's time timed out",
                   .place = {},
                   .need = fmt::format("at most {} s", question_.timeLimitSeconds),
                   .have = fmt::format("{} scalar instructions of its grid and loops so far", instructions_),
                   .help = "check the bounds of its loops, or raise --timeout-seconds"});
    if (i.what == Do::finish) return {};
    if (auto status = step(i, clock); !status) return status;
  }
}

Result<std::vector<int64_t>> Runner::results() const {
  std::vector<int64_t> out;
  for (const Slot s : code_.results) {
    const Number& n = numbers_[static_cast<size_t>(s)];
    if (!n.known()) {
      Diagnostic d = notKnown({}, n);
      d.message = "which block is fetched depends on data that is not given";
      return fail(std::move(d));
    }
    out.push_back(n.value);
  }
  return out;
}

Status Runner::step(const Instruction& i, Clock& clock) {
  const auto n = [&](Slot s) -> Number& { return numbers_[static_cast<size_t>(s)]; };
  const auto r = [&](Slot s) -> View& { return refs_[static_cast<size_t>(s)]; };
  switch (i.what) {
    case Do::unknown:
      n(i.to) = unknown(i.origin);
      break;
    case Do::bound:
      n(i.to) = {grid_[static_cast<size_t>(i.target)]};
      break;
    case Do::move:
      n(i.to) = n(i.a);
      break;
    case Do::binary: {
      const Number &a = n(i.a), &b = n(i.b);
      // A false condition decides whatever the other one is.
      const bool decided = i.binary == Binary::bitAnd && ((a.known() && a.value == 0) || (b.known() && b.value == 0));
      if (decided)
        n(i.to) = {0};
      else if (!a.known() || !b.known())
        n(i.to) = {0, a.known() ? b.origin : a.origin};
      else
        n(i.to) = {compute(i.binary, i.bits, a.value, b.value)};
      break;
    }
    case Do::select:
      n(i.to) = !n(i.a).known() ? n(i.a) : n(i.a).value != 0 ? n(i.b) : n(i.c);
      break;
    case Do::loadNumber: {
      const auto at = offsetOf(r(i.a), i);
      const auto value = at ? memory_.of(r(i.a)).read(*at) : std::nullopt;
      if (const Buffer& from = memory_.of(r(i.a)); !value)
        readFrom_[static_cast<size_t>(i.origin)] = {from.name, from.operand};
      n(i.to) = value ? Number{*value} : unknown(i.origin);
      break;
    }
    case Do::storeNumber:
      if (const auto at = offsetOf(r(i.a), i))
        memory_.of(r(i.a)).write(*at, i.b != kNone && n(i.b).known() ? std::optional(n(i.b).value) : std::nullopt);
      break;
    case Do::allocate: {
      View& v = r(i.to);
      if (v.buffer < 0)
        v = memory_.allocate(mlir::cast<mlir::MemRefType>(code_.types[static_cast<size_t>(i.target)]), "scratch");
      break;
    }
    case Do::slice:
      r(i.to) = sliceOf(i);
      break;
    case Do::squeeze:
      r(i.to) = squeezed(r(i.a), mlir::cast<mlir::MemRefType>(code_.types[static_cast<size_t>(i.target)]));
      break;
    case Do::other:
      r(i.to) = viewAs(r(i.a), mlir::cast<mlir::MemRefType>(code_.types[static_cast<size_t>(i.target)]));
      break;
    case Do::spend: {
      const Stretch& s = code_.stretches[static_cast<size_t>(i.target)];
      ++passed_[static_cast<size_t>(i.target)];
      clock.scalar(static_cast<double>(s.scalars) * chip_.time.scalarCycles);
      if (!s.ops.empty()) clock.compute(s.work);
      break;
    }
    case Do::jump:
      at_ = static_cast<size_t>(i.target);
      break;
    case Do::jumpUnless: {
      const Number& condition = n(i.a);
      bool taken = condition.value != 0;
      if (!condition.known()) {
        const Assume branches = question_.assume.branches;
        if (branches == Assume::nothing || i.count != 0) return fail(notKnown(i, condition));
        taken = branches == Assume::always;
      }
      if (!taken) at_ = static_cast<size_t>(i.target);
      break;
    }
    case Do::loopTest:
      if (!n(i.a).known()) return fail(notKnown(i, n(i.a)));
      if (!n(i.b).known()) return fail(notKnown(i, n(i.b)));
      if (n(i.a).value >= n(i.b).value)
        at_ = static_cast<size_t>(i.target);
      else
        ++rounds_;
      break;
    case Do::startCopy:
      startCopy(i, clock);
      break;
    case Do::waitCopy:
      return waitCopy(i, clock);
    case Do::signal:
      // Devices do the same: what this one sends to a neighbour, another one sends here.
      if (n(i.b).known())
        memory_.of(r(i.a)).semaphores[r(i.a).offset].signals.push_back(
            {i.count != 0 ? clock.signalled() : clock.now(), n(i.b).value});
      break;
    case Do::waitSignal:
      if (n(i.b).known()) waitSignal(memory_.of(r(i.a)).semaphores[r(i.a).offset], n(i.b).value, clock);
      break;
    case Do::readSignal:
      n(i.to) = {memory_.of(r(i.a)).semaphores[r(i.a).offset].count()};
      break;
    case Do::finish:
      break;
  }
  return {};
}

std::optional<int64_t> Runner::offsetOf(const View& v, const Instruction& i) const {
  int64_t offset = v.offset;
  for (int32_t d = 0; d < i.count; ++d) {
    const Number& index = numbers_[static_cast<size_t>(code_.lists[static_cast<size_t>(i.first + d)])];
    if (!index.known()) return std::nullopt;
    offset += index.value * v.strides[static_cast<size_t>(d)];
  }
  return offset;
}

View Runner::sliceOf(const Instruction& i) const {
  View v = refs_[static_cast<size_t>(i.a)];
  const auto shape = mlir::cast<mlir::MemRefType>(code_.types[static_cast<size_t>(i.target)]).getShape();
  int32_t next = i.first;
  for (size_t d = 0; d < v.rank; ++d) {
    const Number& start = numbers_[static_cast<size_t>(code_.lists[static_cast<size_t>(next++)])];
    if (start.known()) v.offset += start.value * v.strides[d];
  }
  for (size_t d = 0; d < v.rank; ++d) {
    if (!mlir::ShapedType::isDynamic(shape[d])) {
      v.shape[d] = shape[d];
    } else if (next < i.first + i.count) {
      const Number& size = numbers_[static_cast<size_t>(code_.lists[static_cast<size_t>(next++)])];
      if (size.known()) v.shape[d] = size.value;
    }
  }
  return v;
}

void Runner::startCopy(const Instruction& i, Clock& clock) {
  const View &from = refs_[static_cast<size_t>(i.a)], &to = refs_[static_cast<size_t>(i.to)];
  const bool remote = i.count != 0, reads = isHbm(memory_.of(from)), writes = isHbm(memory_.of(to));
  const Clock::Route route = remote ? Clock::Route::ici : reads || writes ? Clock::Route::hbm : Clock::Route::onChip;
  const double bytes = from.bytes(code_.types[static_cast<size_t>(i.target)]);
  if (clock.recorder && !clock.recorder->full()) {
    const std::string name = fmt::format("{} to {}", memory_.of(from).name, memory_.of(to).name);
    clock.recorder->nextCopy(name, name, clock.recorder->step());
  }
  int64_t device = 0;
  if (remote) {
    const Number& id = numbers_[static_cast<size_t>(code_.lists[static_cast<size_t>(i.first)])];
    device = id.known() ? id.value : -1;
    // Data that this device sends is read from its HBM, and data that it receives meanwhile is written to it.
    clock.countHbm(bytes * (static_cast<double>(reads) + static_cast<double>(writes)));
  }
  for (const View* end : {&from, &to})
    if (Buffer& buffer = memory_.of(*end); isHbm(buffer)) {
      buffer.movedBytes += bytes;
      ++buffer.copies;
    }
  const Clock::Copy copy = clock.start(route, bytes, device);
  memory_.copy(from, to);
  for (const Slot s : {i.b, i.c}) {
    if (s == kNone) continue;
    const View& semaphore = refs_[static_cast<size_t>(s)];
    memory_.of(semaphore).semaphores[semaphore.offset].arrivals.push_back({copy, bytes});
  }
}

void Runner::waitSignal(Semaphore& semaphore, int64_t amount, Clock& clock) {
  while (amount > 0 && !semaphore.signals.empty()) {
    Semaphore::Signal& first = semaphore.signals.front();
    clock.waitUntil(first.at);
    const int64_t taken = std::min(amount, first.amount);
    amount -= taken;
    first.amount -= taken;
    if (first.amount <= 0) semaphore.signals.pop_front();
  }
  // The remaining signals come from devices that behave differently: assume that they arrive one hop from now.
  if (amount > 0) clock.waitUntil(clock.signalled());
}

Status Runner::waitCopy(const Instruction& i, Clock& clock) {
  if (i.b == kNone) return {};
  clock.scalar(chip_.time.copyCycles);
  const View& view = refs_[static_cast<size_t>(i.b)];
  auto& arrivals = memory_.of(view).semaphores[view.offset].arrivals;
  double bytes = refs_[static_cast<size_t>(i.a)].bytes(code_.types[static_cast<size_t>(i.target)]);
  while (bytes > 0 && !arrivals.empty()) {
    Semaphore::Arrival& first = arrivals.front();
    clock.waitFor(first.copy);
    const double taken = std::min(bytes, first.bytes);
    bytes -= taken;
    first.bytes -= taken;
    if (first.bytes <= 0) arrivals.pop_front();
  }
  return {};
}

}  // namespace smalti::sim
