// Deadlock and livelock: what every program does, and who could have raised the semaphores that are waited on.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "machine/runtime/RunCores.h"

namespace smalti::machine {
namespace {

std::string atPlace(const SourcePlace& place) { return place.known() ? fmt::format(" at {}", place.str()) : ""; }

/// "scratch 1[2]": the semaphore's name and its index in the array.
std::string semaphoreName(const Ref& semaphore) {
  const Buffer& buffer = *semaphore.buffer;
  if (buffer.type.shape.empty()) return buffer.name;
  std::vector<int64_t> index(buffer.type.shape.size());
  int64_t rest = semaphore.offset;
  for (size_t d = index.size(); d-- > 0;) {
    const int64_t extent = std::max<int64_t>(1, buffer.type.shape[d]);
    index[d] = rest % extent;
    rest /= extent;
  }
  return fmt::format("{}[{}]", buffer.name, fmt::join(index, ", "));
}

/// Memref arguments come in the order prefetch, operands, scratch.
bool isArgument(const CompiledKernel& kernel, const Allocation& a, int argument) {
  const int prefetch = static_cast<int>(kernel.prefetch.size()), operands = static_cast<int>(kernel.operands.size());
  switch (a.kind) {
    case Allocation::Kind::prefetch:
      return argument == a.index;
    case Allocation::Kind::array:
    case Allocation::Kind::window:
      return argument == prefetch + a.index;
    case Allocation::Kind::scratch:
      return argument == prefetch + operands + a.index;
    default:
      return false;
  }
}

bool raises(const CompiledKernel& kernel, const SignalSite& site, const Ref& semaphore) {
  const auto& a = static_cast<const Allocation&>(*semaphore.buffer);
  switch (site.root) {
    case SignalSite::Root::barrier:
      return a.kind == Allocation::Kind::barrier;
    case SignalSite::Root::allocation:
      return a.kind == Allocation::Kind::region && a.place == site.allocation;
    case SignalSite::Root::argument:
      return isArgument(kernel, a, site.argument);
  }
  return false;
}

std::string whoCouldRaise(const Runtime& runtime, const Ref& semaphore) {
  std::vector<std::string> who;
  for (const SignalSite& site : runtime.kernel.signalSites) {
    if (!raises(runtime.kernel, site, semaphore)) continue;
    std::string text = fmt::format("the {}{}", site.dma ? "copy" : "signal", atPlace(site.place));
    if (std::find(who.begin(), who.end(), text) == who.end()) who.push_back(std::move(text));
  }
  std::string result = who.empty() ? "nothing in the kernel raises it" : fmt::format("{}", fmt::join(who, ", "));
  if (!who.empty()) result = "it could be raised by " + result;
  if (const SignalRecord* last = runtime.lastSignal(semaphore))
    result += fmt::format("; it was raised {} time(s), last by device {}{}", last->times, last->sender.device,
                          atPlace(last->sender.place));
  return result;
}

Diagnostic placeReport(const Runtime& runtime, const CoreExecution& p, std::string code) {
  Diagnostic d{.code = std::move(code), .message = "", .place = p.place()};
  d.where = runtime.context(p.actor());
  d.where.erase(d.where.begin());
  const std::string who = fmt::format("device {} core {}", p.actor().device, p.actor().core);
  switch (p.state()) {
    case RunState::finished:
      d.message = who + " has finished";
      d.place = {};
      break;
    case RunState::preempted:
      d.message = who + " is running";
      break;
    case RunState::blocked: {
      const CoreExecution::Waiting& w = p.waiting();
      d.message = fmt::format("{} waits on {}", who, semaphoreName(w.semaphore));
      d.place = w.place.known() ? w.place : d.place;
      d.need = fmt::format("a count of {}", w.amount);
      d.have = fmt::format("{}", semaphoreCount(w.semaphore));
      d.help = whoCouldRaise(runtime, w.semaphore);
      break;
    }
  }
  return d;
}

}  // namespace

Diagnostic deadlock(const Runtime& runtime, const std::vector<std::unique_ptr<CoreExecution>>& programs) {
  Diagnostic d{.code = "SM4103", .message = "", .place = {}};
  d.where = {fmt::format("kernel '{}'", runtime.kernel.name)};
  int waiting = 0;
  for (const auto& p : programs) {
    if (p->state() == RunState::blocked) {
      ++waiting;
      if (!d.place.known()) d.place = p->waiting().place;
    }
    d.related.push_back(placeReport(runtime, *p, "SM4103"));
  }
  d.message =
      fmt::format("deadlock: {} of {} program(s) wait on a semaphore and nothing is in flight that could raise it",
                  waiting, programs.size());
  d.need = "every wait met by signals or copies of as many counts or bytes";
  d.help = "compare each wait with the signals and copies named below: device ids, amounts, byte counts";
  return d;
}

namespace {

/// A run that was stopped: by which limit, and where every program was.
Diagnostic unfinished(Diagnostic d, const Runtime& runtime,
                      const std::vector<std::unique_ptr<CoreExecution>>& programs) {
  d.where = {fmt::format("kernel '{}'", runtime.kernel.name)};
  int64_t work = 0;
  for (const auto& p : programs) {
    work += p->work();
    if (p->state() != RunState::finished && !d.place.known()) d.place = p->place();
    d.related.push_back(placeReport(runtime, *p, d.code));
  }
  d.have = fmt::format("no end after {}", work);
  return d;
}

}  // namespace

Diagnostic livelock(const Runtime& runtime, const std::vector<std::unique_ptr<CoreExecution>>& programs) {
  return unfinished({.code = "SM4104",
                     .message = "the kernel did not end within the step limit",
                     .place = {},
                     .need = fmt::format("at most {} instructions and grid steps", runtime.options.stepLimit),
                     .help = "look for a loop whose condition never becomes false, or raise the step limit"},
                    runtime, programs);
}

Diagnostic stopped(const CompiledKernel& kernel) {
  return {.code = "SM9006",
          .message = "the run was stopped before its end",
          .place = {},
          .where = {fmt::format("kernel '{}'", kernel.name)},
          .need = "a kernel that ends in the time that the caller gives it",
          .help = "give it more time, or smaller inputs"};
}

Diagnostic stopped(const Runtime& runtime, const std::vector<std::unique_ptr<CoreExecution>>& programs) {
  Diagnostic d = unfinished(stopped(runtime.kernel), runtime, programs);
  d.have += " instructions and grid steps";
  return d;
}

}  // namespace smalti::machine
