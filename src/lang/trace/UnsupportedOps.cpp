#include "smalti/unsupported_ops.h"

#include <fmt/format.h>

#include "lang/trace/SourceLocationScope.h"

namespace smalti {
namespace {

[[noreturn]] void elsewhere(std::string_view op, std::string_view whose, std::string help, const Location& at) {
  lang::SourceLocationScope place(at);
  lang::refuse({.code = "SM6402",
                .message = fmt::format("'{}' is in kernels for {} only", op, whose),
                .place = {},
                .need = "an op that a TensorCore has",
                .have = std::string(op),
                .help = std::move(help)});
}

constexpr std::string_view kGpus = "GPUs", kSparseCores = "SparseCores";

/// Read, modify, write: no other program runs in between.
[[noreturn]] void atomic(std::string_view op, std::string_view instead, const Operand& value) {
  elsewhere(op, kGpus, fmt::format("the programs of a TensorCore run one after the other: {}", instead), value.at());
}

}  // namespace

Array atomic_add(const AnyRef&, const Operand& v) { atomic("atomic_add", "ref[i] += value", v); }
Array atomic_max(const AnyRef&, const Operand& v) { atomic("atomic_max", "ref[i] = maximum(ref[i], value)", v); }
Array atomic_min(const AnyRef&, const Operand& v) { atomic("atomic_min", "ref[i] = minimum(ref[i], value)", v); }
Array atomic_and(const AnyRef&, const Operand& v) { atomic("atomic_and", "ref[i] &= value", v); }
Array atomic_or(const AnyRef&, const Operand& v) { atomic("atomic_or", "ref[i] |= value", v); }
Array atomic_xor(const AnyRef&, const Operand& v) { atomic("atomic_xor", "ref[i] ^= value", v); }
Array atomic_xchg(const AnyRef&, const Operand& v) { atomic("atomic_xchg", "swap(ref.at(i), value)", v); }
Array atomic_cas(const AnyRef&, const Operand&, const Operand& v) {
  atomic("atomic_cas", "ref[i] = where(ref[i] == compare, value, ref[i])", v);
}
Array fetch_and_add(const AnyRef&, const Operand& v) {
  elsewhere("fetch_and_add", kSparseCores, "the programs of a TensorCore run one after the other: ref[i] += value",
            v.at());
}
void addupdate(const AnyRef&, const Operand& v) {
  elsewhere("addupdate", kSparseCores, "write ref[_] += value", v.at());
}
void detail::parallel_loop(const Location& at) {
  elsewhere("parallel_loop", kSparseCores, "use loop or fori_loop; the compiler orders what does not depend", at);
}

}  // namespace smalti
