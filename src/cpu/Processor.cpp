#include "cpu/Processor.h"

#include <unistd.h>
#if defined(__linux__)
#include <sys/syscall.h>
#endif

#include <algorithm>
#include <array>
#include <regex>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/Lasting.h"
#include "cpu/jit/Targets.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

namespace smalti::cpu {
namespace {

int64_t cacheBytes(int name, int64_t otherwise) {
  const long bytes = sysconf(name);
  return bytes > 0 ? bytes : otherwise;
}

/// Processors whose vector units are half as wide as their AVX-512 registers (Zen 4), or that have one FMA unit of the
/// full width (Intel's for clients).
bool oneFmaPort(std::string_view name) {
  static constexpr std::array<std::string_view, 5> kNames{"znver4", "cannonlake", "icelake-client", "tigerlake",
                                                          "rocketlake"};
  return std::ranges::find(kNames, name) != kNames.end();
}
/// Processors on which vdpbf16ps runs at twice the flops of f32 fma; on the others (Sapphire Rapids without AMX) it is
/// no faster, measured .49 of f32.
bool bf16DotIsFast(std::string_view name) { return name == "znver4" || name == "znver5"; }

/// Whether this process may use tile registers: the system saves them only for processes that have requested them.
bool mayUseTiles() {
#if defined(__linux__) && defined(__x86_64__)
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM of Linux, the state's number
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

/// One if the prefetcher is fastest with one stream: measured on Zen 4, .89 of the bandwidth; Zen 3 reads .70 of
/// it in one and .95 in four.
int streamsToRead(const Processor& p) { return p.avx512 ? 1 : 4; }

/// Skinny GEMM with 8 rows reads 12.3 GB/s of f32 and 10.3 GB/s of bf16 in one stream on a Xeon with tile
/// registers, 13.9 and 12.9 in four; reading alone reaches 16.4. Not measured on other processors.
int streamsToPrefetch(bool hasTiles) { return hasTiles ? 4 : 1; }

/// Derives fields from the features that LLVM lists for the processor.
void readFeatures(Processor& p) {
  const llvm::Triple triple(p.triple);
  if (triple.isAArch64()) p.vectorRegisters = 32;
  if (!triple.isX86()) return;
  const LlvmFeatures features(p.triple, p.name, p.features);
  const auto has = [&](const char* feature) { return features.has(feature); };
  p.avx512 = has("avx512f") && has("avx512bw") && has("avx512vl") && has("avx512dq");
  p.vectorBytes = p.avx512 ? 64 : has("avx2") && has("fma") && has("f16c") ? 32 : 16;
  p.vectorRegisters = p.avx512 ? 32 : 16;
  p.bf16Dot = p.avx512 && has("avx512bf16");
  p.int8Dot = (p.avx512 && has("avx512vnni")) || has("avxvnni");
  // A processor with tiles is a server, whatever model a virtual machine reports.
  p.fmaPorts = oneFmaPort(p.name) && !has("amx-tile") ? 1 : 2;
  p.fastBf16Dot = p.bf16Dot && bf16DotIsFast(p.name);
  p.readStreams = streamsToRead(p);
  p.prefetchStreams = streamsToPrefetch(has("amx-tile"));
}

Processor detectHost() {
  Processor p;
  p.triple = llvm::sys::getProcessTriple();
  p.name = llvm::sys::getHostCPUName().str();
  std::set<std::string> features;  // in the same order every time: caches are keyed by them
  for (const auto& feature : llvm::sys::getHostCPUFeatures())
    features.insert(fmt::format("{}{}", feature.getValue() ? '+' : '-', feature.getKey().str()));
  p.features = fmt::format("{}", fmt::join(features, ","));
  p.l1Bytes = cacheBytes(_SC_LEVEL1_DCACHE_SIZE, p.l1Bytes);
  p.l2Bytes = cacheBytes(_SC_LEVEL2_CACHE_SIZE, p.l2Bytes);
  p.l3Bytes = cacheBytes(_SC_LEVEL3_CACHE_SIZE, p.l3Bytes);
  if (!mayUseTiles()) p.features = std::regex_replace(p.features, std::regex("\\+amx-"), "-amx-");
  readFeatures(p);
  return p;
}

}  // namespace

bool Processor::isX86() const { return llvm::Triple(triple).isX86(); }

const Processor& hostProcessor() {
  static constinit Lasting<const Processor> host;
  return host.get(detectHost);
}

Result<Processor> processorNamed(std::string_view name) {
  if (name == "host") return hostProcessor();
  Processor p;
  const size_t slash = name.find('/');
  p.triple = slash == name.npos ? hostProcessor().triple : llvm::Triple::normalize(std::string(name.substr(0, slash)));
  p.name = name.substr(slash == name.npos ? 0 : slash + 1);
  const llvm::Target* target = findLlvmTarget(p.triple);
  std::unique_ptr<llvm::MCSubtargetInfo> info(target ? target->createMCSubtargetInfo(llvm::Triple(p.triple), "", "")
                                                     : nullptr);
  if (!info || !info->isCPUStringValid(p.name))
    return fail({.code = "SM7001",
                 .message = fmt::format("there is no processor '{}' for {}", p.name, p.triple),
                 .place = {},
                 .help = "use a name that LLVM accepts, such as znver4, sapphirerapids or haswell, or "
                         "aarch64-linux-gnu/neoverse-n1; `host` is this machine"});
  readFeatures(p);
  // LLVM derives them from the name; code that emits an instruction directly checks this list.
  if (p.avx512) p.features = "+avx512bw,+avx512dq,+avx512f,+avx512vl";
  return p;
}

}  // namespace smalti::cpu
