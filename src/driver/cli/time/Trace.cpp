#include "driver/cli/time/Trace.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/io/File.h"
#include "driver/cli/Session.h"
#include "driver/term/Style.h"

namespace smalti::cli {
namespace {

using driver::Json;

int64_t wholeNs(double ns) { return std::llround(ns); }

/// Trace events are in µs. Readers cut or round what is finer than a ns: a fifth of one more comes out right in both.
double micros(int64_t ns) { return static_cast<double>(ns * 10 + 2) / 1e4; }

}  // namespace

int64_t Trace::process(const std::string& name) {
  processes_.push_back({name, {}, {}, {}});
  return static_cast<int64_t>(processes_.size());
}

void Trace::slice(int64_t process, const std::string& track, const std::string& name, double fromNs, double toNs,
                  Json arguments) {
  Process& of = processes_[static_cast<size_t>(process - 1)];
  if (!of.tracks.contains(track)) of.order.push_back(track);
  of.tracks[track].push_back({name, wholeNs(fromNs), wholeNs(toNs), std::move(arguments)});
}

void Trace::counter(int64_t process, const std::string& name, double atNs, double value) {
  processes_[static_cast<size_t>(process - 1)].counters.push_back(
      {{"ph", "C"}, {"pid", process}, {"name", name}, {"ts", micros(wholeNs(atNs))}, {"args", {{"value", value}}}});
}

double Trace::kernel(const tpu::Chip& chip, const std::string& name, const sim::KernelTime& time, double startNs) {
  const double nsPerCycle = 1 / chip.device.clockGhz, endNs = startNs + time.cycles * nsPerCycle;
  const sim::Recording& r = *time.recording;
  const int64_t p = process(fmt::format("{} on {}{}", name, chip.name, time.cores > 1 ? ", one core" : ""));
  const auto at = [&](double cycles) { return startNs + cycles * nsPerCycle; };
  const auto put = [&](sim::Track track) {
    for (const sim::Event& e : r.events) {
      if (e.track != track) continue;
      Json arguments{{"step", e.step}};
      if (e.bytes > 0) arguments["bytes"] = e.bytes;
      slice(p, e.lane, e.name, at(e.from), at(e.to), std::move(arguments));
    }
  };
  put(sim::Track::step);
  if (!r.whole)
    slice(p, "grid steps",
          r.steps > 0 ? fmt::format("steps {} to {}, aggregated", term::grouped(r.steps), term::grouped(time.steps - 1))
                      : std::string("the remaining steps, aggregated"),
          at(r.until), endNs, {{"see", "counters of the whole run"}});
  for (const sim::Track track : {sim::Track::compute, sim::Track::wait, sim::Track::hbm, sim::Track::copy}) put(track);

  const double width = r.width * nsPerCycle;
  const auto count = [&](const std::string& what, auto&& of) {
    if (std::none_of(r.stretches.begin(), r.stretches.end(), [&](const auto& s) { return of(s) > 0; })) return;
    double before = -1;
    for (size_t i = 0; i < r.stretches.size(); ++i) {
      const double value = of(r.stretches[i]);
      if (value != before) counter(p, what, startNs + static_cast<double>(i) * width, value);
      before = value;
    }
    counter(p, what, endNs, 0);
  };
  count("HBM GB/s", [&](const sim::Stretched& s) { return s.hbmBytes / width; });
  count("waiting %", [&](const sim::Stretched& s) { return 100 * s.waiting / r.width; });
  for (size_t u = 0; u < sim::Work::numUnits; ++u)
    count(fmt::format("{} %", sim::name(static_cast<sim::Work::Unit>(u))),
          [&](const sim::Stretched& s) { return 100 * s.units[u] / r.width; });
  return endNs;
}

void Trace::add(const Program& program, const tpu::Chip& chip, const driver::ProgramTime& time) {
  double ns = 0;
  for (const driver::KernelCallTime& call : time.kernels) {
    sim::Question question = call.question;
    question.record = true;
    const auto recorded = sim::timeOf(program.kernels[static_cast<size_t>(call.kernel)], chip, question);
    if (recorded && recorded->recording) ns = kernel(chip, call.name, *recorded, ns);
  }
  if (time.opsUs > 0)
    slice(process(fmt::format("around the kernels on {}", chip.name)), "plain ops",
          fmt::format("{} fused passes over arrays, together", time.ops), ns, ns + time.opsUs * 1e3,
          {{"bytes", time.opBytes}, {"when", "before, between and after the kernels"}});
}

void declareTrace(CLI::App& app, std::string& file) {
  app.add_option("--trace", file, "write the timeline there, as JSON that ui.perfetto.dev and chrome://tracing open")
      ->type_name("FILE");
}

std::string Trace::text() const {
  std::vector<Json> events;
  for (size_t i = 0; i < processes_.size(); ++i) {
    const Process& of = processes_[i];
    const int64_t pid = static_cast<int64_t>(i) + 1;
    const auto addMetadata = [&](const char* what, Json arguments, int64_t tid) {
      events.push_back({{"ph", "M"}, {"pid", pid}, {"tid", tid}, {"name", what}, {"args", std::move(arguments)}});
    };
    addMetadata("process_name", {{"name", of.name}}, 0);
    addMetadata("process_sort_index", {{"sort_index", pid}}, 0);
    int64_t tid = pid * 1000;  // of the whole trace: readers tell threads apart by it
    for (const std::string& track : of.order) {
      std::vector<Slice> slices = of.tracks.at(track);
      std::stable_sort(slices.begin(), slices.end(), [](const Slice& a, const Slice& b) { return a.from < b.from; });
      std::vector<int64_t> ends;  // of the tracks that this one needs
      const int64_t first = tid;
      for (Slice& s : slices) {
        const auto free = std::find_if(ends.begin(), ends.end(), [&](int64_t end) { return end <= s.from; });
        const size_t number = static_cast<size_t>(free - ends.begin());
        if (free == ends.end()) {
          ends.push_back(0);
          const std::string name = number == 0 ? track : fmt::format("{} ({})", track, number + 1);
          addMetadata("thread_name", {{"name", name}}, first + static_cast<int64_t>(number));
          addMetadata("thread_sort_index", {{"sort_index", first + static_cast<int64_t>(number)}},
                      first + static_cast<int64_t>(number));
        }
        ends[number] = s.to;
        events.push_back({{"ph", "X"},
                          {"pid", pid},
                          {"tid", first + static_cast<int64_t>(number)},
                          {"cat", track},
                          {"name", s.name},
                          {"ts", micros(s.from)},
                          {"dur", micros(s.to - s.from)},
                          {"args", s.arguments}});
      }
      tid = first + static_cast<int64_t>(ends.size());
    }
    events.insert(events.end(), of.counters.begin(), of.counters.end());
  }
  std::string text = "{\"traceEvents\": [\n";
  for (size_t i = 0; i < events.size(); ++i) text += driver::dump(events[i]) + (i + 1 < events.size() ? ",\n" : "\n");
  return text + "]}\n";
}

Status requireOwnFile(const Session& session, const std::string& file) {
  if (!file.empty() && (file == "-" || file == session.outputFile()))
    return fail({.code = "SM1000",
                 .message = "--trace writes to a file of its own",
                 .place = {},
                 .need = "the name of a file, and another one than that of -o",
                 .have = fmt::format("--trace {}", file)});
  return {};
}

Status Trace::write(const std::string& file) const { return empty() ? Status() : writeFile(file, {text()}); }

}  // namespace smalti::cli
