// Matrix products: everything becomes one dot_general.
#include "smalti/ops/dot.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lang/ops/Support.h"
#include "plain/PlainEvaluators.h"

namespace smalti {

using lang::AtPlace;

namespace {

[[noreturn]] void refuseSizes(std::string_view op, const Operand& x, const Operand& y, std::string need) {
  lang::refuse({.code = "SM6304",
                .message = fmt::format("'{}' of operands whose sizes do not match", op),
                .place = {},
                .need = std::move(need),
                .have = fmt::format("shapes [{}] and [{}]", fmt::join(x.shape(), ", "), fmt::join(y.shape(), ", ")),
                .help = "transpose or reshape an operand"});
}

std::vector<std::string> precisions(Precision p) {
  constexpr std::string_view kNames[] = {"DEFAULT", "HIGH", "HIGHEST"};
  const std::string n(kNames[static_cast<int>(p)]);
  return {n, n};
}

}  // namespace

Array dot_general(const Operand& x, const Operand& y, DotDimensionNumbers d, DotOptions options) {
  AtPlace place(x.at());
  for (auto* axes : {&d.lhs_contracting, &d.lhs_batch})
    for (int64_t& a : *axes) a = lang::checkedAxis("dot_general", a, x.rank());
  for (auto* axes : {&d.rhs_contracting, &d.rhs_batch})
    for (int64_t& a : *axes) a = lang::checkedAxis("dot_general", a, y.rank());
  const auto match = [&](const std::vector<int64_t>& l, const std::vector<int64_t>& r, std::string_view what) {
    if (l.size() != r.size()) refuseSizes("dot_general", x, y, fmt::format("as many {} axes on both sides", what));
    for (size_t i = 0; i < l.size(); ++i)
      if (x.shape()[l[i]] != y.shape()[r[i]])
        refuseSizes("dot_general", x, y,
                    fmt::format("equal {} axes: {} of the left and {} of the right", what, l[i], r[i]));
  };
  match(d.lhs_contracting, d.rhs_contracting, "contracting");
  match(d.lhs_batch, d.rhs_batch, "batch");
  // Operands keep their own narrow dtypes only when the result's is told (int8 × int8 → i32).
  const lang::Promoted p = lang::promote("dot_general", {&x, &y});
  const DType result = options.preferred_element_type.value_or(p.dtype);
  const Array l = options.preferred_element_type ? x.array() : lang::convertTo(x.array(), p.dtype);
  const Array r = options.preferred_element_type ? y.array() : lang::convertTo(y.array(), p.dtype);
  Shape shape;
  for (const int64_t a : d.lhs_batch) shape.push_back(x.shape()[a]);
  for (const int64_t a : plain::freeDims(x.shape().size(), d.lhs_batch, d.lhs_contracting))
    shape.push_back(x.shape()[a]);
  for (const int64_t a : plain::freeDims(y.shape().size(), d.rhs_batch, d.rhs_contracting))
    shape.push_back(y.shape()[a]);
  return lang::bind1("dot_general", {l, r}, {result, std::move(shape)},
                     {{"lhs_batching_dimensions", d.lhs_batch},
                      {"rhs_batching_dimensions", d.rhs_batch},
                      {"lhs_contracting_dimensions", d.lhs_contracting},
                      {"rhs_contracting_dimensions", d.rhs_contracting},
                      {"precision_config", precisions(options.precision)}});
}

Array dot(const Operand& x, const Operand& y, DotOptions options) {
  AtPlace place(x.at());
  if (x.rank() < 1 || y.rank() < 1 || x.rank() > 2 || y.rank() > 2) refuseSizes("dot", x, y, "operands of rank 1 or 2");
  if (x.shape().back() != y.shape()[0])
    refuseSizes("dot", x, y, fmt::format("{} rows in the right operand", x.shape().back()));
  return dot_general(x, y, {{x.rank() - 1}, {0}, {}, {}}, options);
}

Array matmul(const Operand& x, const Operand& y, DotOptions options) {
  AtPlace place(x.at());
  if (x.rank() < 1 || y.rank() < 1) refuseSizes("matmul", x, y, "operands of rank 1 or more");
  if (x.rank() <= 1 || y.rank() == 1 || (x.rank() == 2 && y.rank() == 2)) {
    const int64_t inner = std::max<int64_t>(y.rank() - 2, 0);
    if (x.shape().back() != y.shape()[inner])
      refuseSizes("matmul", x, y, fmt::format("{} rows in the right operand", x.shape().back()));
    return dot_general(x, y, {{x.rank() - 1}, {inner}, {}, {}}, options);
  }
  if (x.shape().back() != y.array().dim(-2))
    refuseSizes("matmul", x, y, fmt::format("{} rows in the right operand", x.shape().back()));
  if (y.rank() == 2) return dot_general(x, y, {{x.rank() - 1}, {0}, {}, {}}, options);
  // Batches broadcast to each other.
  const auto batch = [](const Operand& o) {
    return Operand(Array::view({o.dtype(), Shape(o.shape().begin(), o.shape().end() - 2)}, nullptr), o.at());
  };
  const Operand left = batch(x), right = batch(y);
  const Shape common = lang::broadcastShape("matmul", {&left, &right});
  const auto spread = [&](const Operand& o) {
    Shape shape = common;
    shape.insert(shape.end(), o.shape().end() - 2, o.shape().end());
    return Operand(lang::broadcastTo(o.array(), shape), o.at());
  };
  DotDimensionNumbers d;
  const auto rank = static_cast<int64_t>(common.size());
  for (int64_t a = 0; a < rank; ++a) d.lhs_batch.push_back(a), d.rhs_batch.push_back(a);
  d.lhs_contracting = {rank + 1};
  d.rhs_contracting = {rank};
  return dot_general(spread(x), spread(y), std::move(d), options);
}

}  // namespace smalti
