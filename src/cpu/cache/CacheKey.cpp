// What names an entry, and where entries are.
#include <cstdlib>
#include <map>

#include <fmt/format.h>

#include "cpu/cache/BuildId.h"
#include "cpu/cache/CompileCache.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/BLAKE3.h"

namespace smalti::cpu {
std::string cacheKey(std::initializer_list<std::string_view> parts) {
  llvm::BLAKE3 hasher;
  const auto add = [&](std::string_view part) {
    hasher.update(fmt::format("{} ", part.size()));
    hasher.update(llvm::StringRef(part.data(), part.size()));
  };
  add(LLVM_VERSION_STRING);
  add(buildId());
  for (std::string_view part : parts) add(part);
  return llvm::toHex(hasher.final(), /*LowerCase=*/true);
}

std::string processorText(const Processor& p) {
  return fmt::format("{} {} {} {} {} {} {} {} {} {} {} {}{}{}{}", p.triple, p.name, p.features, p.vectorBytes,
                     p.vectorRegisters, p.fmaPorts, p.l1Bytes, p.l2Bytes, p.l3Bytes, p.readStreams, p.prefetchStreams,
                     p.avx512, p.bf16Dot, p.int8Dot, p.fastBf16Dot);
}

std::optional<std::string> cacheFolder(const std::string& setting) {
  if (setting == "off") return std::nullopt;
  if (setting != "auto" && !setting.empty()) return setting;
  const auto absolute = [](const char* variable) -> std::string {
    const char* value = std::getenv(variable);
    return value && *value == '/' ? value : "";
  };
  if (const std::string base = absolute("XDG_CACHE_HOME"); !base.empty()) return base + "/smalti";
  if (const std::string home = absolute("HOME"); !home.empty()) return home + "/.cache/smalti";
  return std::nullopt;
}

std::shared_ptr<CompileCache> openCache(const std::string& setting, int64_t limitBytes) {
  static std::mutex mutex;
  static auto& open = *new std::map<std::pair<std::string, int64_t>, std::shared_ptr<CompileCache>>;
  const auto folder = cacheFolder(setting);
  if (!folder) return nullptr;
  const std::lock_guard lock(mutex);
  auto& cache = open[{*folder, limitBytes}];
  if (!cache) cache = std::make_shared<CompileCache>(*folder, limitBytes);
  return cache;
}

}  // namespace smalti::cpu
