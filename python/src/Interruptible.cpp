#include "Interruptible.h"

#include <signal.h>
#include <unistd.h>
#include <algorithm>

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

bool hasHandler(int signal) {
  struct sigaction now;
  return sigaction(signal, nullptr, &now) == 0 &&
         ((now.sa_flags & SA_SIGINFO) || (now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN));
}

}  // namespace

bool isMainThread() { return gettid() == getpid(); }

bool onlyCtrlCInterrupts() {
  constexpr int kOthers[] = {SIGALRM, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
  if (std::any_of(std::begin(kOthers), std::end(kOthers), hasHandler)) return false;
  if (!hasHandler(SIGINT)) return true;
  const nanobind::object module = nanobind::module_::import_("_signal");
  return module.attr("getsignal")(SIGINT).is(module.attr("default_int_handler"));
}

StopOnCtrlC::StopOnCtrlC() : installed_(hasHandler(SIGINT)) {
  gStop = false;
  if (!installed_) return;
  struct sigaction ours{};
  ours.sa_sigaction = &onSignal;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&ours.sa_mask);
  sigaction(SIGINT, &ours, &gBefore);
}

StopOnCtrlC::~StopOnCtrlC() {
  if (installed_) sigaction(SIGINT, &gBefore, nullptr);
}

const std::atomic<bool>& StopOnCtrlC::stop() const { return gStop; }

}  // namespace smalti::python
