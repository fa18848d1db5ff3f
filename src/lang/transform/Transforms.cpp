// The transformations of smalti/transform.h: arguments are checked, and errors name the problem.
#include <algorithm>

#include <fmt/format.h>

#include "base/Text.h"
#include "lang/ops/Support.h"
#include "lang/trace/HasValue.h"
#include "lang/transform/Batch.h"
#include "lang/transform/ControlFlow.h"
#include "lang/transform/Custom.h"
#include "lang/transform/Depth.h"
#include "smalti/ops.h"
#include "smalti/transform.h"

namespace smalti {
namespace lang {
namespace {

std::vector<Array> runCheckpoint(const OpCall& call) { return call.regions[0].body(call.operands); }

constexpr OpTable kCheckpointOps{OpRecord{.name = "checkpoint",
                                          .jaxName = "remat2",
                                          .types = anyResults,
                                          .run = runCheckpoint,
                                          .expand = runCheckpoint,
                                          .control = &kCheckpointRules}};
const OpFamily kCheckpointFamily(kCheckpointOps);

/// Error SM6118 at the call for a result that has no value.
Functional functional(const detail::LeafFunction& f, const Location& at) {
  return [&f, at](std::span<const Array> x) {
    detail::Leaves results = f({x.begin(), x.end()});
    const SourceLocationScope place(at);
    for (const Array& a : results) checkHasValue(a);
    return results;
  };
}

void checkInputs(const detail::Leaves& leaves) {
  for (const Array& a : leaves) {
    checkHasValue(a);
    if (Tracer::isEager()) checkConcrete(a);
  }
}

/// A cotangent or tangent of a value; error SM7107.
void checkTangent(std::string_view what, const Array& given, const ArrayType& wanted, size_t i) {
  if (given.type() == wanted) return;
  refuse({.code = "SM7107",
          .message = fmt::format("{} {} has a different type from its value", what, i),
          .place = {},
          .need = wanted.str(),
          .have = given.type().str(),
          .help = "tangents and cotangents have the shape and dtype of the values they belong to"});
}

void checkCount(std::string_view what, size_t have, size_t need) {
  if (have == need) return;
  refuse({.code = "SM7107",
          .message = fmt::format("a different number of {}s than values", what),
          .place = {},
          .need = counted(need, what),
          .have = fmt::format("{}", have),
          .help = "give one for each array, in structures of the same form"});
}

}  // namespace
}  // namespace lang

using lang::SourceLocationScope, lang::MaybeZero;

void detail::trees_differ(size_t need, size_t have, const Location& at) {
  SourceLocationScope place(at);
  lang::refuse({.code = "SM7115",
                .message = "tree_map got structures of different numbers of arrays",
                .place = {},
                .need = fmt::format("{} arrays", need),
                .have = fmt::format("{}", have),
                .help = "give structures of one form: vectors in them have one size"});
}

detail::Leaves detail::run_jvp(const LeafFunction& f, const Leaves& primals, const Leaves& tangents,
                               const Location& at) {
  const lang::Depth depth(at);
  std::vector<MaybeZero> given;
  {
    SourceLocationScope place(at);
    lang::checkInputs(primals);
    lang::checkInputs(tangents);
    lang::checkCount("tangent", tangents.size(), primals.size());
    for (size_t i = 0; i < primals.size(); ++i) {
      lang::checkTangent("tangent", tangents[i], primals[i].type(), i);
      given.push_back(is_float(primals[i].dtype()) ? MaybeZero(tangents[i]) : std::nullopt);
    }
  }
  const lang::Differentiated d = lang::jvp(lang::functional(f, at), primals, given);
  Leaves all = d.results;
  SourceLocationScope place(at);
  for (size_t i = 0; i < d.results.size(); ++i) all.push_back(lang::instantiated(d.tangents[i], d.results[i].type()));
  return all;
}

detail::PulledBack detail::run_vjp(const LeafFunction& f, const Leaves& primals, const Location& at) {
  const lang::Depth depth(at);
  {
    SourceLocationScope place(at);
    lang::checkInputs(primals);
  }
  lang::Pullback made = lang::vjp(lang::functional(f, at), primals);
  std::vector<ArrayType> types;
  for (const Array& r : made.results) types.push_back(r.type());
  std::vector<ArrayType> of;
  for (const Array& p : primals) of.push_back(p.type());
  return {std::move(made.results), [=, back = std::move(made.back)](const Leaves& cotangents, const Location& here) {
            SourceLocationScope place(here);
            lang::checkCount("cotangent", cotangents.size(), types.size());
            std::vector<MaybeZero> given;
            for (size_t i = 0; i < types.size(); ++i) {
              lang::checkTangent("cotangent", cotangents[i], types[i], i);
              given.push_back(is_float(types[i].dtype) ? MaybeZero(cotangents[i]) : std::nullopt);
            }
            const std::vector<MaybeZero> sums = back(given);
            Leaves all;
            for (size_t i = 0; i < of.size(); ++i) all.push_back(lang::instantiated(sums[i], of[i]));
            return all;
          }};
}

std::pair<detail::Leaves, detail::Leaves> detail::run_grad(const LeafFunction& f, const Leaves& primals,
                                                           const std::vector<bool>& wanted, bool hasAux,
                                                           const Location& at) {
  const lang::Depth depth(at);
  {
    SourceLocationScope place(at);
    lang::checkInputs(primals);
    for (size_t i = 0; i < primals.size(); ++i)
      if (wanted[i] && !is_float(primals[i].dtype()))
        lang::refuse({.code = "SM7108",
                      .message = fmt::format("grad requires floating-point inputs: array {} is not one", i),
                      .place = {},
                      .need = "f32, bf16 or another float",
                      .have = primals[i].type().str(),
                      .help = "name the arguments to differentiate, grad<1>(f), or convert with astype"});
  }
  // Only the requested arguments are differentiated.
  Leaves some;
  for (size_t i = 0; i < primals.size(); ++i)
    if (wanted[i]) some.push_back(primals[i]);
  const lang::Functional whole = lang::functional(f, at);
  const lang::Functional partial = [&](std::span<const Array> inside) {
    Leaves all = primals;
    auto next = inside.begin();
    for (size_t i = 0; i < all.size(); ++i)
      if (wanted[i]) all[i] = *next++;
    return whole(all);
  };
  const lang::Pullback made = lang::vjp(partial, some);
  SourceLocationScope place(at);
  const Leaves& results = made.results;
  if (results.empty() || (results.size() > 1 && !hasAux) || results[0].rank() != 0 || !is_float(results[0].dtype()))
    lang::refuse({.code = "SM7109",
                  .message = "grad takes functions with one floating-point scalar as result",
                  .place = {},
                  .need = hasAux ? "a scalar, then what comes along" : "f32[]",
                  .have = results.size() == 1 || (hasAux && !results.empty()) ? results[0].type().str()
                                                                              : counted(results.size(), "result"),
                  .help = "reduce the result with sum or mean; use vjp or jvp for other results, and has_aux for a "
                          "pair of a loss and something else"});
  std::vector<MaybeZero> cotangents(results.size());
  cotangents[0] = ones({}, results[0].dtype());
  const std::vector<MaybeZero> sums = made.back(cotangents);
  Leaves gradients;
  for (size_t i = 0; i < some.size(); ++i) gradients.push_back(lang::instantiated(sums[i], some[i].type()));
  return {results, gradients};
}

namespace {

/// One axis per leaf; error SM7110.
detail::AxesList perLeaf(const detail::AxesList& given, const detail::Leaves& leaves, const std::vector<int>& counts,
                         std::string_view which) {
  if (given.empty()) return detail::AxesList(leaves.size(), 0);
  if (given.size() == 1) return detail::AxesList(leaves.size(), given[0]);
  if (given.size() == counts.size()) {
    detail::AxesList all;
    for (size_t i = 0; i < counts.size(); ++i)
      all.insert(all.end(), static_cast<size_t>(std::max(counts[i], 0)), given[i]);
    return all;
  }
  if (given.size() == leaves.size()) return given;
  lang::refuse({.code = "SM7110",
                .message = fmt::format("vmap {} has the wrong number of entries", which),
                .place = {},
                .need = which == "in_axes"
                            ? fmt::format("one for all, {} for the arguments or {} for the arrays in them",
                                          counts.size(), leaves.size())
                            : fmt::format("one for all, or {} for the arrays of the result", leaves.size()),
                .have = counted(given.size(), "entry"),
                .help = "write none for arrays that all examples share"});
}

int64_t checkedAxis(std::string_view which, size_t i, int64_t axis, int64_t rank, const ArrayType& type) {
  const int64_t a = axis < 0 ? axis + rank : axis;
  if (a >= 0 && a < rank) return a;
  lang::refuse(
      {.code = "SM7110",
       .message = fmt::format("vmap {} names an axis that array {} does not have", which, i),
       .place = {},
       .need = rank == 0 ? "none: a scalar has no axes" : fmt::format("an axis in [{}, {}), or none", -rank, rank),
       .have = fmt::format("axis {} for {}", axis, type.str()),
       .help = "axes count from 0, negative ones from the end"});
}

}  // namespace

detail::Leaves detail::run_vmap(const LeafFunction& f, const Leaves& leaves, const std::vector<int>& counts,
                                const AxesList& in, const AxesList& out, const Location& at) {
  const lang::Depth depth(at);
  lang::BatchAxes mapped;
  int64_t size = -1;
  {
    SourceLocationScope place(at);
    lang::checkInputs(leaves);
    const AxesList axes = perLeaf(in, leaves, counts, "in_axes");
    size_t first = 0;
    for (size_t i = 0; i < leaves.size(); ++i) {
      mapped.emplace_back();
      if (!axes[i]) continue;
      const int64_t axis = checkedAxis("in_axes", i, *axes[i], leaves[i].rank(), leaves[i].type());
      const int64_t have = leaves[i].shape()[axis];
      if (size < 0) {
        size = have;
        first = i;
      } else if (have != size) {
        lang::refuse(
            {.code = "SM7111",
             .message = "vmap got inconsistent sizes for array axes to be mapped",
             .place = {},
             .need = fmt::format("size {}, that of axis {} of array {}, {}", size, *axes[first], first,
                                 leaves[first].type().str()),
             .have = fmt::format("size {}, that of axis {} of array {}, {}", have, *axes[i], i, leaves[i].type().str()),
             .help = "map axes of one size, or write none for arrays that all examples share"});
      }
      mapped[i] = axis;
    }
    if (size < 0)
      lang::refuse({.code = "SM7111",
                    .message = "vmap must have at least one mapped array",
                    .place = {},
                    .need = "an axis that is not none",
                    .have = leaves.empty() ? "no array" : "none for every array",
                    .help = "call the function itself, or map an axis"});
  }
  lang::BatchResults made = lang::batch(lang::functional(f, at), leaves, mapped, size);
  SourceLocationScope place(at);
  const AxesList axes = perLeaf(out, made.results, {}, "out_axes");
  for (size_t i = 0; i < made.results.size(); ++i) {
    Array& r = made.results[i];
    if (!axes[i]) {
      if (made.isBatched[i])
        lang::refuse({.code = "SM7110",
                      .message = fmt::format("vmap has mapped output {} but out_axes is none", i),
                      .place = {},
                      .need = "a result that is the same for all examples",
                      .have = fmt::format("{} per example", r.type().str()),
                      .help = "say which axis holds the examples"});
      continue;
    }
    if (!made.isBatched[i]) r = lang::spread(r, size);
    r = lang::moveAxis(r, 0, checkedAxis("out_axes", i, *axes[i], r.rank(), r.type()));
  }
  return std::move(made.results);
}

detail::Leaves detail::run_checkpoint(const LeafFunction& f, const Leaves& leaves, const Location& at) {
  const lang::Depth depth(at);
  {
    SourceLocationScope place(at);
    lang::checkInputs(leaves);
  }
  if (lang::Tracer::isEager()) return f(leaves);
  std::vector<ArrayType> arguments, types;
  for (const Array& a : leaves) arguments.push_back(a.type());
  const lang::Region region{arguments, [&](std::span<const Array> inside) {
                              Leaves given(inside.begin(), inside.end());
                              for (size_t i = 0; i < given.size(); ++i)
                                given[i] = given[i].with_weak_type(leaves[i].weak_type());
                              Leaves results = f(given);
                              types.clear();
                              for (const Array& r : results) types.push_back(r.type());
                              return results;
                            }};
  return lang::bindRegions(lang::kCheckpointOps["checkpoint"], leaves, types, {&region, 1}, at);
}

detail::Leaves detail::run_custom_vjp(const LeafFunction& f,
                                      const std::function<std::pair<Leaves, Leaves>(const Leaves&)>& forward,
                                      const std::function<Leaves(const Leaves&, const Leaves&)>& backward,
                                      const Leaves& leaves, const Location& at) {
  const lang::Depth depth(at);
  std::vector<ArrayType> types;
  {
    SourceLocationScope place(at);
    lang::checkInputs(leaves);
    for (const Array& a : leaves) types.push_back(a.type());
  }
  const lang::Backward back = [backward, types, at](std::span<const Array> residuals,
                                                    std::span<const Array> cotangents) {
    Leaves made;
    {
      const lang::UserCodeScope own;
      made = backward({residuals.begin(), residuals.end()}, {cotangents.begin(), cotangents.end()});
    }
    SourceLocationScope place(at);
    lang::checkCount("cotangent", made.size(), types.size());
    std::vector<MaybeZero> all;
    for (size_t i = 0; i < made.size(); ++i) {
      const bool isZero = !made[i].is_traced() && !made[i].data() && made[i].elements() > 0;
      if (!isZero && is_float(types[i].dtype)) lang::checkTangent("cotangent", made[i], types[i], i);
      all.push_back(isZero || !is_float(types[i].dtype) ? std::nullopt : MaybeZero(made[i]));
    }
    return all;
  };
  return lang::callCustomVjp([f](std::span<const Array> x) { return f({x.begin(), x.end()}); },
                             [forward](std::span<const Array> x) { return forward({x.begin(), x.end()}); }, back,
                             leaves, at);
}

detail::Leaves detail::run_custom_jvp(
    const LeafFunction& f, const std::function<std::pair<Leaves, Leaves>(const Leaves&, const Leaves&)>& rule,
    const Leaves& leaves, const Location& at) {
  const lang::Depth depth(at);
  {
    SourceLocationScope place(at);
    lang::checkInputs(leaves);
  }
  const lang::Tangential checked = [rule, at](std::span<const Array> x, std::span<const Array> t) {
    auto made = rule({x.begin(), x.end()}, {t.begin(), t.end()});
    SourceLocationScope place(at);
    lang::checkCount("tangent", made.second.size(), made.first.size());
    for (size_t i = 0; i < made.first.size(); ++i)
      lang::checkTangent("tangent", made.second[i], made.first[i].type(), i);
    return made;
  };
  return lang::callCustomJvp([f](std::span<const Array> x) { return f({x.begin(), x.end()}); }, checked, leaves, at);
}

}  // namespace smalti
