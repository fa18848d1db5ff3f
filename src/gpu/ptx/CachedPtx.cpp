#include "gpu/ptx/CachedPtx.h"

#include <algorithm>
#include <filesystem>
#include <span>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cpu/cache/PackageText.h"
#include "gpu/ptx/Tools.h"
#include "ir/GpuParams.h"

namespace smalti::gpu {
namespace {

constexpr std::string_view kReport = "smalti-launch-2", kCubin = "smalti-cubin-1";

/// What tells one version of a tool from the next, without running it.
std::string identity(const std::string& tool) {
  std::error_code error;
  const auto changed = std::filesystem::last_write_time(tool, error).time_since_epoch().count();
  return fmt::format("{} {} {}", tool, changed, std::filesystem::file_size(tool, error));
}

template <class T>
bool readList(std::istringstream& in, std::vector<T>& to) {
  size_t n = 0;
  constexpr size_t kMax = 1 << 16;
  if (!(in >> n) || n > kMax) return false;
  for (size_t i = 0; i < n; ++i) {
    int64_t value = 0;
    if (!(in >> value)) return false;
    to.push_back(static_cast<T>(value));
  }
  return true;
}

std::string listText(std::span<const int64_t> list) { return fmt::format("{} {}", list.size(), fmt::join(list, " ")); }

bool isPossible(const TensorMap& map) {
  const int bytes = map.elementBytes;
  const size_t rank = map.extents.size();
  return (bytes == 1 || bytes == 2 || bytes == 4) && rank >= 1 && rank <= TensorMap::kMaxDimensions &&
         map.box.size() == rank;
}

bool readMaps(std::istringstream& in, std::vector<TensorMap>& to) {
  size_t n = 0;
  constexpr size_t kMax = 1 << 10;
  if (!(in >> n) || n > kMax) return false;
  for (size_t i = 0; i < n; ++i) {
    TensorMap map;
    if (!(in >> map.array >> map.elementBytes) || !readList(in, map.extents) || !readList(in, map.box) ||
        !isPossible(map))
      return false;
    to.push_back(std::move(map));
  }
  return true;
}

}  // namespace

std::string launchReport(const DeviceKernel& k) {
  const std::vector<int64_t> written(k.written.begin(), k.written.end());
  std::string text =
      fmt::format("{} {} {} {} {} {}\n{}\n{}\n{}", kReport, k.threads, k.copyThreads, k.sharedBytes, k.workspaceBytes,
                  k.barriers, listText(k.sharedBounds), listText(written), k.maps.size());
  for (const TensorMap& map : k.maps)
    text += fmt::format("\n{} {} {} {}", map.array, map.elementBytes, listText(map.extents), listText(map.box));
  return text + "\n" + k.sequentialReason;
}

std::optional<DeviceKernel> readLaunchReport(const std::string& text) {
  std::istringstream in(text);
  std::string format;
  DeviceKernel k;
  if (!(in >> format >> k.threads >> k.copyThreads >> k.sharedBytes >> k.workspaceBytes >> k.barriers) ||
      format != kReport)
    return std::nullopt;
  if (!readList(in, k.sharedBounds) || !readList(in, k.written) || !readMaps(in, k.maps) || in.get() != '\n')
    return std::nullopt;
  std::getline(in, k.sequentialReason, '\0');
  return k;
}

Result<PtxKernel> cachedPtx(cpu::CompileCache* cache, const KernelPackage& package, const Architecture& architecture,
                            eval::Poison poison, bool checkBlocks) {
  if (!cache) return compileToPtx(package, architecture, poison, checkBlocks);
  const auto params = gpuParamsOf(package);
  if (!params) return fail(params.error());
  const std::string options =
      fmt::format("ptx {} {} {} {}", architecture.name, static_cast<int>(poison), checkBlocks, gpuParamsText(*params));
  const std::string key = cpu::cacheKey({cpu::packageText(package), options});
  const size_t arrays = package.operands.size() + package.results.size();
  if (auto kept = cache->find(key))
    if (auto launch = readLaunchReport(kept->report);
        launch && std::ranges::all_of(launch->maps, [&](const TensorMap& map) { return map.array < arrays; }))
      return PtxKernel{.lowered = std::move(*launch), .llvm = {}, .ptx = std::move(kept->object)};
  auto made = compileToPtx(package, architecture, poison, checkBlocks);
  if (made && !made->lowered.prints) cache->put(key, made->ptx, launchReport(made->lowered));
  return made;
}

std::optional<std::string> cachedCubin(cpu::CompileCache* cache, const std::string& ptx, const std::string& gpu) {
  const auto ptxas = findTool("ptxas");
  if (!ptxas) return std::nullopt;
  const std::string key = cpu::cacheKey({ptx, fmt::format("cubin {} {}", gpu, identity(*ptxas))});
  if (cache)
    if (auto kept = cache->find(key); kept && kept->report == kCubin) return std::move(kept->object);
  auto made = assemble(*ptxas, ptx, gpu);
  if (!made) return std::nullopt;
  if (cache) cache->put(key, made->cubin, kCubin);
  return std::move(made->cubin);
}

}  // namespace smalti::gpu
