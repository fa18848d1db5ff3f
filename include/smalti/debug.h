// Debugging kernels (M2 – M7). The ops are for kernels only: elsewhere they are errors (SM6106).
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
/// Prints scalars at `{}` (or after the text if it has none), or one vector if the format ends in `{}` (M2). Scalars at
/// `{}` are i32, u32 or f32. Error SM6510: the format, or these dtypes. A call prints to standard output, `check` to
/// the log.
template <class... A>
void debug_print(const PrintFormat& format, const A&... arguments) {
  detail::debug_print(format.text, {Operand(arguments, format.at)...}, format.at);
}

/// Enables or disables subsequent debug_checks on this thread; initially off (S-L4). Returns the previous setting.
bool enable_debug_checks(bool on = true);
/// Ends the kernel with the message (SM4011) if the condition, a scalar, is false or 0 and checks were enabled when it
/// was traced (M4). Error SM6511: not a scalar.
void debug_check(const Operand& condition, std::string_view message);

/// Whether kernels traced from now on on this thread fill memory of run_scoped, empty_ref and pipelines before it is
/// used: floats with NaN, integers with their smallest value (E8). Initially off; returns the previous setting.
bool enable_poison_buffers(bool on = true);

/// A scalar for the profiler, i32 or f32 (M6). Error SM6511: anything else.
void trace_value(std::string_view label, const Operand& value);

/// Ops traced during its lifetime belong to a scope of that name in profiles.
class named_scope {
 public:
  explicit named_scope(std::string_view name, Location at = Location::current());
  ~named_scope();
  named_scope(const named_scope&) = delete;
  named_scope& operator=(const named_scope&) = delete;

 private:
  Location at_;
};

/// Waits for that many nanoseconds, a scalar that is converted to i32 (M7); native code does not wait. Error SM6511:
/// not a scalar.
void delay(const Operand& nanoseconds);

}  // namespace smalti
