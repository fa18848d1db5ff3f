#include "lang/call/Backend.h"

#include <atomic>

#include "smalti/error.h"

namespace smalti::lang {
namespace {

std::atomic<const Backend*> gBackend{nullptr};

}  // namespace

void setBackend(const Backend& backend) {
  const Backend* none = nullptr;
  gBackend.compare_exchange_strong(none, &backend);
}

const Backend& backend() {
  if (const Backend* backend = gBackend) return *backend;
  raise({.code = "SM9014",
         .message = "no code that runs or exports kernels is linked",
         .place = {},
         .need = "libsmalti, or all layers of Smalti in a program that is linked statically",
         .have = "the language alone",
         .help = "link smalti::smalti, and include smalti/smalti.h in one file of the program"});
}

}  // namespace smalti::lang
