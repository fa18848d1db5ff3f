#include "Interruptible.h"

#include <signal.h>
#include <unistd.h>

namespace smalti::python {
namespace {

/// Not of a call: a handler that began during one may end after it.
std::atomic<bool> gStop{false};
struct sigaction gBefore;

void onSignal(int signal, siginfo_t* info, void* context) {
  gStop = true;
  if (gBefore.sa_flags & SA_SIGINFO)
    gBefore.sa_sigaction(signal, info, context);
  else
    gBefore.sa_handler(signal);
}

bool isHandled(const struct sigaction& by) {
  return (by.sa_flags & SA_SIGINFO) || (by.sa_handler != SIG_DFL && by.sa_handler != SIG_IGN);
}

/// Python's functions and objects for signals, looked up once: a look costs as much as a small kernel.
struct SignalModule {
  nanobind::object getsignal, defaultIntHandler;
};
const SignalModule& signalModule() {
  static const auto* const kept = [] {  // never freed: the interpreter may end first
    const nanobind::object module = nanobind::module_::import_("_signal");
    return new SignalModule{module.attr("getsignal"), module.attr("default_int_handler")};
  }();
  return *kept;
}

}  // namespace

bool isMainThread() { return gettid() == getpid(); }

bool onlyCtrlCInterrupts() {
  const auto handlerOf = [](int signal) { return signalModule().getsignal(signal); };
  for (const int other : {SIGALRM, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2})
    if (PyCallable_Check(handlerOf(other).ptr())) return false;
  const nanobind::object ctrlC = handlerOf(SIGINT);
  return !PyCallable_Check(ctrlC.ptr()) || ctrlC.is(signalModule().defaultIntHandler);
}

StopOnCtrlC::StopOnCtrlC() : installed_(sigaction(SIGINT, nullptr, &gBefore) == 0 && isHandled(gBefore)) {
  gStop = false;
  if (!installed_) return;
  struct sigaction ours{};
  ours.sa_sigaction = &onSignal;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&ours.sa_mask);
  sigaction(SIGINT, &ours, nullptr);
}

StopOnCtrlC::~StopOnCtrlC() {
  if (installed_) sigaction(SIGINT, &gBefore, nullptr);
}

const std::atomic<bool>& StopOnCtrlC::stop() const { return gStop; }

}  // namespace smalti::python
