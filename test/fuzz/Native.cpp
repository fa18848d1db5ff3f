#include "Native.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "cpu/NativeKernel.h"

namespace smalti::fuzz {
namespace {

/// What the calling process found.
enum class Outcome : int { same = 10, fault, failed, differs, unknown };

/// The array's elements, right before a page that cannot be touched.
Array guarded(const Array& array) {
  constexpr int64_t kPage = 4096;
  const int64_t pages = (array.bytes() + kPage - 1) / kPage;
  void* memory = mmap(nullptr, static_cast<size_t>((pages + 1) * kPage), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return array;
  auto* end = static_cast<std::byte*>(memory) + pages * kPage;
  mprotect(end, kPage, PROT_NONE);
  std::memcpy(end - array.bytes(), std::as_const(array).data(), static_cast<size_t>(array.bytes()));
  return Array::view(array.type(), end - array.bytes());
}

Outcome call(const cpu::NativeKernel& kernel, const std::vector<Array>& operands,
             const Result<machine::KernelResult>& machine) {
  std::vector<Array> inputs;
  for (const Array& a : operands) inputs.push_back(guarded(a));
  bool fault = false;
  auto results = kernel.call(inputs, 1, fault);
  if (!results) return Outcome::failed;
  if (fault) return Outcome::fault;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (std::memcmp(std::as_const(inputs[i]).data(), std::as_const(operands[i]).data(),
                    static_cast<size_t>(inputs[i].bytes())) != 0)
      return Outcome::differs;
  if (!machine) return Outcome::unknown;
  for (size_t i = 0; i < results->size(); ++i) {
    const Array &ours = (*results)[i], &theirs = machine->results[0][i];
    if (ours.type() != theirs.type()) return Outcome::differs;
    if (is_float(ours.dtype())) continue;
    if (std::memcmp(ours.data(), theirs.data(), static_cast<size_t>(ours.bytes())) != 0) return Outcome::differs;
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

std::string describe(const NativeTally& t) {
  return fmt::format(
      "  native: {} compiled, {} not native, {} refused; {} ran, {} faults, {} failed, {} stopped after {} s; {} "
      "faults "
      "missed, {} differ\n",
      t.compiled, t.notNative, t.refused, t.ran, t.faults, t.failed, t.stopped, kNativeSeconds, t.missed, t.differs);
}

void runNative(const KernelPackage& kernel, const std::vector<Array>& operands,
               const Result<machine::KernelResult>& machine, bool oneDevice, NativeTally& tally) {
  auto outcome = cpu::compileNative(kernel, {});
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
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGPROF, SIG_IGN);
    std::signal(SIGALRM, SIG_DFL);
    limit(RLIMIT_CPU, kNativeSeconds);
    limit(RLIMIT_CORE, 0);
#ifndef __SANITIZE_ADDRESS__
    limit(RLIMIT_AS, static_cast<rlim_t>(kNativeMemoryBytes));
#endif
    std::_Exit(static_cast<int>(call(*outcome->kernel, operands, machine)));
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
    case Outcome::same:
    case Outcome::unknown:
      break;
    default:
      std::fprintf(stderr, "fuzz: native code ended with status %d\n", WEXITSTATUS(status));
      std::abort();
  }
  ++tally.ran;
  if (!machine && brokeARule(machine.error())) ++tally.missed;
}

}  // namespace smalti::fuzz
