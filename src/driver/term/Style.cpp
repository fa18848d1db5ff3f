#include "driver/term/Style.h"

#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

namespace smalti::term {

std::string styled(Style style, std::string_view text, bool color) {
  if (!color || text.empty()) return std::string(text);
  constexpr std::array kCodes{"1", "1;31", "32", "33", "2"};
  return fmt::format("\x1b[{}m{}\x1b[0m", kCodes[static_cast<size_t>(style)], text);
}

bool wantsColor(std::string_view color, int fd) {
  if (color != "auto") return color == "always";
  const char* noColor = std::getenv("NO_COLOR");
  return !(noColor && *noColor) && ::isatty(fd);
}

int displayWidth(std::string_view text) {
  int width = 0;
  bool inEscape = false;
  for (const char c : text) {
    if (c == '\x1b') inEscape = true;
    if (!inEscape && (static_cast<unsigned char>(c) & 0xc0) != 0x80) ++width;
    if (inEscape && c == 'm') inEscape = false;
  }
  return width;
}

std::string grouped(int64_t n) {
  std::string digits = std::to_string(n);
  for (int i = static_cast<int>(digits.size()) - 3; i > (n < 0 ? 1 : 0); i -= 3)
    digits.insert(static_cast<size_t>(i), ",");
  return digits;
}

std::string humanBytes(int64_t bytes) {
  constexpr std::array kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) value /= 1024, ++unit;
  return fmt::format("{:.4g} {}", value, kUnits[unit]);
}

std::string humanSeconds(double seconds) {
  if (seconds < 60) return fmt::format("{:.2f} s", seconds);
  const auto whole = static_cast<int64_t>(seconds);
  return fmt::format("{} min {} s", whole / 60, whole % 60);
}

std::string number(double value) {
  constexpr double kExactIntegers = 1e15;
  if (std::isfinite(value) && value == std::trunc(value) && std::abs(value) < kExactIntegers)
    return fmt::format("{:.0f}", value == 0 ? 0.0 : value);
  return fmt::format("{:.6g}", value);
}

}  // namespace smalti::term
