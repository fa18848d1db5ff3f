// einsum of two operands: sums over what one side has alone, one dot_general, a transpose.
#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lang/ops/Support.h"
#include "smalti/ops/dot.h"
#include "smalti/ops/reduce.h"
#include "smalti/ops/shape.h"

namespace smalti {
namespace {

struct Equation {
  std::string lhs, rhs, out;
};

[[noreturn]] void refuseEquation(std::string_view equation, std::string need) {
  lang::refuse({.code = "SM6304",
                .message = fmt::format("einsum cannot read \"{}\"", equation.substr(0, 100)),
                .place = {},
                .need = std::move(need),
                .have = fmt::format("\"{}\"", equation.substr(0, 100)),
                .help = "write it as \"ij,jk->ik\""});
}

bool has(const std::string& labels, char c) { return labels.find(c) != std::string::npos; }

Equation parse(std::string_view text) {
  Equation e;
  std::string* part = &e.lhs;
  bool arrow = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ' ') continue;
    if (c == ',' && part == &e.lhs) {
      part = &e.rhs;
    } else if (c == '-' && i + 1 < text.size() && text[i + 1] == '>' && part == &e.rhs) {
      part = &e.out;
      arrow = true;
      ++i;
    } else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      if (has(*part, c)) refuseEquation(text, "each letter once per operand");
      part->push_back(c);
    } else {
      refuseEquation(text, "letters, one comma and an arrow");
    }
  }
  if (part == &e.lhs) refuseEquation(text, "two operands");
  if (!arrow) {  // what stands once, in alphabetical order
    for (const std::string* s : {&e.lhs, &e.rhs})
      for (const char c : *s)
        if (!has(s == &e.lhs ? e.rhs : e.lhs, c)) e.out.push_back(c);
    std::sort(e.out.begin(), e.out.end());
  }
  for (const char c : e.out)
    if (!has(e.lhs, c) && !has(e.rhs, c)) refuseEquation(text, fmt::format("'{}' in an operand", c));
  return e;
}

/// Sums over the axes that only this operand has.
Array withoutLone(const Operand& x, std::string& labels, const std::string& other, const std::string& out) {
  std::vector<int64_t> lone;
  std::string kept;
  for (size_t i = 0; i < labels.size(); ++i) {
    if (has(other, labels[i]) || has(out, labels[i]))
      kept.push_back(labels[i]);
    else
      lone.push_back(static_cast<int64_t>(i));
  }
  labels = kept;
  return lone.empty() ? x.array() : sum(x, Axes{lone});
}

}  // namespace

Array einsum(std::string_view equation, const Operand& x, const Operand& y, DotOptions options) {
  lang::AtPlace place(x.at());
  Equation e = parse(equation);
  if (e.lhs.size() != x.shape().size() || e.rhs.size() != y.shape().size())
    refuseEquation(equation, fmt::format("{} letters for [{}] and {} for [{}]", x.rank(), fmt::join(x.shape(), ", "),
                                         y.rank(), fmt::join(y.shape(), ", ")));
  const Operand l(withoutLone(x, e.lhs, e.rhs, e.out), x.at()), r(withoutLone(y, e.rhs, e.lhs, e.out), y.at());
  DotDimensionNumbers d;
  std::string order;
  for (const char c : e.lhs)
    if (has(e.rhs, c)) {
      const bool batch = has(e.out, c);
      (batch ? d.lhs_batch : d.lhs_contracting).push_back(static_cast<int64_t>(e.lhs.find(c)));
      (batch ? d.rhs_batch : d.rhs_contracting).push_back(static_cast<int64_t>(e.rhs.find(c)));
      if (batch) order.push_back(c);
    }
  for (const std::string* s : {&e.lhs, &e.rhs})
    for (const char c : *s)
      if (!has(s == &e.lhs ? e.rhs : e.lhs, c)) order.push_back(c);
  const Array product = dot_general(l, r, std::move(d), options);
  std::vector<int64_t> permutation;
  for (const char c : e.out) permutation.push_back(static_cast<int64_t>(order.find(c)));
  return transpose(product, std::move(permutation));
}

}  // namespace smalti
