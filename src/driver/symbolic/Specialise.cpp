#include "driver/symbolic/Specialise.h"

#include <algorithm>
#include <map>
#include <string>

#include "base/CheckedBytes.h"
#include "base/Text.h"
#include "driver/symbolic/Scope.h"
#include "interop/Interop.h"
#include "ir/program/Uses.h"

namespace smalti::driver {

bool fits(const ArrayType& given, const ArrayType& declared) {
  return given.dtype == declared.dtype && given.shape.size() == declared.shape.size() &&
         std::equal(given.shape.begin(), given.shape.end(), declared.shape.begin(),
                    [](int64_t have, int64_t want) { return have >= 0 && (have == want || want == kUnknownDim); });
}

namespace {

using symbolic::Scope;
using symbolic::wrongOp;

constexpr size_t kMaxCallDepth = 256;    // as `verify`
constexpr int kMaxNestedBlocks = 1024;   // of functions that call each other, and of regions
constexpr int64_t kMaxWork = 4'000'000;  // ops and values: functions are copied, some modules would grow without end

/// A function for one signature.
struct Specialised {
  std::string name;
  std::vector<ArrayType> results;
  std::vector<std::optional<Array>> known;  ///< of the results
};

/// "Expected value >= 1 for … = {0}", with the numbers.
std::string assertionText(std::string_view format, std::span<const ValueId> values, const Scope& scope) {
  std::string text(format.substr(0, format.find(" Please see https://")));
  for (size_t i = 0; i < values.size(); ++i) {
    const auto number = scope.integers(values[i]);
    if (!number || number->size() != 1) continue;
    const std::string place = fmt::format("{{{}}}", i), value = std::to_string((*number)[0]);
    for (size_t at = text.find(place); at != std::string::npos; at = text.find(place, at + value.size()))
      text.replace(at, place.size(), value);
  }
  // JAX ends its list of sizes with a comma.
  if (text.ends_with(", .")) text.replace(text.size() - 3, 3, ".");
  return text;
}

class Specialiser {
 public:
  explicit Specialiser(const Program& from) : from_(from) {
    made_.name = from.name;
    made_.moduleAttributes = from.moduleAttributes;
    constexpr std::string_view kSymbolic = "jax.uses_shape_polymorphism = true";
    if (const size_t at = made_.moduleAttributes.find(kSymbolic); at != std::string::npos)
      made_.moduleAttributes.replace(at, kSymbolic.size(), "jax.uses_shape_polymorphism = false");
    made_.meshes = from.meshes;
  }

  Result<Specialised> main(std::vector<ArrayType> types, std::vector<std::optional<Array>> known) {
    return function(from_.functions[static_cast<size_t>(from_.main)], std::move(types), std::move(known));
  }

  /// With main first.
  Program take() {
    std::ranges::reverse(made_.functions);
    made_.main = 0;
    return std::move(made_);
  }

 private:
  Result<Specialised> function(const Function& from, std::vector<ArrayType> types,
                               std::vector<std::optional<Array>> known);
  Status ops(Scope&, std::vector<Op>&);
  Status op(Scope&, Op&, std::vector<Op>& made);
  Status call(Scope&, Op&, std::vector<Op>& made);
  Status kernelCall(Scope&, Op&);
  Status assertion(const Scope&, const Op&);
  Status plain(Scope&, Op&);
  Status resultsAreKnown(Scope&, const Op&);
  void evaluate(Scope&, Op&);
  std::string freshName(const std::string& name);
  std::vector<std::optional<Array>> knownOf(const Scope&, const std::vector<ValueId>&) const;

  const Program& from_;
  Program made_;
  std::map<std::string, Specialised> functions_;                        ///< by signature
  std::map<std::string, std::pair<int, std::vector<size_t>>> kernels_;  ///< and the operands that are still passed
  std::map<std::string, int> names_;
  std::vector<const Function*> active_;
  int64_t work_ = 0;
  int depth_ = 0;
};

/// Types and known values as a key.
std::string signatureOf(const std::string& name, std::span<const ArrayType> types,
                        std::span<const std::optional<Array>> known) {
  std::string key = name;
  for (size_t i = 0; i < types.size(); ++i) {
    key += " " + types[i].str();
    if (i < known.size() && known[i])
      key += "=" + std::string(reinterpret_cast<const char*>(known[i]->data()), static_cast<size_t>(known[i]->bytes()));
  }
  return key;
}

std::string Specialiser::freshName(const std::string& name) {
  const int number = names_[name]++;
  if (number == 0) return name;
  std::string fresh = fmt::format("{}_{}", name, number);
  return from_.find(fresh) || names_.contains(fresh) ? freshName(name) : fresh;
}

std::vector<std::optional<Array>> Specialiser::knownOf(const Scope& scope, const std::vector<ValueId>& values) const {
  std::vector<std::optional<Array>> known;
  for (const ValueId v : values) known.push_back(scope.find(v) ? std::optional(*scope.find(v)) : std::nullopt);
  return known;
}

Result<Specialised> Specialiser::function(const Function& from, std::vector<ArrayType> types,
                                          std::vector<std::optional<Array>> known) {
  const std::string key = signatureOf(std::to_string(&from - from_.functions.data()), types, known);
  if (const auto found = functions_.find(key); found != functions_.end()) return found->second;
  if (active_.size() >= kMaxCallDepth || std::ranges::find(active_, &from) != active_.end())
    return fail({.code = "SM2007",
                 .message = fmt::format("function '{}' calls itself", from.name),
                 .place = {},
                 .help = "write the recursion as a loop"});
  active_.push_back(&from);
  work_ += static_cast<int64_t>(from.values.size());
  Function f = from;
  Scope scope{f};
  for (size_t i = 0; i < f.arguments.size(); ++i) {
    scope.type(f.arguments[i]) = types[i];
    if (i < known.size() && known[i]) scope.known[f.arguments[i]] = *known[i];
  }
  if (Status done = ops(scope, f.ops); !done) {
    Diagnostic d = std::move(done.error());
    if (d.where.empty()) d.where = {fmt::format("function '{}'", from.name)};
    return fail(std::move(d));
  }
  const std::vector<ValueId>& returned = f.ops.back().operands;
  Specialised made{freshName(from.name), {}, knownOf(scope, returned)};
  for (const ValueId v : returned) made.results.push_back(scope.type(v));
  if (!std::ranges::equal(made.results, from.resultTypes, fits))
    return fail(wrongOp(f.ops.back(), "SM2006",
                        fmt::format("types do not fit: function '{}' does not return what it declares", from.name),
                        "export the module again, or give other shapes"));
  f.resultTypes = made.results;
  f.name = made.name;
  // What has been computed leaves constants behind.
  const auto used = valuesUsedBy(f.ops);
  std::erase_if(f.ops, [&](const Op& op) { return op.name == "constant" && !used.contains(op.results[0]); });
  made_.functions.push_back(std::move(f));
  active_.pop_back();
  return functions_.emplace(key, std::move(made)).first->second;
}

Status Specialiser::ops(Scope& scope, std::vector<Op>& ops) {
  if (ops.empty() || ops.back().name != "return")
    return fail({.code = "SM2012",
                 .message = "a block does not end in a return",
                 .place = ops.empty() ? SourcePlace{} : ops.back().place,
                 .help = "end each block with a return"});
  if (++depth_ > kMaxNestedBlocks)
    return fail(wrongOp(ops.back(), "SM2009", "the module is nested too deeply", "simplify the program"));
  std::vector<Op> made;
  made.reserve(ops.size());
  for (Op& op : ops)
    if (Status done = this->op(scope, op, made); !done) return done;
  ops = std::move(made);
  --depth_;
  return {};
}

Status Specialiser::op(Scope& scope, Op& op, std::vector<Op>& made) {
  if (++work_ > kMaxWork)
    return fail(wrongOp(op, "SM2009", "the module has too many ops for these shapes", "split the program"));
  if (op.name == "call") return call(scope, op, made);
  if (op.name == "shape_assertion") return assertion(scope, op);
  if (Status done = symbolic::makeStatic(op, scope, made); !done) return done;
  if (op.name == "while")
    for (Block& block : op.regions)
      for (size_t i = 0; i < block.arguments.size() && i < op.operands.size(); ++i)
        scope.type(block.arguments[i]) = scope.type(op.operands[i]);
  for (const Block& block : op.regions)
    for (const ValueId v : block.arguments)
      if (hasUnknownDims(scope.type(v)))
        return fail(wrongOp(op, "SM2003", fmt::format("{} of symbolic shapes is not supported", op.name),
                            "export it for arguments of known shapes"));
  for (Block& block : op.regions)
    if (Status done = ops(scope, block.ops); !done) return done;
  if (op.name == "kernel_call") {
    if (Status done = kernelCall(scope, op); !done) return done;
  } else if (op.name == "sharding_constraint" && op.operands.size() == 1 && op.results.size() == 1) {
    scope.type(op.results[0]) = scope.type(op.operands[0]);
  } else if (findPlainOp(op.name)) {
    if (Status done = plain(scope, op); !done) return done;
  }
  if (Status known = resultsAreKnown(scope, op); !known) return known;
  made.push_back(std::move(op));
  return {};
}

Status Specialiser::resultsAreKnown(Scope& scope, const Op& op) {
  for (size_t i = 0; i < op.results.size(); ++i) {
    const ArrayType& type = scope.type(op.results[i]);
    if (hasUnknownDims(type))
      return fail(wrongOp(op, "SM2003", fmt::format("the shape of result {} of {} is not known", i, op.name),
                          "export it for arguments of known shapes"));
    if (checkedBytes(type) < 0)
      return fail(wrongOp(op, "SM2009",
                          fmt::format("result {} of {} is {}: its bytes do not fit 64 bits", i, op.name, type.str()),
                          "use smaller arrays"));
  }
  return {};
}

/// Refuses what `verify` would: evaluators rely on it.
Status Specialiser::plain(Scope& scope, Op& op) {
  const TypedOp typed{op, scope.function, &scope.function};
  const std::string wrong = misuse(*findPlainOp(op.name), typed);
  if (Status known = resultsAreKnown(scope, op); !known) return known;
  if (!wrong.empty())
    return fail(wrongOp(op, "SM2006", fmt::format("types do not fit: {} {}", op.name, wrong),
                        "export the module again, or give other shapes"));
  evaluate(scope, op);
  if (op.name == "add" && is_integer(scope.type(op.results[0]).dtype))
    scope.sums[op.results[0]] = {op.operands[0], op.operands[1]};
  return {};
}

/// Computes small integers from known ones; the op becomes a constant.
void Specialiser::evaluate(Scope& scope, Op& op) {
  const plain::PlainEvaluator evaluator = plain::findEvaluator(op.name);
  if (!evaluator || !op.regions.empty() || op.results.size() != 1 || findPlainOp(op.name)->isCustomCall()) return;
  const ArrayType result = scope.type(op.results[0]);
  const bool isSmall = (is_integer(result.dtype) || result.dtype == DType::pred) && !hasUnknownDims(result) &&
                       std::ranges::all_of(result.shape, [](int64_t d) { return d <= symbolic::kMostKnownElements; }) &&
                       result.elements() <= symbolic::kMostKnownElements;
  if (!isSmall || op.name == "partition_id" || op.name == "replica_id") return;
  std::vector<Array> operands;
  for (const ValueId v : op.operands) {
    if (!scope.find(v)) return;
    operands.push_back(*scope.find(v));
  }
  plain::PlainCall call{.op = op, .function = scope.function, .operands = operands, .results = {&result, 1}};
  auto values = evaluator(call);
  if (!values || values->size() != 1 || (*values)[0].type() != result) return;  // the run says why
  scope.known[op.results[0]] = (*values)[0];
  op.name = "constant";
  op.operands.clear();
  op.attributes = {{"value", std::move((*values)[0])}};
}

Status Specialiser::call(Scope& scope, Op& op, std::vector<Op>& made) {
  const Function* callee = from_.find(op.callee);
  if (!callee || callee->arguments.size() != op.operands.size() || callee->resultTypes.size() != op.results.size())
    return fail(wrongOp(op, callee ? "SM2006" : "SM2005",
                        callee
                            ? fmt::format("types do not fit: function '{}' is called with {} arguments for {} results",
                                          op.callee, op.operands.size(), op.results.size())
                            : fmt::format("function '{}' is called but not defined", op.callee),
                        "export the whole module"));
  std::vector<ArrayType> types;
  for (size_t i = 0; i < op.operands.size(); ++i) {
    types.push_back(scope.type(op.operands[i]));
    const ArrayType& declared = callee->values[static_cast<size_t>(callee->arguments[i])];
    if (!fits(types.back(), declared))
      return fail(wrongOp(op, "SM2006",
                          fmt::format("types do not fit: argument {} of '{}' is {} instead of {}", i, op.callee,
                                      types.back().str(), declared.str()),
                          "export the module again, or give other shapes"));
  }
  auto to = function(*callee, std::move(types), knownOf(scope, op.operands));
  if (!to) return fail(std::move(to.error()));
  bool allKnown = !op.results.empty();
  for (size_t i = 0; i < op.results.size(); ++i) {
    scope.type(op.results[i]) = to->results[i];
    if (to->known[i])
      scope.known[op.results[i]] = *to->known[i];
    else
      allKnown = false;
  }
  if (allKnown) {
    for (const ValueId v : op.results) {
      Op constant{.name = "constant", .place = op.place};
      constant.results = {v};
      constant.attributes.emplace_back("value", scope.known.at(v));
      made.push_back(std::move(constant));
    }
    return {};
  }
  op.callee = to->name;
  made.push_back(std::move(op));
  return {};
}

Status Specialiser::kernelCall(Scope& scope, Op& op) {
  const KernelPackage& kernel = from_.kernels[static_cast<size_t>(op.kernel)];
  std::vector<ArrayType> operands, results;
  for (const ValueId v : op.operands) operands.push_back(scope.type(v));
  for (const ValueId v : op.results) results.push_back(scope.type(v));
  if (Status shapes = resultsAreKnown(scope, op); !shapes) return shapes;
  const auto known = knownOf(scope, op.operands);
  std::string key = signatureOf(std::to_string(op.kernel), operands, known) + signatureOf(" ->", results, {});
  auto found = kernels_.find(key);
  if (found == kernels_.end()) {
    auto made = specialiseKernel(kernel, std::move(operands), known, std::move(results));
    if (!made) {
      Diagnostic d = std::move(made.error());
      if (!d.place.known()) d.place = op.place;
      return fail(std::move(d));
    }
    const auto index = static_cast<int>(made_.kernels.size());
    found = kernels_.emplace(std::move(key), std::pair{index, std::move(made->operands)}).first;
    made_.kernels.push_back(std::move(made->kernel));
  }
  op.kernel = found->second.first;
  std::vector<ValueId> passed;
  for (const size_t i : found->second.second) passed.push_back(op.operands[i]);
  op.operands = std::move(passed);
  return {};
}

Status Specialiser::assertion(const Scope& scope, const Op& op) {
  const Array* holds = op.operands.empty() ? nullptr : scope.find(op.operands[0]);
  if (!holds || holds->dtype() != DType::pred || holds->elements() != 1)
    return fail(wrongOp(op, "SM2003", "a constraint on shapes depends on elements of arrays",
                        "compute it from the shapes of the arguments alone"));
  if (*holds->as<uint8_t>()) return {};
  const std::string_view format = TypedOp{op, scope.function}.text("error_message");
  return fail({.code = "SM2015",
               .message = "the shapes of the arguments violate a constraint of the module",
               .place = op.place,
               .have = printable(assertionText(format, std::span(op.operands).subspan(1), scope)),
               .help = "give arguments whose shapes satisfy it"});
}

Status checkArguments(const Program& program, std::span<const ArrayType> arguments) {
  if (program.main < 0 || program.main >= static_cast<int>(program.functions.size()))
    return fail({.code = "SM2012",
                 .message = "the program has no main function",
                 .place = {},
                 .help = "export a jitted function"});
  const Function& main = program.functions[static_cast<size_t>(program.main)];
  if (main.arguments.size() != arguments.size())
    return fail({.code = "SM1008",
                 .message = fmt::format("'{}' was given the wrong number of inputs", program.name),
                 .place = {},
                 .need = counted(main.arguments.size(), "input"),
                 .have = counted(arguments.size(), "input"),
                 .help = "smalti describe lists them"});
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (const ArrayType& declared = main.values[static_cast<size_t>(main.arguments[i])]; !fits(arguments[i], declared))
      return fail({.code = "SM1008",
                   .message = fmt::format("input {} does not match the module's parameter", i),
                   .place = {},
                   .need = declared.str(),
                   .have = arguments[i].str()});
    if (checkedBytes(arguments[i]) < 0)
      return fail({.code = "SM2009",
                   .message = fmt::format("input {} is {}: its bytes do not fit 64 bits", i, arguments[i].str()),
                   .place = {},
                   .help = "use smaller arrays"});
  }
  return {};
}

}  // namespace

Result<Program> specialise(const Program& symbolic, std::span<const ArrayType> arguments) {
  if (Status ok = checkArguments(symbolic, arguments); !ok) return fail(std::move(ok.error()));
  Specialiser specialiser(symbolic);
  auto main = specialiser.main({arguments.begin(), arguments.end()}, {});
  if (!main) return fail(std::move(main.error()));
  Program program = specialiser.take();
  if (Status ok = interop::complete(program); !ok) return fail(std::move(ok.error()));
  return program;
}

Result<std::vector<Array>> computeSizes(const Program& program, std::span<const Array> arguments) {
  std::vector<ArrayType> types;
  for (const Array& a : arguments) types.push_back(a.type());
  if (!program.kernels.empty())
    return fail({.code = "SM2016",
                 .message = "the program of a symbolic dimension calls kernels",
                 .place = {},
                 .help = "export the module again"});
  if (Status ok = checkArguments(program, types); !ok) return fail(std::move(ok.error()));
  auto main = Specialiser(program).main(types, {arguments.begin(), arguments.end()});
  if (!main) return fail(std::move(main.error()));
  std::vector<Array> results;
  for (const auto& known : main->known) {
    if (!known)
      return fail({.code = "SM2003",
                   .message = "a size of an array is not computed from sizes alone",
                   .place = {},
                   .help = "export the module again"});
    results.push_back(*known);
  }
  return results;
}

}  // namespace smalti::driver
