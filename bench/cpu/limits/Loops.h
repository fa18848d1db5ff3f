// The loops whose rates are the machine's limits, for the instruction set of the processor this runs on.
#pragma once

#include <cstddef>
#include <cstdint>

namespace smalti::bench {

/// A loop of arithmetic in registers; gives flops (or integer ops) done. Null where the processor lacks the
/// instruction.
using Arithmetic = double (*)(int64_t iterations);
Arithmetic fmaLoop();      ///< f32 fused multiply-add on the widest vectors
Arithmetic bf16DotLoop();  ///< vdpbf16ps
Arithmetic int8DotLoop();  ///< vpdpbusd, else vpmaddwd and vpaddd

/// Loops over `count` floats, a multiple of 64; pointers 64-byte aligned.
struct Streams {
  float (*read)(const float* a, int64_t count);         ///< in four streams
  float (*readForward)(const float* a, int64_t count);  ///< in one, fetched ahead
  float (*readPagesByFour)(const float* a, int64_t count,
                           int64_t page);  ///< in the order of a page table, four interleaved
  float (*readPagesByEight)(const float* a, int64_t count, int64_t page);
  void (*copy)(float* to, const float* from, int64_t count);
  void (*copyStreaming)(float* to, const float* from, int64_t count);
  void (*triad)(float* a, const float* b, const float* c, float s, int64_t count);
  void (*triadStreaming)(float* a, const float* b, const float* c, float s, int64_t count);
};
const Streams& streams();

}  // namespace smalti::bench
