// Debugging kernels (M2 – M7).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "smalti/control.h"

namespace smalti {

namespace detail {
void debug_print(std::string_view format, const std::vector<Operand>& arguments, const Location& at);
}  // namespace detail

/// The format of a debug_print, with its source line.
struct PrintFormat {
  template <class T, class = std::enable_if_t<std::is_convertible_v<const T&, std::string_view>>>
  PrintFormat(const T& text, Location at = Location::current()) : text(text), at(at) {}
  std::string_view text;
  Location at;
};
/// Prints scalars at `{}` (or after the text if it has none), or one vector if the format ends in `{}`
/// (M2). Errors SM6510, SM6511.
template <class... A>
void debug_print(const PrintFormat& format, const A&... arguments) {
  detail::debug_print(format.text, {Operand(arguments, format.at)...}, format.at);
}

/// Enables or disables subsequent debug_checks on this thread; initially off (S-L4). Returns the previous setting.
bool enable_debug_checks(bool on = true);
/// Ends the kernel with the message if the scalar pred is false and checks are enabled (M4).
void debug_check(const Operand& condition, std::string_view message);

/// Whether kernels traced from now on on this thread fill memory of run_scoped, empty_ref and pipelines before it is
/// used: floats with NaN, integers with their smallest value (E8). Initially off; returns the previous setting.
bool enable_poison_buffers(bool on = true);

/// A scalar for the profiler (M6).
void trace_value(std::string_view label, const Operand& value);

/// Ops recorded during its lifetime belong to a scope of that name in profiles.
class named_scope {
 public:
  explicit named_scope(std::string_view name, Location at = Location::current());
  ~named_scope();
  named_scope(const named_scope&) = delete;
  named_scope& operator=(const named_scope&) = delete;

 private:
  Location at_;
};

/// Waits for that many nanoseconds (M7).
void delay(const Operand& nanoseconds);

}  // namespace smalti
