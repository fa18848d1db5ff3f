#include "ir/Lifetime.h"

#include <atomic>

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/MLIRContext.h"

namespace smalti {
namespace {

// These have no destructors: they may be read until the thread or the process ends.
enum class Phase : uint8_t { fresh, ready, over };
constinit thread_local Phase thread = Phase::fresh;
constinit std::atomic<bool> processEnds{false};

struct AtThreadEnd {
  ~AtThreadEnd() { thread = Phase::over; }
};
struct AtProcessEnd {
  ~AtProcessEnd() { processEnds = true; }
};

/// Destructors run in the reverse order of construction: made after MLIR's data, ours say that they go before they do.
void makeReady() {
  mlir::MLIRContext context;  // with threads: these have allocators and caches of their own
  constexpr unsigned kOfNoBuiltinType = 7;
  mlir::IntegerType::get(&context, kOfNoBuiltinType);
  static const AtProcessEnd atProcessEnd;
  thread_local const AtThreadEnd atThreadEnd;
  (void)&atThreadEnd;
  thread = Phase::ready;
}

}  // namespace

bool isAlive() {
  if (processEnds.load(std::memory_order_relaxed)) return false;
  if (thread == Phase::fresh) makeReady();
  return thread == Phase::ready;
}

Status checkAlive() {
  if (isAlive()) return {};
  const bool threadEnds = thread == Phase::over;
  return fail(
      {.code = "SM9015",
       .message = threadEnds ? "Smalti is called while this thread ends" : "Smalti is called while the program ends",
       .place = {},
       .need = "a call before main, or the thread's function, returns",
       .have = "a call from the destructor of a static or thread_local object",
       .help = "do this earlier, or keep the object in main or in the thread's function"});
}

}  // namespace smalti
