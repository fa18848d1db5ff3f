#include "cpu/cache/LoweredText.h"

#include <sstream>

#include <fmt/format.h>

namespace smalti::cpu {

std::string loweredText(const LoweredKernel& k) {
  std::string text = fmt::format("{} {}", k.arenaBytes, k.sharedBounds.size());
  for (int64_t bound : k.sharedBounds) text += fmt::format(" {}", bound);
  text += fmt::format(" {}", k.written.size());
  for (bool written : k.written) text += written ? " 1" : " 0";
  text += fmt::format(" {}", k.undefined.size());
  for (const auto& u : k.undefined) {
    text += fmt::format(" {} {} {}", u.offset, name(u.type.dtype), u.type.shape.size());
    for (int64_t d : u.type.shape) text += fmt::format(" {}", d);
  }
  return text;
}

std::optional<LoweredKernel> readLowered(std::string_view line) {
  std::istringstream in{std::string(line)};
  LoweredKernel k;
  size_t shared = 0, results = 0, undefined = 0;
  constexpr size_t kMany = 1 << 20;  // so that a corrupt count cannot cause a large allocation
  if (!(in >> k.arenaBytes >> shared) || shared > kMany) return std::nullopt;
  for (size_t i = 0; i < shared; ++i)
    if (!(in >> k.sharedBounds.emplace_back())) return std::nullopt;
  if (!(in >> results) || results > kMany) return std::nullopt;
  for (size_t i = 0; i < results; ++i) {
    int written = 0;
    if (!(in >> written)) return std::nullopt;
    k.written.push_back(written != 0);
  }
  if (!(in >> undefined) || undefined > kMany) return std::nullopt;
  for (size_t i = 0; i < undefined; ++i) {
    LoweredKernel::Undefined u;
    std::string dtype;
    size_t rank = 0;
    if (!(in >> u.offset >> dtype >> rank) || rank > kMany) return std::nullopt;
    const auto type = dtype_from_name(dtype);
    if (!type) return std::nullopt;
    u.type.dtype = *type;
    for (size_t d = 0; d < rank; ++d)
      if (!(in >> u.type.shape.emplace_back())) return std::nullopt;
    k.undefined.push_back(std::move(u));
  }
  return k;
}

}  // namespace smalti::cpu
