// The properties of a processor that code generation depends on: instructions, registers and caches.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "smalti/diagnostic.h"

namespace smalti::cpu {

struct Processor {
  std::string triple;    ///< as LLVM writes it: "x86_64-unknown-linux-gnu"
  std::string name;      ///< LLVM's name of the processor: "znver4", "sapphirerapids", "haswell"
  std::string features;  ///< LLVM's feature string: "+avx2,+fma,…"
  int vectorBytes = 16;  ///< widest vector register worth using
  int vectorRegisters = 16;
  int fmaPorts = 2;  ///< full-width fused multiply-adds started per cycle; from LLVM's model, 1 if unknown
  int64_t l1Bytes = 32 << 10, l2Bytes = 1 << 20, l3Bytes = 32 << 20;  ///< data, per core; l3 shared
  int readStreams = 1;       ///< a power of two: concurrent read streams with the highest bandwidth
  int prefetchStreams = 1;   ///< the same if they are prefetched by software and each line is multiplied several times
  bool avx512 = false;       ///< F, BW, VL and DQ
  bool bf16Dot = false;      ///< vdpbf16ps
  bool int8Dot = false;      ///< vpdpbusd on the widest vectors
  bool fastBf16Dot = false;  ///< vdpbf16ps does more flops per cycle than f32 fma

  bool isX86() const;
  int lanes(int elementBytes) const { return vectorBytes / elementBytes; }
  bool operator==(const Processor&) const = default;
};

/// Bytes of a cache line, of all supported processors.
inline constexpr int kLineBytes = 64;
/// A cache level; the numbers are LLVM's localities.
enum class CacheLevel : uint8_t { l2 = 2, l1 = 3 };

/// The processor of this process.
const Processor& hostProcessor();
/// The processor with this LLVM name; "host": this one; with a triple: "aarch64-linux-gnu/neoverse-n1". SM7001 if LLVM
/// knows none of that name.
Result<Processor> processorNamed(std::string_view name);

}  // namespace smalti::cpu
