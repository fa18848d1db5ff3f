#include "driver/cli/time/TimeText.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/Text.h"
#include "driver/term/Style.h"
#include "driver/term/Table.h"
#include "driver/time/TimeParts.h"

namespace smalti::cli {
namespace {

/// A part of the time, for people and programs, in the order of output.
struct Part {
  std::string_view id, what;
  double us = 0;
};

std::vector<Part> partsOf(const tpu::Chip& chip, const driver::ProgramTime& time) {
  const driver::TimeParts p = driver::partsOf(time, chip);
  return {{"compute", "matrix units", p.matrix},
          {"issue_slots", "vector arithmetic, transcendental and cross-lane units", p.vector},
          {"vmem", "vector loads and stores", p.vmem},
          {"hbm", "waiting for data from HBM", p.hbm},
          {"copy_latency", "waiting for copies to begin and end", p.copyLatency},
          {"step_overhead", "grid steps, scalar instructions, starting the kernel", p.steps},
          {"ici", "waiting for other devices", p.ici},
          {"ops", "ops around the kernels", p.ops}};
}

Part boundOf(const std::vector<Part>& parts) {
  return *std::max_element(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.us < b.us; });
}

/// The traffic of all cores that share the grid.
Json trafficJson(const sim::KernelTime& time) {
  Json out = Json::array();
  for (const sim::Traffic& t : time.traffic)
    out.push_back({{"what", t.what},
                   {"bytes", t.bytes * time.cores},
                   {"copies", t.copies * time.cores},
                   {"array_bytes", t.arrayBytes}});
  return out;
}

Json workJson(const sim::Work& work) {
  Json out = Json::object();
  for (size_t u = 0; u < sim::Work::numUnits; ++u)
    out[std::string(sim::name(static_cast<sim::Work::Unit>(u)))] = work.cycles[u];
  return out;
}

}  // namespace

Json timeJson(const tpu::Chip& chip, const driver::ProgramTime& time) {
  const auto parts = partsOf(chip, time);
  Json out{{"error", nullptr},           {"us", time.us},
           {"low_us", time.lowUs},       {"high_us", time.highUs},
           {"bound", boundOf(parts).id}, {"roofline_fraction", time.us > 0 ? time.rooflineUs / time.us : 0},
           {"parts_us", Json::object()}, {"ops", {{"us", time.opsUs}, {"count", time.ops}, {"bytes", time.opBytes}}},
           {"kernels", Json::array()},   {"loops_counted_once", Json::array()}};
  for (const SourcePlace& place : time.loopsCountedOnce) out["loops_counted_once"].push_back(place.str());
  for (const Part& p : parts) out["parts_us"][std::string(p.id)] = p.us;
  for (const auto& k : time.kernels) {
    Json row{{"kernel", k.name},
             {"calls", k.calls},
             {"us", k.us},
             {"steps", k.time.steps},
             {"cores", k.time.cores},
             {"hbm_bytes", k.time.hbmBytes},
             {"copies", k.time.copies},
             {"traffic", trafficJson(k.time)},
             {"work_cycles", workJson(k.time.work)},
             {"lines", Json::array()}};
    for (size_t i = 0; i < std::min<size_t>(3, k.time.lines.size()); ++i)
      row["lines"].push_back({{"place", k.time.lines[i].place.str()},
                              {"unit", sim::name(k.time.lines[i].unit())},
                              {"cycles", k.time.lines[i].cycles()}});
    out["kernels"].push_back(std::move(row));
  }
  return out;
}

namespace {
std::string loopNotes(const driver::ProgramTime& time) {
  std::string text;
  for (const SourcePlace& place : time.loopsCountedOnce)
    text += fmt::format("note: how often the loop at {} runs is not known: one iteration is counted\n", place.str());
  return text;
}
}  // namespace

std::string micro(double us) { return us >= 1e4 ? fmt::format("{:.4g} ms", us / 1e3) : fmt::format("{:.4g} µs", us); }

namespace {
/// The operands that move most, and how often each byte of them does.
std::string trafficText(const driver::KernelCallTime& k, bool named, bool color) {
  constexpr size_t kMax = 4;
  using term::Align;
  term::Table table({{named ? "operand of " + k.name : "operand"},
                     {"from and to HBM", Align::right},
                     {"copies", Align::right},
                     {"times its array", Align::right}});
  for (size_t i = 0; i < std::min(kMax, k.time.traffic.size()); ++i) {
    const sim::Traffic& t = k.time.traffic[i];
    table.add({t.what, fmt::format("{:.3g} MB", t.bytes * k.time.cores / 1e6), std::to_string(t.copies * k.time.cores),
               t.arrayBytes > 0 ? fmt::format("{:.3g}", t.bytes * k.time.cores / t.arrayBytes) : std::string()});
  }
  return k.time.traffic.empty() ? std::string() : "\n" + table.str(color);
}
}  // namespace

std::string timeText(const Session& session, const std::string& path, const tpu::Chip& chip,
                     const driver::ProgramTime& time, bool whole) {
  const bool color = session.colorOut();
  const double clock = chip.device.clockGhz;
  auto parts = partsOf(chip, time);
  std::string text =
      fmt::format("{} on {}: {} ({} to {}), {:.0f} % of the roofline; dominated by: {}", path, chip.name,
                  term::styled(term::Style::bold, micro(time.us), color), micro(time.lowUs), micro(time.highUs),
                  time.us > 0 ? 100 * time.rooflineUs / time.us : 0, boundOf(parts).what);
  if (!time.loopsCountedOnce.empty())
    text += fmt::format("; {} counted once", counted(time.loopsCountedOnce.size(), "loop"));
  text += "\n";
  if (!whole) return text;
  std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.us > b.us; });
  term::Table spent({{"where the time goes"}, {"time", term::Align::right}, {"%", term::Align::right}});
  for (const Part& p : parts)
    if (p.us > 0)
      spent.add({std::string(p.what), micro(p.us), fmt::format("{:.0f}", 100 * p.us / std::max(time.us, 1e-9))});
  text += "\n" + spent.str(color) + "\n";
  const bool inLoops = std::ranges::any_of(time.kernels, [](const auto& k) { return k.calls > 1; });
  std::vector<term::Table::Column> columns{{"kernel"},
                                           {"time", term::Align::right},
                                           {"steps", term::Align::right},
                                           {"cores", term::Align::right},
                                           {"from and to HBM", term::Align::right},
                                           {"costliest lines"}};
  if (inLoops) columns.insert(columns.begin() + 1, {"calls", term::Align::right});
  term::Table kernels(std::move(columns));
  for (const auto& k : time.kernels) {
    std::string lines;
    for (size_t i = 0; i < std::min<size_t>(3, k.time.lines.size()); ++i)
      lines += fmt::format("{}{} ({}, {})", i == 0 ? "" : ", ", k.time.lines[i].place.str(),
                           sim::name(k.time.lines[i].unit()), micro(k.time.lines[i].cycles() / (clock * 1e3)));
    std::vector<std::string> row{k.name,
                                 micro(k.us),
                                 std::to_string(k.time.steps),
                                 std::to_string(k.time.cores),
                                 fmt::format("{:.3g} MB", k.time.hbmBytes * k.time.cores / 1e6),
                                 lines};
    if (inLoops) row.insert(row.begin() + 1, std::to_string(k.calls));
    kernels.add(std::move(row));
  }
  text += kernels.str(color);
  for (const auto& k : time.kernels) text += trafficText(k, time.kernels.size() > 1, color);
  if (!time.loopsCountedOnce.empty()) text += "\n" + loopNotes(time);
  return text;
}

std::string comparisonText(const Session& session, const std::string& a, const tpu::Chip& chipA,
                           const driver::ProgramTime& timeA, const std::string& b, const tpu::Chip& chipB,
                           const driver::ProgramTime& timeB) {
  using term::Align;
  term::Table table({{""}, {a, Align::right}, {b, Align::right}, {"ratio", Align::right}});
  const auto row = [&](std::string_view what, double x, double y) {
    if (x > 0 || y > 0)
      table.add({std::string(what), micro(x), micro(y), x > 0 ? fmt::format("{:.3g}", y / x) : std::string("-")});
  };
  row("time", timeA.us, timeB.us);
  row("from", timeA.lowUs, timeB.lowUs);
  row("to", timeA.highUs, timeB.highUs);
  const auto partsA = partsOf(chipA, timeA), partsB = partsOf(chipB, timeB);
  for (size_t i = 0; i < partsA.size(); ++i) row(partsA[i].what, partsA[i].us, partsB[i].us);
  row("roofline", timeA.rooflineUs, timeB.rooflineUs);
  const std::string notesA = loopNotes(timeA), notesB = loopNotes(timeB);
  return table.str(session.colorOut()) + notesA + (notesB == notesA ? "" : notesB);
}

std::vector<KernelAdvice> adviceOn(const Program& program, const tpu::Chip& chip, const driver::ProgramTime& time) {
  std::vector<KernelAdvice> out;
  for (const auto& k : time.kernels)
    for (driver::Advice& a : driver::adviceFor(program.kernels[static_cast<size_t>(k.kernel)], chip, k.question, k.us))
      out.push_back({k.name, std::move(a)});
  std::stable_sort(out.begin(), out.end(), [&](const KernelAdvice& a, const KernelAdvice& b) {
    return a.advice.us / a.advice.share - a.advice.us > b.advice.us / b.advice.share - b.advice.us;
  });
  return out;
}

namespace {
/// The program's time with the advice for one kernel, as a fraction.
double shareOf(const driver::ProgramTime& time, const driver::Advice& a) {
  return (time.us - a.us / a.share + a.us) / time.us;
}
}  // namespace

std::string adviceText(const Session& session, const driver::ProgramTime& time,
                       const std::vector<KernelAdvice>& advice) {
  constexpr size_t kMax = 3;
  if (advice.empty()) return "\nno other block size, order, buffering or sharing of the grid is faster\n";
  std::string text = "\n";
  for (size_t i = 0; i < std::min(kMax, advice.size()); ++i)
    text += fmt::format("{} {}{}: {} of the time\n", term::styled(term::Style::bold, "try", session.colorOut()),
                        time.kernels.size() > 1 ? fmt::format("for {} ", advice[i].kernel) : "", advice[i].advice.text,
                        fmt::format("{:.2f}", shareOf(time, advice[i].advice)));
  return text;
}

Json adviceJson(const driver::ProgramTime& time, const std::vector<KernelAdvice>& advice) {
  constexpr std::string_view kKinds[] = {"blocks", "order", "cores", "buffers"};
  Json out = Json::array();
  for (const auto& [kernel, a] : advice)
    out.push_back({{"kernel", kernel},
                   {"kind", kKinds[static_cast<size_t>(a.kind)]},
                   {"text", a.text},
                   {"share_of_time", shareOf(time, a)},
                   {"kernel_us", a.us},
                   {"grid", a.grid},
                   {"blocks", a.blocks}});
  return out;
}

}  // namespace smalti::cli
