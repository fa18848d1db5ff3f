// Element-wise ops, found by name. What each computes is in docs/values.md; one functor per op, one table row.
//
// Names are the kernel dialects' (dialect prefix included): "arith.addf", "arith.divsi", "math.exp",
// "tpu.reciprocal", "tpu.weird"; `arith.cmpi`/`arith.cmpf` take the predicate as a suffix: "arith.cmpi.slt",
// "arith.cmpf.one". Plain array ops map to these names by dtype (src/plain).
#pragma once

#include <string_view>

#include "smalti/dtype.h"

namespace smalti::eval {

/// out[i] = f(in[i]), i < n. `out` may be `in` when element sizes are equal.
using UnaryKernel = void (*)(const void* in, void* out, int64_t n);

/// Which operand is a single element standing for all.
enum class Splat : uint8_t { none, lhs, rhs };
/// out[i] = f(a[i], b[i]). `out` may be `a` or `b` when element sizes are equal.
using BinaryKernel = void (*)(const void* a, const void* b, void* out, int64_t n, Splat splat);

/// out[i] = c[i] ? a[i] : b[i] for elements of `elementBytes`; each operand may be a splat.
/// `arith.select` for every dtype.
void select(const uint8_t* c, bool cSplat, const void* a, bool aSplat, const void* b, bool bSplat, void* out, int64_t n,
            int elementBytes);

/// Operand and result dtype are both `t` (compares and tpu.weird: result pred). nullptr: no such op for it.
UnaryKernel findUnary(std::string_view name, DType t);
BinaryKernel findBinary(std::string_view name, DType t);

/// Conversions: "arith.extf", "truncf", "extsi", "extui", "trunci", "sitofp", "uitofp", "fptosi", "fptoui",
/// "arith.index_cast", "arith.index_castui", and "arith.bitcast" (same width). i1 is `pred`.
UnaryKernel findConvert(std::string_view name, DType from, DType to);

/// tpu.reciprocal {approx = true}: f32(1 / f32(bf16(x))).
void reciprocalApprox(const float* in, float* out, int64_t n);

/// StableHLO/NumPy value conversion between any two array dtypes but complex ones (signedness from the dtypes; to pred
/// is != 0).
UnaryKernel findArrayConvert(DType from, DType to);

}  // namespace smalti::eval
