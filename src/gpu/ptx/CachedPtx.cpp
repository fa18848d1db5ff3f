#include "gpu/ptx/CachedPtx.h"

#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cpu/cache/PackageText.h"

namespace smalti::gpu {
namespace {

constexpr std::string_view kReport = "smalti-launch-1";

template <class T>
bool readList(std::istringstream& in, std::vector<T>& to) {
  size_t n = 0;
  constexpr size_t kMost = 1 << 16;
  if (!(in >> n) || n > kMost) return false;
  for (size_t i = 0; i < n; ++i) {
    int64_t value = 0;
    if (!(in >> value)) return false;
    to.push_back(static_cast<T>(value));
  }
  return true;
}

}  // namespace

std::string launchReport(const DeviceKernel& k) {
  std::string text = fmt::format("{} {} {} {} {}\n{}", kReport, k.threads, k.sharedBytes, k.workspaceBytes, k.barriers,
                                 k.sharedBounds.size());
  for (const int64_t bound : k.sharedBounds) text += fmt::format(" {}", bound);
  text += fmt::format("\n{}", k.written.size());
  for (const bool written : k.written) text += written ? " 1" : " 0";
  return text + "\n" + k.inOrder;
}

std::optional<DeviceKernel> readLaunchReport(const std::string& text) {
  std::istringstream in(text);
  std::string format;
  DeviceKernel k;
  if (!(in >> format >> k.threads >> k.sharedBytes >> k.workspaceBytes >> k.barriers) || format != kReport)
    return std::nullopt;
  if (!readList(in, k.sharedBounds) || !readList(in, k.written) || in.get() != '\n') return std::nullopt;
  std::getline(in, k.inOrder, '\0');
  return k;
}

Result<PtxKernel> cachedPtx(cpu::CompileCache* cache, const KernelPackage& package, const Architecture& architecture,
                            eval::Poison poison, bool checkBlocks) {
  if (!cache) return compileToPtx(package, architecture, poison, checkBlocks);
  const std::string options = fmt::format("ptx {} {} {}", architecture.name, static_cast<int>(poison), checkBlocks);
  const std::string key = cpu::cacheKey({cpu::packageText(package), options});
  if (auto kept = cache->find(key))
    if (auto launch = readLaunchReport(kept->report))
      return PtxKernel{.lowered = std::move(*launch), .llvm = {}, .ptx = std::move(kept->object)};
  auto made = compileToPtx(package, architecture, poison, checkBlocks);
  if (made && !made->lowered.prints && made->lowered.maps.empty())
    cache->put(key, made->ptx, launchReport(made->lowered));
  return made;
}

}  // namespace smalti::gpu
