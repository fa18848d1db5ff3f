#include "gpu/Architecture.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include <fmt/format.h>

namespace smalti::gpu {
namespace {

constexpr std::array<Architecture, 5> kArchitectures{{
    {"sm_80", "a100 a30", 80, 163 << 10, 164 << 10, 64, 32, false, "+ptx70"},
    {"sm_86", "a10 a40 rtx3090 rtxa6000", 86, 99 << 10, 100 << 10, 48, 16, false, "+ptx71"},
    {"sm_89", "l4 l40 l40s rtx4090", 89, 99 << 10, 100 << 10, 48, 24, false, "+ptx84"},
    {"sm_90", "", 90, 227 << 10, 228 << 10, 64, 32, false, "+ptx84"},
    {"sm_90a", "h100 h200 gh200", 90, 227 << 10, 228 << 10, 64, 32, true, "+ptx84"},
}};

/// Architectures and devices whose tensor cores have instructions (tcgen05) and memory of their own.
constexpr std::string_view kWithTcgen05 = "sm_100 sm_100a sm_103 sm_103a b100 b200 gb200 b300 gb300";

bool isOneOf(std::string_view word, std::string_view words) {
  for (size_t at = 0; at < words.size();) {
    const size_t end = std::min(words.find(' ', at), words.size());
    if (words.substr(at, end - at) == word) return true;
    at = end + 1;
  }
  return false;
}

}  // namespace

int oldestCuda(const Architecture& architecture) {
  // PTX ISA, "Release Notes": PTX 7.x came with CUDA 11.x, PTX 8.x (up to 8.5) with CUDA 12.x.
  constexpr int kMajorsBetween = 4;
  int ptx = 0;
  const std::string_view digits = architecture.ptx.substr(std::string_view("+ptx").size());
  std::from_chars(digits.data(), digits.data() + digits.size(), ptx);
  return (ptx / 10 + kMajorsBetween) * 1000 + ptx % 10 * 10;
}

std::span<const Architecture> architectures() { return kArchitectures; }

Result<Architecture> architectureNamed(std::string_view name) {
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  std::string known;
  for (const Architecture& a : kArchitectures) {
    if (a.name == lower || isOneOf(lower, a.devices)) return a;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", a.name);
    if (!a.devices.empty()) known += fmt::format(" ({})", a.devices);
  }
  if (isOneOf(lower, kWithTcgen05))
    return fail({.code = "SM7203",
                 .message = fmt::format("there is no code for the tensor cores of '{}' (tcgen05)", name),
                 .place = {},
                 .need = known,
                 .help = "name sm_90: its code runs there, with the instructions for tensor cores of older GPUs"});
  return fail({.code = "SM7203",
               .message = fmt::format("there is no code for a GPU named '{}'", name.substr(0, 100)),
               .place = {},
               .need = known,
               .help = "name one of these; code for an older one runs on newer ones, except that for sm_90a"});
}

}  // namespace smalti::gpu
