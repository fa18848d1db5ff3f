#include "machine/observers/race/Text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace smalti::machine::race {
namespace {

std::string at(const SourcePlace& place) { return place.known() ? " at " + place.str() : ""; }

std::string stepText(const Party& p) {
  return p.step && !p.step->empty() ? fmt::format(" in grid step ({})", fmt::join(*p.step, ", ")) : "";
}

std::string who(const Scene& scene, int device, int core) {
  std::string text = scene.numDevices > 1 ? fmt::format("device {}", device) : "";
  if (scene.numCores > 1) text += fmt::format("{}core {}", text.empty() ? "" : " ", core);
  return text.empty() ? "the kernel" : text;
}
std::string who(const Scene& scene, const Party& p) { return who(scene, p.device, p.core); }

std::string_view verb(const Side& s) { return s.write ? "written" : "read"; }
std::string_view kind(const Side& s) {
  return s.party->copy ? "a copy" : s.party->isWindow() ? "the pipeline" : "the kernel";
}

/// "written by the copy from input 0 to output 0 that device 1 starts at f.py:3 in grid step (0)".
std::string phrase(const Scene& scene, const Side& s) {
  const Party& p = *s.party;
  if (p.copy)
    return fmt::format("{} by the copy from {} to {} that {} starts{}{}", verb(s), p.copy->source, p.copy->target,
                       who(scene, p), at(p.copy->place), stepText(p));
  if (p.isWindow())
    return fmt::format("{} by the pipeline of {}{}", s.write ? "written back" : "fetched", who(scene, p), stepText(p));
  return fmt::format("{} by {}{}{}", verb(s), who(scene, p), at(p.where()), stepText(p));
}

/// The pair is a program and its own copy in flight.
Diagnostic ownCopy(const Side& first, const Side& second) {
  const Copy& copy = *first.party->copy;
  const bool onSource = !first.write;
  Diagnostic d{.code = onSource ? "SM4107" : "SM4108", .message = "", .place = second.party->where()};
  d.message = onSource ? fmt::format("{} is overwritten while a copy reads it", copy.source)
                       : fmt::format("{} is {} while a copy writes it", copy.target, verb(second));
  d.need = onSource ? "a wait for the copy before its source is written"
                    : "a wait for the copy before its destination is used";
  d.have = fmt::format("{}{} between the start of the copy from {} to {}{} and its wait",
                       second.party->copy         ? "another copy"
                       : second.party->isWindow() ? "the pipeline's copy"
                                                  : "an access",
                       at(second.party->where()), copy.source, copy.target, at(copy.place));
  d.help = "move the wait before this access, or use another buffer slot";
  return d;
}

/// The order that is missing, and one thing to try.
void advise(const Scene& scene, const Side& first, const Side& second, Diagnostic& d) {
  const Party &a = *first.party, &b = *second.party;
  const AllocationId& memory = scene.allocation;
  const auto owns = [&](const Party& p) {
    return p.device == memory.device && (memory.core < 0 || p.core == memory.core);
  };
  if (a.isWindow() && b.isWindow()) {
    d.need = "blocks that only one core writes: a grid axis along which values are carried is `arbitrary`";
    d.help = "mark the axis `arbitrary`, or let the index map give each core blocks of its own";
  } else if (a.copy && b.copy && first.write && second.write) {
    d.need = fmt::format(
        "the second copy to start when the first is known to have arrived: a signal of {}, which has "
        "waited for the first ({}), for which the sender of the second waits",
        who(scene, a.copy->targetDevice, a.copy->targetCore), a.copy->received);
    d.help = "give each sender a slot and a semaphore of its own, or signal back when the slot may be written again";
  } else if (a.copy && first.write && !b.copy && owns(b)) {
    d.need = fmt::format(
        "a wait of {} for the copy ({}) before it uses the memory; or, where it uses the memory first, "
        "a signal of {} after that, for which {} waits before it starts the copy",
        who(scene, b), a.copy->received, who(scene, b), who(scene, a));
    d.help = "wait before the access, or signal back when the memory may be written again";
  } else {
    d.need = fmt::format(
        "a signal of {} or {}, when it has waited for what it does with the memory, for which the "
        "other waits before it begins",
        who(scene, a), who(scene, b));
    d.help = "signal and wait on a regular semaphore, or use memory that only one of them touches";
  }
}

/// Writes before reads, then copies, the pipeline, the kernel: the text does not depend on the order of the accesses.
bool comesFirst(const Side& a, const Side& b) {
  if (a.write != b.write) return a.write;
  const auto rank = [](const Side& s) { return s.party->copy ? 0 : s.party->isWindow() ? 1 : 2; };
  if (rank(a) != rank(b)) return rank(a) < rank(b);
  return std::pair(a.party->device, a.party->core) <= std::pair(b.party->device, b.party->core);
}

}  // namespace

Diagnostic describe(const Scene& scene, const Side& first, const Side& second) {
  const Party& p = *first.party;
  const bool ownMemory =
      scene.allocation.device == p.device && (scene.allocation.core < 0 || scene.allocation.core == p.core);
  if (p.copy && p.sameProgram(*second.party) && ownMemory) return ownCopy(first, second);
  const bool swap = !comesFirst(first, second);
  const Side &a = swap ? second : first, &b = swap ? first : second;
  Diagnostic d{.code = "SM4113", .message = "", .place = b.party->where()};
  if (!d.place.known()) d.place = a.party->where();
  d.message = fmt::format("{} is {} by {} and {} by {}, and nothing orders the two", scene.buffer, verb(a), kind(a),
                          verb(b), kind(b));
  const int64_t from = std::max(a.footprint->region.offset, b.footprint->region.offset),
                to = std::min(a.footprint->region.last(), b.footprint->region.last());
  std::string memory = scene.buffer;
  if (scene.numDevices > 1) memory += fmt::format(" of device {}", scene.allocation.device);
  d.have = fmt::format("elements {} to {} of {} {}; {}", from, to, memory, phrase(scene, a), phrase(scene, b));
  advise(scene, a, b, d);
  return d;
}

Diagnostic notEntered(const std::string& what, const SourcePlace& place, int device, int fromDevice) {
  return {.code = "SM4114",
          .message = fmt::format("{} reaches a device that may not have entered the kernel", what),
          .place = place,
          .where = {},
          .need =
              "a barrier before the first copy or signal to another device: a signal to it and a wait for its own, "
              "on the barrier semaphore",
          .have = fmt::format("nothing that device {} has waited for says that device {} is in the kernel", fromDevice,
                              device),
          .help =
              "signal the barrier semaphore of every device that this one writes to or is written by, and wait for "
              "as many signals"};
}

}  // namespace smalti::machine::race
