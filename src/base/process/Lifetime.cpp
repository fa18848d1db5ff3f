#include "base/process/Lifetime.h"

#include <unistd.h>

#include <atomic>
#include <chrono>

#include "base/process/ForkGate.h"

namespace smalti {
namespace {

// These have no destructors: they may be read until the thread or the process is gone.
thread_local constinit bool tEnds = false;
constinit std::atomic<bool> gEnds{false};

/// exit() destroys the thread_local objects of its thread before all static ones. Those of the first thread are
/// destroyed by nothing else (not by pthread_exit), and this one, made when the library is loaded, after the others.
struct AtExit {
  ~AtExit() { endProcess(); }
};
[[maybe_unused]] const bool kWatched = [] {
  if (gettid() != getpid()) return false;  // loaded by another thread: ir/Lifetime.cpp sees the end
  thread_local const AtExit atExit;
  (void)&atExit;
  return true;
}();

}  // namespace

bool isEnding() { return tEnds || gEnds.load(); }

Status checkNotEnding() {
  if (!isEnding()) return {};
  return fail({.code = "SM9015",
               .message = gEnds ? "Smalti is called while the program ends" : "Smalti is called while this thread ends",
               .place = {},
               .need = "a call before main, or the thread's function, returns",
               .have = "a call from the destructor of a static or thread_local object",
               .help = "do this earlier, or keep the object in main or in the thread's function"});
}

void setThreadEnding() { tEnds = true; }

void endProcess() {
  constexpr std::chrono::seconds kPatience{5};
  gEnds = true;
  waitForUnforkedWork(kPatience);
}

}  // namespace smalti
