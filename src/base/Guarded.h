// Catches exceptions of libraries: Smalti's own errors are values.
#pragma once

#include <exception>
#include <new>
#include <utility>

#include "smalti/diagnostic.h"

namespace smalti {

/// What `work` gives, a Result or Status; SM9013 where memory ran out, SM9010 for any other exception.
template <class F>
auto guarded(F&& work) -> decltype(work()) {
  try {
    return std::forward<F>(work)();
  } catch (const std::bad_alloc&) {
    return fail({.code = "SM9013", .message = "out of memory", .place = {}});
  } catch (const std::exception& error) {
    return fail({.code = "SM9010",
                 .message = "internal error: this is a bug in Smalti",
                 .place = {},
                 .have = error.what(),
                 .help = "please report it with the module"});
  }
}

}  // namespace smalti
