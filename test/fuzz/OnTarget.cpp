#include "OnTarget.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "GuardedBlocks.h"
#include "driver/target/cpu/Cpu.h"
#include "eval/FloatFormats.h"

namespace smalti::fuzz {
namespace {

/// What the calling process found.
enum class Outcome : int { same = 10, failed, differs, floatsDiffer, unknown, missed, outside };

/// The array's elements with pages around them that cannot be touched.
Array guarded(const Array& array, Guard guard) {
  void* block =
      takeGuarded(static_cast<size_t>(array.bytes()), static_cast<size_t>(storage_bytes(array.dtype())), guard);
  if (!block) return array;
  std::memcpy(block, std::as_const(array).data(), static_cast<size_t>(array.bytes()));
  return Array::view(array.type(), block);
}

/// Far apart, for floats that come out of different orders of summation and other polynomials.
bool farApart(const Array& a, const Array& b) {
  constexpr double kTolerance = 1e-2;
  const int bytes = storage_bytes(a.dtype());
  for (int64_t i = 0; i < a.elements(); ++i) {
    const double x = eval::elementAsDouble(a.dtype(), a.data() + i * bytes);
    const double y = eval::elementAsDouble(b.dtype(), b.data() + i * bytes);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    if (!(std::abs(x - y) <= kTolerance * std::max({1.0, std::abs(x), std::abs(y)}))) {
      std::fprintf(stderr, "fuzz: element %lld is %g, %g on the machine\n", static_cast<long long>(i), x, y);
      return true;
    }
  }
  return false;
}

bool anyReadOutside(const std::vector<Finding>& findings) {
  return std::ranges::any_of(findings, [](const Finding& f) { return f.diagnostic.code == "SM4010"; });
}

Outcome call(const driver::TargetKernel& kernel, const std::vector<Array>& operands,
             const Result<machine::KernelResult>& machine, const driver::ExecuteSettings& settings, Guard guard) {
  std::vector<Array> inputs;
  for (const Array& a : operands) inputs.push_back(guarded(a, guard));
  guardBlocks(guard);
  const auto ran = kernel.run({&inputs, 1}, settings);
  if (wroteOutsideABlock()) return Outcome::outside;
  if (!ran) return Outcome::failed;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (std::memcmp(std::as_const(inputs[i]).data(), std::as_const(operands[i]).data(),
                    static_cast<size_t>(inputs[i].bytes())) != 0) {
      std::fprintf(stderr, "fuzz: operand %zu is changed\n", i);
      return Outcome::differs;
    }
  if (machine && anyReadOutside(machine->findings) && !anyReadOutside(ran->findings)) return Outcome::missed;
  // With findings what comes out depends on undefined memory, or on which copy is first.
  if (!machine || !machine->findings.empty()) return Outcome::unknown;
  for (size_t i = 0; i < ran->results[0].size(); ++i) {
    const Array &ours = ran->results[0][i], &theirs = machine->results[0][i];
    if (ours.type() != theirs.type()) return Outcome::differs;
    if (is_float(ours.dtype())) {
      if (farApart(ours, theirs)) return Outcome::floatsDiffer;
      continue;
    }
    if (std::memcmp(ours.data(), theirs.data(), static_cast<size_t>(ours.bytes())) != 0) {
      std::fprintf(stderr, "fuzz: result %zu, %s, differs\n", i, ours.type().str().c_str());
      return Outcome::differs;
    }
  }
  return Outcome::same;
}

void limit(int what, rlim_t value) {
  const rlimit both{value, value};
  setrlimit(what, &both);
}

/// The call broke a rule that native code checks too.
bool brokeARule(const Diagnostic& d) { return d.code >= "SM4010" && d.code <= "SM4019"; }

}  // namespace

driver::KernelCompiler targetCompiler;
std::string targetName;

void chooseTarget(const std::string& target, const std::string& processor) {
  const auto orEnd = [](auto&& result) {
    if (result) return std::move(*result);
    std::fprintf(stderr, "fuzz: %s\n", result.error().str().c_str());
    std::exit(2);
  };
  targetName = target;
  targetCompiler = orEnd(driver::openTarget(target));
  if (processor.empty()) return;
  if (target != "cpu") {
    std::fprintf(stderr, "fuzz: --cpu goes with --target cpu\n");
    std::exit(2);
  }
  targetCompiler = [named = orEnd(cpu::processorNamed(processor))](const auto& kernel, const auto& options) {
    return driver::compileForProcessor(kernel, options, named);
  };
}

std::string describe(const TargetTally& t) {
  return fmt::format(
      "  {}: {} compiled, {} left to the machine, {} refused; {} ran, {} failed, {} stopped after {} s; {} errors "
      "missed, "
      "{} differ, {} in floats\n",
      targetName, t.compiled, t.notNative, t.refused, t.ran, t.failed, t.stopped, kNativeSeconds, t.missed, t.differs,
      t.floatsDiffer);
}

void runOnTarget(const KernelPackage& kernel, const std::vector<Array>& operands,
                 const Result<machine::KernelResult>& machine, bool oneDevice, uint64_t seed,
                 const driver::ExecuteSettings& settings, TargetTally& tally) {
  driver::CompileOptions options{.target = targetName};
  options.contract.readsOutsideAreWarnings = false;  // as in the run on the machine
  const auto compiled = targetCompiler(kernel, options);
  if (!compiled) {
    ++tally.refused;
    return;
  }
  if (const auto code = (*compiled)->code(); code && !code->notNative.empty()) {
    ++tally.notNative;
    return;
  }
  ++tally.compiled;
  if (!oneDevice) return;
  std::fflush(nullptr);
  const Guard guard = seed % 3 ? Guard::behind : Guard::before;
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGPROF, SIG_IGN);
    std::signal(SIGALRM, SIG_DFL);
    limit(RLIMIT_CPU, kNativeSeconds);
    limit(RLIMIT_CORE, 0);
#ifndef __SANITIZE_ADDRESS__
    limit(RLIMIT_AS, static_cast<rlim_t>(kNativeMemoryBytes));
#endif
    std::_Exit(static_cast<int>(call(**compiled, operands, machine, settings, guard)));
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL)) {
    ++tally.stopped;
    return;
  }
  if (WIFSIGNALED(status)) {
    std::fprintf(stderr, "fuzz: native code ended with signal %d; see the newest fuzz-last-input\n", WTERMSIG(status));
    std::abort();
  }
  switch (static_cast<Outcome>(WEXITSTATUS(status))) {
    case Outcome::failed:
      ++tally.failed;
      return;
    case Outcome::differs:
      ++tally.differs;
      break;
    case Outcome::floatsDiffer:
      ++tally.floatsDiffer;
      break;
    case Outcome::missed:
      ++tally.missed;
      break;
    case Outcome::same:
    case Outcome::unknown:
      break;
    case Outcome::outside:
      std::fprintf(stderr, "fuzz: native code wrote outside a buffer; see the newest fuzz-last-input\n");
      std::abort();
    default:
      std::fprintf(stderr, "fuzz: native code ended with status %d\n", WEXITSTATUS(status));
      std::abort();
  }
  ++tally.ran;
  if (!machine && brokeARule(machine.error())) ++tally.missed;
}

}  // namespace smalti::fuzz
