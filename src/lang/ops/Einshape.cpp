// einshape: split axes, permute, join.
#include <algorithm>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lang/ops/Support.h"
#include "smalti/ops/shape.h"
#include "smalti/ops/tpu.h"

namespace smalti {
namespace {

using Groups = std::vector<std::string>;

[[noreturn]] void refuseEquation(std::string_view equation, std::string need, std::string have) {
  lang::refuse({.code = "SM6303",
                .message = fmt::format("einshape cannot apply \"{}\"", equation.substr(0, 100)),
                .place = {},
                .need = std::move(need),
                .have = std::move(have),
                .help = "write it as \"a(bc)->bac\", with sizes of letters that do not follow: {{'b', 8}}"});
}

/// "a(bc)" is a, bc.
Groups parse(std::string_view equation, std::string_view side) {
  Groups groups;
  bool open = false;
  for (const char c : side) {
    if (c == ' ') continue;
    if ((c == '(' && open) || (c == ')' && !open)) refuseEquation(equation, "matched parentheses", std::string(side));
    if (c == '(' || c == ')') {
      open = c == '(';
      if (open) groups.emplace_back();
    } else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      if (!open) groups.emplace_back();
      groups.back().push_back(c);
    } else {
      refuseEquation(equation, "letters and parentheses", std::string(side));
    }
  }
  if (open) refuseEquation(equation, "matched parentheses", std::string(side));
  return groups;
}

std::string flat(const Groups& groups) { return fmt::format("{}", fmt::join(groups, "")); }

}  // namespace

Array einshape(std::string_view equation, const Operand& x, std::vector<std::pair<char, int64_t>> sizes) {
  lang::SourceLocationScope place(x.at());
  const size_t arrow = equation.find("->");
  if (arrow == std::string_view::npos) refuseEquation(equation, "exactly one '->'", "none");
  const Groups from = parse(equation, equation.substr(0, arrow)), to = parse(equation, equation.substr(arrow + 2));
  const std::string order = flat(from), wanted = flat(to);
  if (from.size() != x.shape().size())
    refuseEquation(equation, fmt::format("{} axes", from.size()),
                   fmt::format("shape [{}]", fmt::join(x.shape(), ", ")));
  std::string a = order, b = wanted;
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  if (a != b || std::adjacent_find(a.begin(), a.end()) != a.end())
    refuseEquation(equation, "the same letters on both sides, each once", std::string(equation));

  const auto given = [&](char c) {
    const auto s = std::find_if(sizes.begin(), sizes.end(), [&](const auto& p) { return p.first == c; });
    return s == sizes.end() ? std::optional<int64_t>{} : s->second;
  };
  Shape split;
  for (size_t g = 0; g < from.size(); ++g) {
    int64_t known = 1;
    std::optional<size_t> left;
    for (const char c : from[g]) {
      const auto size = from[g].size() == 1 ? std::optional(x.shape()[g]) : given(c);
      if (!size && left) refuseEquation(equation, fmt::format("the size of '{}'", c), "none");
      if (!size) left = split.size();
      known *= size.value_or(1);
      split.push_back(size.value_or(1));
    }
    if (left && known > 0 && x.shape()[g] % known == 0) known *= split[*left] = x.shape()[g] / known;
    if (known != x.shape()[g])
      refuseEquation(equation, fmt::format("sizes of '{}' whose product is {}", from[g], x.shape()[g]),
                     fmt::format("{}", known));
  }
  std::vector<int64_t> permutation;
  for (const char c : wanted) permutation.push_back(static_cast<int64_t>(order.find(c)));
  Shape joined;
  for (const std::string& group : to) {
    joined.push_back(1);
    for (const char c : group) joined.back() *= split[order.find(c)];
  }
  return lang::reshapeTo(transpose(lang::reshapeTo(x.array(), split), permutation), joined);
}

}  // namespace smalti
