#include "Native.h"

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
#include "cpu/NativeKernel.h"
#include "eval/FloatFormats.h"

namespace smalti::fuzz {
namespace {

/// What the calling process found.
enum class Outcome : int { same = 10, fault, failed, differs, floatsDiffer, unknown, beside };

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

Outcome call(const cpu::NativeKernel& kernel, const std::vector<Array>& operands,
             const Result<machine::KernelResult>& machine, Guard guard) {
  std::vector<Array> inputs;
  for (const Array& a : operands) inputs.push_back(guarded(a, guard));
  guardBlocks(guard);
  bool fault = false;
  auto results = kernel.call(inputs, 1, fault);
  if (wroteBesideABlock()) return Outcome::beside;
  if (!results) return Outcome::failed;
  if (fault) return Outcome::fault;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (std::memcmp(std::as_const(inputs[i]).data(), std::as_const(operands[i]).data(),
                    static_cast<size_t>(inputs[i].bytes())) != 0) {
      std::fprintf(stderr, "fuzz: operand %zu is changed\n", i);
      return Outcome::differs;
    }
  // With findings what comes out depends on undefined memory, or on which copy is first.
  if (!machine || !machine->findings.empty()) return Outcome::unknown;
  for (size_t i = 0; i < results->size(); ++i) {
    const Array &ours = (*results)[i], &theirs = machine->results[0][i];
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

std::string nativeProcessor = "host";

std::string describe(const NativeTally& t) {
  return fmt::format(
      "  native: {} compiled, {} not native, {} refused; {} ran, {} faults, {} failed, {} stopped after {} s; {} "
      "faults "
      "missed, {} differ, {} in floats\n",
      t.compiled, t.notNative, t.refused, t.ran, t.faults, t.failed, t.stopped, kNativeSeconds, t.missed, t.differs,
      t.floatsDiffer);
}

void runNative(const KernelPackage& kernel, const std::vector<Array>& operands,
               const Result<machine::KernelResult>& machine, bool oneDevice, uint64_t seed, NativeTally& tally) {
  static const auto processor = cpu::processorNamed(nativeProcessor);
  if (!processor) {
    std::fprintf(stderr, "fuzz: %s\n", processor.error().str().c_str());
    std::exit(2);
  }
  auto outcome = cpu::compileNative(kernel, {.processor = *processor});
  if (!outcome) {
    ++tally.refused;
    return;
  }
  if (!outcome->kernel) {
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
    std::_Exit(static_cast<int>(call(*outcome->kernel, operands, machine, guard)));
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
    case Outcome::fault:
      ++tally.faults;
      return;
    case Outcome::failed:
      ++tally.failed;
      return;
    case Outcome::differs:
      ++tally.differs;
      break;
    case Outcome::floatsDiffer:
      ++tally.floatsDiffer;
      break;
    case Outcome::same:
    case Outcome::unknown:
      break;
    case Outcome::beside:
      std::fprintf(stderr, "fuzz: native code wrote beside a buffer; see the newest fuzz-last-input\n");
      std::abort();
    default:
      std::fprintf(stderr, "fuzz: native code ended with status %d\n", WEXITSTATUS(status));
      std::abort();
  }
  ++tally.ran;
  if (!machine && brokeARule(machine.error())) ++tally.missed;
}

}  // namespace smalti::fuzz
