#include "ir/Lifetime.h"

#include "base/process/ForkGate.h"
#include "base/process/Lifetime.h"
#include "base/process/ThreadLasting.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/MLIRContext.h"

namespace smalti {
namespace {

constinit thread_local bool tReady = false;

struct AtThreadEnd {
  ~AtThreadEnd() {
    setThreadEnding();
    freeThreadData();  // now, as contexts of MLIR are among it
  }
};
struct AtProcessEnd {
  ~AtProcessEnd() { endProcess(); }
};

/// Destructors run in the reverse order of construction: made after MLIR's data, ours say that it goes before it does.
void makeReady() {
  const UnforkedWork work;    // MLIR's first use takes locks
  mlir::MLIRContext context;  // with threads: these have allocators and caches of their own
  constexpr unsigned kOfNoBuiltinType = 7;
  mlir::IntegerType::get(&context, kOfNoBuiltinType);
  ownThreadData();
  static const AtProcessEnd atProcessEnd;
  thread_local const AtThreadEnd atThreadEnd;
  (void)&atThreadEnd;
  tReady = true;
}

}  // namespace

bool isAlive() {
  if (isEnding()) return false;
  if (!tReady) makeReady();
  return true;
}

Status checkAlive() {
  if (isAlive()) return {};
  return checkNotEnding();
}

}  // namespace smalti
