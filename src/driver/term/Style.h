// Colours, widths and numbers as a person reads them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace smalti::term {

enum class Style : uint8_t { bold, red, green, yellow, dim };

/// The text between its escape codes; as it is when not `color`.
std::string styled(Style, std::string_view text, bool color);
/// `color` is the option's value (auto, always, never); auto follows the descriptor and NO_COLOR.
bool wantsColor(std::string_view color, int fd);
/// Code points, escape codes not counted.
int displayWidth(std::string_view text);
/// "1,234,567".
std::string grouped(int64_t n);
/// "1.5 KiB", "12 B".
std::string humanBytes(int64_t bytes);
/// "0.25 s", "1 min 5 s".
std::string humanSeconds(double seconds);
/// A value as tables show it: at most 6 significant digits, integers whole.
std::string number(double value);

}  // namespace smalti::term
