// The targets: one row each.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/Lasting.h"
#include "base/Options.h"
#include "driver/target/Target.h"
#include "driver/target/cpu/Cpu.h"
#include "driver/target/cuda/Cuda.h"
#include "driver/target/interpret/Interpret.h"
#include "driver/target/sim/Sim.h"
#include "driver/target/tpu/Tpu.h"

namespace smalti::driver {
namespace {

std::vector<const Target*>& registry() {
  using Rows = std::vector<const Target*>;
  static constinit Lasting<Rows> rows;
  return rows.get([] {
    return Rows{&interpretTarget(), &cpuTarget(), &cudaTarget(), &cudaHostTarget(), &simTarget(), &tpuTarget()};
  });
}

std::vector<std::string> spellings() {
  std::vector<std::string> all;
  for (const Target* t : registry()) all.push_back(t->spelling());
  return all;
}

std::string_view argumentOf(std::string_view text) {
  const size_t colon = text.find(':');
  return colon == text.npos ? std::string_view() : text.substr(colon + 1);
}

Diagnostic noCompilerFor(const Target& target, std::string_view what) {
  return {.code = "SM5008",
          .message = fmt::format("the target '{}' does not compile {}", target.name, what),
          .place = {},
          .help = "choose another target; smalti env describes them"};
}

/// The option --target (SMALTI_TARGET) has the targets as its values.
[[maybe_unused]] const bool kProvided = [] {
  provideValues("target", {.list = spellings, .check = checkTarget});
  return true;
}();

}  // namespace

std::string Target::spelling() const {
  if (argument.empty()) return std::string(name);
  if (!needsArgument()) return fmt::format("{}[:{}", name, argument.substr(1));
  return fmt::format("{}:{}", name, argument);
}

std::vector<const Target*> targets() { return registry(); }

const Target* findTarget(std::string_view text) {
  const std::string_view name = text.substr(0, text.find(':'));
  for (const Target* t : registry())
    if (t->name == name) return t;
  return nullptr;
}

Status checkTarget(std::string_view text) {
  const Target* target = findTarget(text);
  if (!target)
    return fail({.code = "SM5006",
                 .message = fmt::format("there is no target '{}'", text.substr(0, 100)),
                 .place = {},
                 .need = fmt::format("{}", fmt::join(spellings(), "|")),
                 .help = "choose one of these; smalti env describes them"});
  if (target->needsArgument() && argumentOf(text).empty())
    return fail({.code = "SM5007",
                 .message = fmt::format("the target '{}' takes an argument", target->name),
                 .place = {},
                 .need = target->spelling(),
                 .have = std::string(text.substr(0, 100)),
                 .help = "smalti env describes targets"});
  if (target->argument.empty() && text.size() > target->name.size())
    return fail({.code = "SM5007",
                 .message = fmt::format("the target '{}' takes no argument", target->name),
                 .place = {},
                 .need = fmt::format("{}, and nothing after it", target->name),
                 .have = std::string(text.substr(0, 100)),
                 .help = "omit the colon and what follows it"});
  return {};
}

Result<const Target*> availableTarget(std::string_view text) {
  if (Status ok = checkTarget(text); !ok) return fail(std::move(ok.error()));
  const Target* target = findTarget(text);
  const Status available = target->available(argumentOf(text));
  if (available) return target;
  const Diagnostic& why = available.error();
  return fail({.code = "SM5008",
               .message = fmt::format("the target '{}' cannot run here", target->name),
               .place = {},
               .need = why.need,
               .have = why.message,
               .help = why.help.empty() ? "choose another target; smalti env lists the available ones" : why.help});
}

Result<KernelCompiler> openTarget(std::string_view text) {
  const auto target = availableTarget(text);
  if (!target) return fail(target.error());
  return (*target)->open ? (*target)->open(argumentOf(text)) : fail(noCompilerFor(**target, "single kernels"));
}

Result<ProgramCompiler> openTargetForPrograms(std::string_view text) {
  const auto target = availableTarget(text);
  if (!target) return fail(target.error());
  return (*target)->openProgram ? (*target)->openProgram(argumentOf(text))
                                : fail(noCompilerFor(**target, "whole programs"));
}

RegisteredTarget::RegisteredTarget(Target target) : target_(std::move(target)) { registry().push_back(&target_); }
RegisteredTarget::~RegisteredTarget() { std::erase(registry(), &target_); }

}  // namespace smalti::driver
