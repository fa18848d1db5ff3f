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

constexpr std::string_view kSparseCores = "SparseCores";

}  // namespace

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
