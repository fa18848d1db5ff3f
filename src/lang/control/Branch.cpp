// when, cond, switch: an "if" op per choice; its regions are true, then false.
#include <fmt/format.h>

#include "base/Text.h"
#include "lang/refs/Indexer.h"
#include "lang/trace/Place.h"
#include "lang/trace/Trace.h"
#include "smalti/control.h"
#include "smalti/ops.h"

namespace smalti {

using lang::AtPlace, lang::Trace;

namespace {

[[noreturn]] void refuseCondition(const Operand& condition) {
  lang::refuse({.code = "SM6115",
                .message = "a condition is no scalar",
                .place = {},
                .need = "a scalar pred",
                .have = condition.array().type().str(),
                .help = "reduce it with any or all, or select with where"});
}

/// The scalar pred of a condition; error SM6115.
Array predicate(const Operand& condition) {
  if (condition.rank() != 0) refuseCondition(condition);
  return condition.dtype() == DType::pred ? condition.array() : not_equal(condition, 0);
}

}  // namespace

void when(bool condition, const std::function<void()>& body) {
  if (condition) body();
}

void when(const Operand& condition, const std::function<void()>& body) {
  detail::branch(condition,
                 {[] { return detail::Arrays{}; },
                  [&] {
                    body();
                    return detail::Arrays{};
                  }},
                 true, condition.at());
}

detail::Arrays detail::branch(const Operand& index, const std::vector<Branch>& branches, bool isPred,
                              const Location& at) {
  Trace* trace = Trace::current();
  if (branches.empty() || (!isPred && (index.rank() != 0 || !is_integer(index.dtype())))) {
    AtPlace place(at);
    lang::refuse(
        {.code = "SM6117",
         .message = branches.empty() ? "a switch without branches" : "the index of a switch is no integer scalar",
         .place = {},
         .need = branches.empty() ? "at least one branch" : "an i32 scalar",
         .have = branches.empty() ? "none" : index.array().type().str(),
         .help = branches.empty() ? "give a function for each index from 0" : "convert it with astype(…, i32)"});
  }
  if (!index.array().is_traced()) {  // decided now (S-I1)
    int64_t i = 0;
    {
      AtPlace place(at);
      const auto known = lang::concreteInteger(index.array());
      if (!known) refuseCondition(index);
      i = isPred ? *known != 0 : *known;
    }
    return branches[std::min<int64_t>(std::max<int64_t>(i, 0), static_cast<int64_t>(branches.size()) - 1)]();
  }
  // Branch i if index <= i, else those after it. The bodies run outside this op's place: they have their own.
  const auto choose = [&](auto& self, size_t first) -> Arrays {
    if (first + 1 == branches.size()) return branches[first]();
    Array condition;
    {
      AtPlace place(at);
      condition = isPred ? predicate(index) : less_equal(index, static_cast<int64_t>(first));
    }
    std::vector<ArrayType> types;
    const auto traced = [&](const std::function<Arrays()>& body, bool again) {
      return trace->block({}, [&](std::span<const Array>) {
        Arrays results = body();
        if (again && results.size() != types.size()) {
          AtPlace place(at);
          lang::refuse({.code = "SM6116",
                        .message = "the branches of a cond give different numbers of results",
                        .place = {},
                        .need = counted(types.size(), "result"),
                        .have = fmt::format("{}", results.size()),
                        .help = "return as many values from each branch"});
        }
        for (size_t i = 0; i < results.size(); ++i) {
          if (!again) types.push_back(results[i].type());
          if (results[i].type() != types[i]) {
            AtPlace place(at);
            lang::refuse({.code = "SM6116",
                          .message = fmt::format("the branches of a cond give different types in result {}", i),
                          .place = {},
                          .need = types[i].str(),
                          .have = results[i].type().str(),
                          .help = "convert them to one shape and dtype with astype and broadcast_to"});
          }
        }
        return results;
      });
    };
    Block yes, no;
    if (isPred) {
      yes = traced(branches[1], false);
      no = traced(branches[0], true);
    } else {
      yes = traced(branches[first], false);
      no = traced([&] { return self(self, first + 1); }, true);
    }
    AtPlace place(at);
    std::vector<Block> regions;
    regions.push_back(std::move(yes));
    regions.push_back(std::move(no));
    const Array c[] = {condition};
    return trace->record("if", trace->use(c), types, {}, std::move(regions));
  };
  return choose(choose, 0);
}

}  // namespace smalti
