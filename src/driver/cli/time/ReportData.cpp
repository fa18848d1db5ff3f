#include "driver/cli/time/ReportData.h"

#include <map>

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "driver/cli/check/CheckLegality.h"
#include "driver/cli/show/KernelView.h"
#include "driver/cli/show/VmemView.h"
#include "driver/cli/time/TimeText.h"
#include "driver/time/ProgramTime.h"
#include "interop/Interop.h"
#include "smalti/module.h"
#include "tpu/Legality.h"

namespace smalti::cli {
namespace {

constexpr int64_t kStepsShown = 6;
/// The most events of these steps that are shown: a body may have any number of copies of its own.
constexpr size_t kMaxShown = 300;

/// Ops by source line, in the order of the kernel.
Json opsByLine(const KernelPackage& kernel) {
  std::vector<std::string> order;
  std::map<std::string, std::map<std::string, int64_t>> ops;
  if (mlir::func::FuncOp f = kernel.kernelFunction())
    f.walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation* op) {
      const std::string place = smalti::placeOf(op->getLoc()).str();
      if (!ops.contains(place)) order.push_back(place);
      ++ops[place][op->getName().getStringRef().str()];
    });
  Json lines = Json::array();
  for (const std::string& place : order) lines.push_back({{"place", place}, {"ops", ops[place]}});
  return lines;
}

Json kernelJson(const KernelPackage& kernel) {
  return {{"name", kernel.name},
          {"grid", viewKernel(kernel).grid},
          {"text", interop::exportMosaicText(kernel, false)},
          {"lines", opsByLine(kernel)}};
}

/// The lines of roofs: peaks of a chip, 10^12 operations a second.
Json factsJson(const tpu::Chip& c) {
  const double vector =
      static_cast<double>(c.vector.aluSlots * c.vector.sublanes * c.vector.lanes * c.device.coresPerChip) *
      c.device.clockGhz / 1e3;
  return {{"title", c.title},
          {"clock_mhz", c.device.clockGhz * 1e3},
          {"cores", c.device.coresPerChip},
          {"hbm_gb", c.memory.hbmGbPerSecond},
          {"matrix_tops", c.mxu.bf16TflopsPerChip},
          {"vector_tops", vector}};
}

Json eventsOf(const KernelPackage& kernel, const tpu::Chip& chip, sim::Question question) {
  question.record = true;
  Json events = Json::array();
  const auto time = sim::timeOf(kernel, chip, question);
  if (!time || !time->recording) return events;
  const double usPerCycle = 1 / (chip.device.clockGhz * 1e3);
  for (const sim::Event& e : time->recording->events) {
    const bool isShown = e.track == sim::Track::body || e.track == sim::Track::wait || e.track == sim::Track::copy;
    if (e.step >= kStepsShown || !isShown || events.size() >= kMaxShown) continue;
    events.push_back({{"lane", e.lane},
                      {"name", e.name},
                      {"step", e.step},
                      {"from_us", e.from * usPerCycle},
                      {"to_us", e.to * usPerCycle}});
  }
  return events;
}

/// As `smalti time` has it, with all source lines and the first steps of the pipeline.
Json wholeTimeJson(const Program& program, const tpu::Chip& chip, const driver::ProgramTime& time) {
  Json out = timeJson(chip, time);
  for (size_t i = 0; i < time.kernels.size(); ++i) {
    const driver::KernelCallTime& call = time.kernels[i];
    Json& row = out["kernels"][i];
    row["lines"] = Json::array();
    for (const sim::LineTime& line : call.time.lines)
      row["lines"].push_back(
          {{"place", line.place.str()}, {"unit", sim::name(line.unit())}, {"cycles", line.cycles()}});
    row["events"] = call.kernel < 0 ? Json::array()
                                    : eventsOf(program.kernels[static_cast<size_t>(call.kernel)], chip, call.question);
  }
  return out;
}

Json findingJson(const Diagnostic& d, std::string_view reason) {
  return {{"code", d.code}, {"reason", reason}, {"message", d.message}, {"place", d.place.str()},
          {"need", d.need}, {"have", d.have},   {"help", d.help}};
}

Json chipJson(const Program& program, const tpu::Chip& chip, const TimeInputs& inputs, Trace* trace) {
  Json out{{"facts", factsJson(chip)},
           {"refusals", Json::array()},
           {"warnings", Json::array()},
           {"vmem", Json::array()},
           {"advice", Json::array()}};
  for (const KernelPackage& kernel : program.kernels) {
    for (const tpu::Refusal& r : tpu::judge(kernel, chip).refusals)
      out["refusals"].push_back(findingJson(r.diagnostic, r.reason->id));
    for (const Diagnostic& d : warningsOf(kernel, chip)) out["warnings"].push_back(findingJson(d, ""));
    out["vmem"].push_back(vmemJson(kernel, chip));
  }
  const auto time = driver::timeOf(program, chip, inputs.inputs, inputs.assume, inputs.timeLimitSeconds);
  if (!time) {
    out["time"] = {{"error", driver::toJson(time.error())}};
    return out;
  }
  out["time"] = wholeTimeJson(program, chip, *time);
  if (trace) trace->add(program, chip, *time);
  if (out["refusals"].empty()) out["advice"] = adviceJson(*time, adviceOn(program, chip, *time));
  return out;
}

}  // namespace

Json reportData(const driver::LoadedModule& module, const std::vector<tpu::Chip>& chips, const TimeInputs& inputs,
                Trace* trace) {
  Json kernels = Json::array(), of = Json::object();
  for (const KernelPackage& kernel : module.program->kernels) kernels.push_back(kernelJson(kernel));
  for (const tpu::Chip& chip : chips) of[chip.name] = chipJson(*module.program, chip, inputs, trace);
  return {{"module", module.path}, {"version", version()}, {"kernels", std::move(kernels)}, {"chips", std::move(of)}};
}

}  // namespace smalti::cli
