#include "driver/cli/show/VmemView.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "driver/cli/show/KernelView.h"
#include "driver/term/Style.h"
#include "driver/term/Table.h"
#include "tpu/MaxBlocks.h"
#include "tpu/OtherMemory.h"
#include "tpu/Vmem.h"

namespace smalti::cli {
namespace {

using tpu::VmemMap;
using tpu::VmemPart;

double share(int64_t bytes, int64_t of) {
  return static_cast<double>(bytes) / static_cast<double>(std::max<int64_t>(1, of));
}

/// Of `width` cells, `share`; in eighths of a cell.
std::string bar(double part, int width) {
  static constexpr std::array<std::string_view, 8> kEighths{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths = static_cast<int>(std::clamp(part, 0.0, 1.0) * width * 8 + 0.5);
  std::string text;
  for (int i = 0; i < eighths / 8; ++i) text += "█";
  text += kEighths[static_cast<size_t>(eighths % 8)];
  return text.empty() && part > 0 ? "▏" : text;
}

std::string_view kindName(VmemPart::Kind kind) {
  return kind == VmemPart::window ? "window" : kind == VmemPart::scratch ? "scratch" : "temporary";
}

/// A kept value's share of the bytes that do not fit into registers.
int64_t shareOf(const tpu::KeptValue& kept, const tpu::Temporaries& t) {
  int64_t all = 0;
  for (const auto& k : t.kept) all += k.bytes;
  return all == 0 ? 0 : static_cast<int64_t>(share(kept.bytes, all) * static_cast<double>(t.likely));
}

std::string roomText(const tpu::MaxBlocks& room, int64_t bytes, int64_t limit) {
  const std::string follow = fmt::format("{}", fmt::join(room.follow, ", "));
  const std::string name = gridIndexName(room.axis);
  if (room.largest == 0) return fmt::format("  {}: no block fits, the smallest is {} ({})\n", name, room.step, follow);
  const std::string now = bytes > limit ? "too large" : "it fits";
  const std::string dividing = room.dividing == room.largest ? ""
                               : room.dividing == 0          ? " (none divides it)"
                                                             : fmt::format(" ({} divides it)", room.dividing);
  return fmt::format("  {}: {} of {}{}, now {} ({}); resized with it: {}\n", name, room.largest, room.extent, dividing,
                     room.block, now, follow);
}

term::Table partsTable(const VmemMap& map) {
  using term::Align;
  constexpr int kBar = 24;
  term::Table table({{"what"},
                     {"array"},
                     {"buffers", Align::right},
                     {"bytes", Align::right},
                     {"padding", Align::right},
                     {"of the limit", Align::right},
                     {""},
                     {"first used"}});
  const auto place = [](const SourcePlace& p) { return p.known() ? p.str() : std::string(); };
  for (const VmemPart& part : map.parts)
    table.add({part.what, part.array.str(), std::to_string(part.buffers), term::humanBytes(part.bytes),
               fmt::format("{:.0f} %", 100 * (1 - share(part.usefulBytes(), part.bytes))),
               fmt::format("{:.1f} %", 100 * share(part.bytes, map.limitBytes)),
               bar(share(part.bytes, map.limitBytes), kBar), place(part.place)});
  for (const tpu::KeptValue& kept : map.temporaries.kept) {
    const int64_t bytes = shareOf(kept, map.temporaries);
    if (bytes > 0)
      table.add({kept.what, kept.array.str(), "", "≈ " + term::humanBytes(bytes), "",
                 fmt::format("{:.1f} %", 100 * share(bytes, map.limitBytes)), bar(share(bytes, map.limitBytes), kBar),
                 place(kept.place)});
  }
  return table;
}

std::string verdictText(const VmemMap& map) {
  const int64_t over = map.bytes() - map.limitBytes;
  switch (map.fits()) {
    case tpu::Fits::yes:
      return fmt::format("fits, {} are free", term::humanBytes(-over));
    case tpu::Fits::no:
      return fmt::format("does not fit: {} over the limit", term::humanBytes(over));
    case tpu::Fits::uncertain:
      break;
  }
  return fmt::format("may not fit: between {} and {}", term::humanBytes(map.declaredBytes() + map.temporaries.low),
                     term::humanBytes(map.declaredBytes() + map.temporaries.high));
}

/// The part that takes most, and what one buffer instead of two would save.
std::string adviceText(const VmemMap& map) {
  std::string text;
  const auto most = std::max_element(map.parts.begin(), map.parts.end(),
                                     [](const VmemPart& a, const VmemPart& b) { return a.bytes < b.bytes; });
  const bool isTemporary = most == map.parts.end() || map.temporaries.likely > most->bytes;
  if (map.bytes() > 0)
    text += fmt::format("dominated by: {} ({})\n", isTemporary ? "values that the compiler spills" : most->what,
                        term::humanBytes(isTemporary ? map.temporaries.likely : most->bytes));
  for (const VmemPart& part : map.parts)
    if (part.buffers == 2)
      text += fmt::format("Buffered(1) for {} saves {}; its copies then wait for the body\n", part.what,
                          term::humanBytes(part.bytes / 2));
  for (const std::string& what : map.removed)
    text += fmt::format("{} needs no memory: nothing reads it from memory\n", what);
  return text;
}

}  // namespace

std::string vmemText(const Session& session, const KernelPackage& kernel, const tpu::Chip& chip) {
  const bool color = session.colorOut();
  const VmemMap map = tpu::vmemOf(kernel, chip);
  const auto style = map.fits() == tpu::Fits::yes  ? term::Style::green
                     : map.fits() == tpu::Fits::no ? term::Style::red
                                                   : term::Style::yellow;
  std::string text = fmt::format(
      "{} on {}: {} of {} of VMEM, {}\n", term::styled(term::Style::bold, "kernel " + kernel.name, color), chip.name,
      term::humanBytes(map.bytes()), term::humanBytes(map.limitBytes), term::styled(style, verdictText(map), color));
  if (const term::Table table = partsTable(map); !table.empty()) text += table.str(color, 2);
  text += adviceText(map);
  if (const auto rooms = tpu::bytesOf(kernel, chip, map); !rooms.empty()) {
    text +=
        "the largest block along each axis that fits, the others as they are (what the compiler adds grows with it):\n";
    for (const auto& room : rooms) text += roomText(room, map.bytes(), map.limitBytes);
  }
  const tpu::OtherMemory other = tpu::otherMemoryOf(kernel, chip);
  text += fmt::format("SMEM {} of {}; semaphores {}; HBM {} of {} for operands and results{}\n",
                      term::humanBytes(other.smemBytes), term::humanBytes(other.smemLimitBytes), other.semaphores,
                      term::humanBytes(other.hbmBytes), term::humanBytes(other.hbmLimitBytes),
                      other.hbmBytes > other.hbmLimitBytes ? ": too much" : "");
  return text;
}

Json vmemJson(const KernelPackage& kernel, const tpu::Chip& chip) {
  const VmemMap map = tpu::vmemOf(kernel, chip);
  Json parts = Json::array(), axes = Json::array();
  for (const VmemPart& part : map.parts)
    parts.push_back({{"kind", kindName(part.kind)},
                     {"what", part.what},
                     {"array", part.array.str()},
                     {"buffers", part.buffers},
                     {"bytes", part.bytes},
                     {"useful_bytes", part.usefulBytes()},
                     {"saved_by_one_buffer", part.buffers == 2 ? part.bytes / 2 : 0},
                     {"place", part.place.str()}});
  for (const tpu::KeptValue& kept : map.temporaries.kept)
    parts.push_back({{"kind", kindName(VmemPart::temporary)},
                     {"what", kept.what},
                     {"array", kept.array.str()},
                     {"bytes", shareOf(kept, map.temporaries)},
                     {"place", kept.place.str()}});
  for (const auto& room : tpu::bytesOf(kernel, chip, map))
    axes.push_back({{"axis", room.axis},
                    {"block", room.block},
                    {"extent", room.extent},
                    {"largest", room.largest},
                    {"dividing", room.dividing},
                    {"follow", room.follow}});
  const tpu::OtherMemory other = tpu::otherMemoryOf(kernel, chip);
  return {{"kernel", kernel.name},
          {"fits", tpu::name(map.fits())},
          {"vmem_bytes", map.bytes()},
          {"low_bytes", map.declaredBytes() + map.temporaries.low},
          {"high_bytes", map.declaredBytes() + map.temporaries.high},
          {"limit_bytes", map.limitBytes},
          {"parts", std::move(parts)},
          {"removed", map.removed},
          {"axes", std::move(axes)},
          {"smem_bytes", other.smemBytes},
          {"semaphores", other.semaphores},
          {"hbm_bytes", other.hbmBytes}};
}

}  // namespace smalti::cli
