#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "ir/program/Exchange.h"
#include "ir/program/PlainOps.h"
#include "ir/program/Program.h"

namespace smalti {

int64_t numParts(const DeviceMesh& mesh, const std::vector<std::string>& axes) {
  int64_t parts = 1;
  for (const std::string& name : axes) {
    const auto axis = std::find_if(mesh.axes.begin(), mesh.axes.end(), [&](const auto& a) { return a.name == name; });
    if (axis == mesh.axes.end()) return 0;
    parts *= axis->size;
  }
  return parts;
}

namespace {

constexpr int64_t kMaxDevices = 4096;
constexpr size_t kMaxReported = 10;

class Verifier {
 public:
  explicit Verifier(const Program& program) : program_(program) {}

  Status run() {
    if (program_.main < 0 || program_.main >= static_cast<int>(program_.functions.size()))
      report("SM2012", "the program has no main function", {}, "export a jitted function");
    for (const DeviceMesh& mesh : program_.meshes) checkMesh(mesh);
    for (size_t f = 0; f < program_.functions.size(); ++f)
      if (!functions_.emplace(program_.functions[f].name, f).second)
        report("SM2005", fmt::format("two functions are called '{}'", program_.functions[f].name), {}, "rename one");
    for (const Function& f : program_.functions) checkFunction(f);
    if (found_.empty()) checkRecursion();
    if (found_.empty()) return verifyCollectives(program_);
    Diagnostic first = std::move(found_.front());
    first.related.assign(found_.begin() + 1, found_.end());
    return fail(std::move(first));
  }

 private:
  void report(std::string code, std::string message, SourcePlace place, std::string help) {
    ++numFound_;
    if (found_.size() >= kMaxReported || (!found_.empty() && found_.back().message == message)) return;
    found_.push_back(
        {.code = std::move(code), .message = std::move(message), .place = std::move(place), .help = std::move(help)});
    if (function_) found_.back().where = {fmt::format("function '{}'", function_->name)};
  }
  void wrongTypes(const Op& op, std::string what) {
    report("SM2006", fmt::format("types do not fit: {} {}", op.name, what), op.place,
           "export the module again; it was edited or truncated");
  }

  void checkMesh(const DeviceMesh& mesh) {
    std::set<std::string> names;
    int64_t devices = 1;
    for (const auto& axis : mesh.axes) {
      if (!names.insert(axis.name).second)
        report("SM2013", fmt::format("mesh '{}' has two axes '{}'", mesh.name, axis.name), {}, "rename one");
      if (axis.size < 1 || axis.size > kMaxDevices || (devices *= axis.size) > kMaxDevices) {
        report("SM2013", fmt::format("mesh '{}' has axis '{}' of size {}", mesh.name, axis.name, axis.size), {},
               fmt::format("use 1 to {} devices", kMaxDevices));
        return;
      }
    }
  }

  void checkFunction(const Function& f) {
    function_ = &f;
    defined_.assign(f.values.size(), false);
    ever_ = defined_;
    inScope_.clear();
    for (const ValueId v : f.arguments) define(v, {});
    checkOps(f.ops);
    if (!f.ops.empty() && f.ops.back().name == "return")
      checkTypes(f.ops.back(), f.ops.back().operands, f.resultTypes, "result");
    function_ = nullptr;
  }

  bool define(ValueId v, const SourcePlace& place) {
    if (v < 0 || v >= static_cast<ValueId>(ever_.size()) || ever_[v]) {
      report("SM2005", fmt::format("value {} is defined twice or has no type", v), place, "give each value one op");
      return false;
    }
    inScope_.push_back(v);
    return ever_[v] = defined_[v] = true;
  }

  void checkOps(const std::vector<Op>& ops) {
    if (ops.empty() || ops.back().name != "return") {
      report("SM2012", "a block does not end in a return", ops.empty() ? SourcePlace{} : ops.back().place,
             "end each block with a return");
      return;
    }
    for (size_t i = 0; i < ops.size(); ++i) {
      if (ops[i].name == "return" && i + 1 < ops.size())
        report("SM2012", "ops after a return", ops[i].place, "end each block with one return");
      if (!checkOp(ops[i])) return;
    }
  }

  /// False when later ops cannot be judged.
  bool checkOp(const Op& op) {
    for (const ValueId v : op.operands)
      if (v < 0 || v >= static_cast<ValueId>(defined_.size()) || !defined_[v]) {
        report("SM2005", fmt::format("{} uses value {} before it is defined", op.name, v), op.place,
               "order the ops by their uses");
        return false;
      }
    for (const ValueId v : op.results)
      if (v < 0 || v >= static_cast<ValueId>(ever_.size()) || ever_[v]) return define(v, op.place);
    const int64_t before = numFound_;
    for (const Block& block : op.regions) checkBlock(op, block);
    if (numFound_ > before) return false;
    for (const ValueId v : op.results) define(v, op.place);
    if (op.name == "kernel_call") {
      checkKernelCall(op);
    } else if (op.name == "call") {
      checkCall(op);
    } else if (op.name == "manual_computation") {
      checkManual(op);
    } else if (op.name == "sharding_constraint") {
      if (op.operands.size() != 1 || op.results.size() != 1)
        wrongTypes(op, "has not one operand and one result");
      else if (type(op.operands[0]) != type(op.results[0]))
        wrongTypes(op, fmt::format("turns {} into {}", type(op.operands[0]).str(), type(op.results[0]).str()));
    } else if (op.name != "return") {
      checkPlain(op);
    }
    return true;
  }

  /// A block sees the values around it; what it defines ends with it.
  void checkBlock(const Op& op, const Block& block) {
    const size_t outside = inScope_.size();
    for (const ValueId v : block.arguments) define(v, op.place);
    checkOps(block.ops);
    for (; inScope_.size() > outside; inScope_.pop_back()) defined_[inScope_.back()] = false;
  }

  const ArrayType& type(ValueId v) const { return function_->values[v]; }

  void checkTypes(const Op& op, const std::vector<ValueId>& values, const std::vector<ArrayType>& expected,
                  std::string_view what) {
    if (values.size() != expected.size())
      return wrongTypes(op, fmt::format("has {} {}s instead of {}", values.size(), what, expected.size()));
    for (size_t i = 0; i < values.size(); ++i)
      if (type(values[i]) != expected[i])
        wrongTypes(op, fmt::format("{} {} is {} instead of {}", what, i, type(values[i]).str(), expected[i].str()));
  }

  void checkPlain(const Op& op) {
    const PlainOp* plain = findPlainOp(op.name);
    if (!plain)
      return report("SM2002", fmt::format("op '{}' is not supported around kernels", op.name), op.place,
                    "move it out of the exported function");
    if (std::string wrong = misuse(*plain, {op, *function_}); !wrong.empty()) wrongTypes(op, std::move(wrong));
  }

  void checkKernelCall(const Op& op) {
    if (op.kernel < 0 || op.kernel >= static_cast<int>(program_.kernels.size()))
      return report("SM2005", fmt::format("kernel {} does not exist", op.kernel), op.place, "add the kernel");
    checkTypes(op, op.operands, program_.kernels[op.kernel].operands, "operand");
    checkTypes(op, op.results, program_.kernels[op.kernel].results, "result");
  }

  void checkCall(const Op& op) {
    const auto found = functions_.find(op.callee);
    if (found == functions_.end())
      return report("SM2005", fmt::format("function '{}' is called but not defined", op.callee), op.place,
                    "export the whole module");
    const Function* callee = &program_.functions[found->second];
    std::vector<ArrayType> arguments;
    for (const ValueId v : callee->arguments)
      if (v >= 0 && v < static_cast<ValueId>(callee->values.size())) arguments.push_back(callee->values[v]);
    checkTypes(op, op.operands, arguments, "argument");
    checkTypes(op, op.results, callee->resultTypes, "result");
  }

  static bool isManual(const Op& op, const std::string& axis) {
    const Attribute* a = op.find("manual_axes");
    const auto* axes = a ? std::get_if<std::vector<std::string>>(a) : nullptr;
    return axes && std::find(axes->begin(), axes->end(), axis) != axes->end();
  }

  void checkManual(const Op& op) {
    if (op.regions.size() != 1) return wrongTypes(op, "has not one region");
    const Block& body = op.regions[0];
    checkShardings(op, "in_shardings", op.operands, body.arguments);
    if (!body.ops.empty()) checkShardings(op, "out_shardings", op.results, body.ops.back().operands);
  }

  /// Global values against the parts that the body sees.
  void checkShardings(const Op& op, std::string_view attribute, const std::vector<ValueId>& global,
                      const std::vector<ValueId>& local) {
    const Attribute* a = op.find(attribute);
    const auto* shardings = a ? std::get_if<std::vector<Sharding>>(a) : nullptr;
    if (!shardings || shardings->size() != global.size() || local.size() != global.size())
      return wrongTypes(op, fmt::format("has {} {} for {} values, and {} inside", shardings ? shardings->size() : 0,
                                        attribute, global.size(), local.size()));
    for (size_t i = 0; i < global.size(); ++i) {
      const Sharding& sharding = (*shardings)[i];
      const DeviceMesh* mesh = program_.findMesh(sharding.mesh);
      if (!mesh && !sharding.mesh.empty())
        return report("SM2005", fmt::format("mesh '{}' is not defined", sharding.mesh), op.place,
                      "export the whole module");
      ArrayType part = type(global[i]);
      if (mesh && sharding.dims.size() != part.shape.size())
        return report("SM2013",
                      fmt::format("a sharding of {} dimensions stands for {}", sharding.dims.size(), part.str()),
                      op.place, "give each dimension its axes");
      std::set<std::string> used;
      for (size_t d = 0; mesh && d < part.shape.size(); ++d) {
        // Axes that are not manual here are split by someone else, later.
        std::vector<std::string> manual;
        for (const std::string& axis : sharding.dims[d]) {
          if (isManual(op, axis) || numParts(*mesh, {axis}) == 0) manual.push_back(axis);
          if (!used.insert(axis).second)
            return report("SM2013", fmt::format("axis '{}' splits an array twice", axis), op.place, "use it once");
        }
        const int64_t parts = numParts(*mesh, manual);
        if (parts == 0 || part.shape[d] % parts != 0)
          return report("SM2013", fmt::format("dimension {} of {} cannot be split over its mesh axes", d, part.str()),
                        op.place, parts == 0 ? "use axes of the mesh" : fmt::format("use a multiple of {}", parts));
        part.shape[d] /= parts;
      }
      // Values inside are looked up by id alone: their definitions were checked with the body.
      if (type(local[i]) != part)
        wrongTypes(op, fmt::format("{} {}: each device's part of {} is {}, but the body has {}", attribute, i,
                                   type(global[i]).str(), part.str(), type(local[i]).str()));
    }
  }

  void checkRecursion() {
    std::vector<int> state(program_.functions.size(), 0);  // 0 new, 1 being visited, 2 done
    for (size_t f = 0; f < program_.functions.size(); ++f) visit(f, state, 0);
  }
  void visit(size_t f, std::vector<int>& state, int depth) {
    constexpr int kMaxCallDepth = 256;
    if (state[f] == 2) return;
    if (state[f] == 1 || depth > kMaxCallDepth)
      return report("SM2007",
                    state[f] == 1 ? fmt::format("function '{}' calls itself", program_.functions[f].name)
                                  : fmt::format("calls are nested more than {} deep", kMaxCallDepth),
                    {}, "write the recursion as a loop");
    state[f] = 1;
    visitCalls(program_.functions[f].ops, state, depth);
    state[f] = 2;
  }
  void visitCalls(const std::vector<Op>& ops, std::vector<int>& state, int depth) {
    for (const Op& op : ops) {
      if (op.name == "call" && found_.empty()) visit(functions_.at(op.callee), state, depth + 1);
      for (const Block& block : op.regions) visitCalls(block.ops, state, depth);
    }
  }

  const Program& program_;
  const Function* function_ = nullptr;
  std::map<std::string_view, size_t> functions_;
  std::vector<bool> defined_, ever_;  ///< by value: visible here; defined anywhere in this function
  std::vector<ValueId> inScope_;      ///< the visible ones, in order
  std::vector<Diagnostic> found_;
  int64_t numFound_ = 0;  ///< including those that are not kept
};

}  // namespace

Status verify(const Program& program) { return Verifier(program).run(); }

}  // namespace smalti
