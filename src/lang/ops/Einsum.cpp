// einsum: two operands at a time; sums over what one side has alone, one dot_general, and a transpose at the end.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lang/ops/Support.h"
#include "smalti/ops/dot.h"
#include "smalti/ops/reduce.h"
#include "smalti/ops/shape.h"

namespace smalti {
namespace {

struct Equation {
  std::vector<std::string> in;
  std::string out;
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

Equation parse(std::string_view text, size_t operands) {
  Equation e{{""}, ""};
  bool arrow = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ' ') continue;
    std::string& part = arrow ? e.out : e.in.back();
    if (c == ',' && !arrow) {
      e.in.emplace_back();
    } else if (c == '-' && i + 1 < text.size() && text[i + 1] == '>' && !arrow) {
      arrow = true;
      ++i;
    } else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      if (has(part, c)) refuseEquation(text, "each letter once per operand");
      part.push_back(c);
    } else {
      refuseEquation(text, "letters, commas between operands and one arrow");
    }
  }
  if (e.in.size() != operands)
    refuseEquation(text, operands == 1 ? "one operand" : fmt::format("{} operands", operands));
  std::string all;
  for (const std::string& s : e.in) all += s;
  if (!arrow) {  // what stands once, in alphabetical order
    for (const char c : all)
      if (std::count(all.begin(), all.end(), c) == 1) e.out.push_back(c);
    std::sort(e.out.begin(), e.out.end());
  }
  for (const char c : e.out)
    if (!has(all, c)) refuseEquation(text, fmt::format("'{}' in an operand", c));
  return e;
}

/// An operand and its letters.
struct Term {
  std::string labels;
  Operand value;
};

/// Sums over the axes whose letters occur nowhere else.
Term withoutLone(const Term& x, const std::string& others) {
  std::vector<int64_t> lone;
  std::string kept;
  for (size_t i = 0; i < x.labels.size(); ++i) {
    if (has(others, x.labels[i]))
      kept.push_back(x.labels[i]);
    else
      lone.push_back(static_cast<int64_t>(i));
  }
  if (lone.empty()) return x;
  return {kept, Operand(sum(x.value, Axes{lone}), x.value.at())};
}

/// The product of two: `others` are the letters of the result and of the operands that are still to come.
Term product(const Term& x, const Term& y, const std::string& others, const DotOptions& options) {
  const Term l = withoutLone(x, y.labels + others), r = withoutLone(y, x.labels + others);
  DotDimensionNumbers d;
  std::string order;
  for (const char c : l.labels)
    if (has(r.labels, c)) {
      const bool batch = has(others, c);
      (batch ? d.lhs_batch : d.lhs_contracting).push_back(static_cast<int64_t>(l.labels.find(c)));
      (batch ? d.rhs_batch : d.rhs_contracting).push_back(static_cast<int64_t>(r.labels.find(c)));
      if (batch) order.push_back(c);
    }
  for (const Term* t : {&l, &r})
    for (const char c : t->labels)
      if (!has((t == &l ? r : l).labels, c)) order.push_back(c);
  return {order, Operand(dot_general(l.value, r.value, std::move(d), options), x.value.at())};
}

/// Multiplications of a product.
double costOf(const Term& x, const Term& y) {
  double cost = 1;
  for (size_t i = 0; i < x.labels.size(); ++i) cost *= static_cast<double>(x.value.shape()[i]);
  for (size_t i = 0; i < y.labels.size(); ++i)
    if (!has(x.labels, y.labels[i])) cost *= static_cast<double>(y.value.shape()[i]);
  return cost;
}

Array permuted(const Term& x, const std::string& out) {
  std::vector<int64_t> permutation;
  bool same = true;
  for (const char c : out) {
    permutation.push_back(static_cast<int64_t>(x.labels.find(c)));
    same = same && permutation.back() + 1 == static_cast<int64_t>(permutation.size());
  }
  return same ? x.value.array() : transpose(x.value, std::move(permutation));
}

}  // namespace

Array einsum(std::string_view equation, const std::vector<Operand>& operands, DotOptions options) {
  lang::SourceLocationScope place(operands.empty() ? Location() : operands[0].at());
  const Equation e = parse(equation, operands.size());
  std::vector<Term> terms;
  std::vector<std::string> letters;
  bool fits = true;
  for (size_t i = 0; i < operands.size(); ++i) {
    terms.push_back({e.in[i], operands[i]});
    fits = fits && e.in[i].size() == operands[i].shape().size();
    letters.push_back(fmt::format("{} for [{}]", operands[i].rank(), fmt::join(operands[i].shape(), ", ")));
  }
  if (!fits) refuseEquation(equation, fmt::format("letters: {}", fmt::join(letters, " and ")));
  while (terms.size() > 1) {
    size_t a = 0, b = 1;
    for (size_t i = 0; i < terms.size(); ++i)
      for (size_t j = i + 1; j < terms.size(); ++j)
        if (costOf(terms[i], terms[j]) < costOf(terms[a], terms[b])) a = i, b = j;
    std::string others = e.out;
    for (size_t i = 0; i < terms.size(); ++i)
      if (i != a && i != b) others += terms[i].labels;
    Term made = product(terms[a], terms[b], others, options);
    terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(b));
    terms[a] = std::move(made);
  }
  return permuted(withoutLone(terms[0], e.out), e.out);
}

Array einsum(std::string_view equation, const Operand& x, const Operand& y, DotOptions options) {
  return einsum(equation, std::vector<Operand>{x, y}, options);
}
Array einsum(std::string_view equation, const Operand& x, DotOptions options) {
  return einsum(equation, std::vector<Operand>{x}, options);
}
Array einsum(std::string_view equation, const Operand& x, const Operand& y, const Operand& z, DotOptions options) {
  return einsum(equation, std::vector<Operand>{x, y, z}, options);
}

}  // namespace smalti
