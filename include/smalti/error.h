// The only exception of the language. Kernels are written with operators, which cannot return a Result: an error
// is thrown as an Error that holds the diagnostic. Everything else returns Result.
#pragma once

#include <exception>
#include <string>
#include <type_traits>

#include "smalti/diagnostic.h"

namespace smalti {

class Error : public std::exception {
 public:
  explicit Error(Diagnostic diagnostic);
  const Diagnostic& diagnostic() const { return diagnostic_; }
  /// The whole message, as `Diagnostic::str`.
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  Diagnostic diagnostic_;
  std::string text_;
};

[[noreturn]] void raise(Diagnostic);

/// Returns the value, or throws an Error with the diagnostic.
template <class T>
T unwrap(Result<T> result) {
  if (!result) raise(std::move(result.error()));
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

/// Runs `work`; returns its value, or the diagnostic of the Error that it throws.
template <class F>
auto attempt(F&& work) -> Result<decltype(work())> {
  try {
    if constexpr (std::is_void_v<decltype(work())>) {
      work();
      return {};
    } else {
      return work();
    }
  } catch (const Error& error) {
    return fail(error.diagnostic());
  }
}

}  // namespace smalti
