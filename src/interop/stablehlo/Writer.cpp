#include "interop/stablehlo/Writer.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "mlir/IR/BuiltinOps.h"

#include "interop/Interop.h"
#include "interop/stablehlo/Sharding.h"
#include "interop/stablehlo/Syntax.h"
#include "ir/Place.h"

namespace smalti::interop::stablehlo {
namespace {

std::string withAttributes(const ArrayType& type, const std::vector<std::string>& attributes, size_t i) {
  std::string text = printType(type);
  if (i < attributes.size() && !attributes[i].empty()) text += " " + attributes[i];
  return text;
}

}  // namespace

std::string Writer::value(ValueId v) const { return fmt::format("%{}", v); }

std::string Writer::operands(const Op& op) const {
  std::vector<std::string> names;
  for (const ValueId v : op.operands) names.push_back(value(v));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string Writer::types(const std::vector<ValueId>& values) const {
  std::vector<std::string> names;
  for (const ValueId v : values) names.push_back(printType(type(v)));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string Writer::functionType(const Op& op) const {
  const std::string to = types(op.results);
  return fmt::format("({}) -> {}", types(op.operands), op.results.size() == 1 ? to : "(" + to + ")");
}

std::string Writer::write() {
  out_ = "module";
  if (!program_.name.empty()) out_ += " " + printSymbol(program_.name);
  if (!program_.moduleAttributes.empty() && program_.moduleAttributes != "{}")
    out_ += " attributes " + program_.moduleAttributes;
  out_ += " {\n";
  for (const DeviceMesh& mesh : program_.meshes) {
    std::vector<std::string> axes;
    for (const auto& axis : mesh.axes) axes.push_back(fmt::format("{}={}", quotedText(axis.name), axis.size));
    out_ += fmt::format("  sdy.mesh {} = <[{}]>\n", printSymbol(mesh.name), fmt::join(axes, ", "));
  }
  for (const Function& f : program_.functions) function(f);
  return out_ + "}\n";
}

void Writer::function(const Function& f) {
  function_ = &f;
  returnName_ = "return";
  std::vector<std::string> arguments, results;
  for (size_t i = 0; i < f.arguments.size(); ++i)
    arguments.push_back(
        fmt::format("{}: {}", value(f.arguments[i]), withAttributes(type(f.arguments[i]), f.argumentAttributes, i)));
  for (size_t i = 0; i < f.resultTypes.size(); ++i)
    results.push_back(withAttributes(f.resultTypes[i], f.resultAttributes, i));
  out_ += fmt::format("  func.func {} {}({})", f.isPrivate ? "private" : "public", printSymbol(f.name),
                      fmt::join(arguments, ", "));
  if (!results.empty()) out_ += fmt::format(" -> ({})", fmt::join(results, ", "));
  out_ += " {\n";
  ops(f.ops, 2);
  out_ += "  }\n";
}

void Writer::ops(const std::vector<Op>& list, int indent) {
  for (const Op& o : list) {
    line(indent);
    op(o, indent);
    out_ += '\n';
  }
}

void Writer::results(const Op& op) {
  std::vector<std::string> names;
  for (const ValueId v : op.results) names.push_back(value(v));
  if (!names.empty()) out_ += fmt::format("{} = ", fmt::join(names, ", "));
}

void Writer::op(const Op& o, int indent) {
  results(o);
  if (o.name == "return") {
    out_ += returnName_;
    if (!o.operands.empty()) out_ += fmt::format(" {} : {}", operands(o), types(o.operands));
  } else if (o.name == "call") {
    out_ += fmt::format("func.call {}({}) : {}", printSymbol(o.callee), operands(o), functionType(o));
  } else if (o.name == "kernel_call") {
    kernelCall(o);
  } else if (o.name == "manual_computation") {
    manual(o, indent);
  } else if (o.name == "sharding_constraint") {
    if (const Attribute* sharding = o.find("sharding"))
      out_ += fmt::format("sdy.sharding_constraint {} {} : {}", operands(o), std::get<std::string>(*sharding),
                          types(o.operands));
    else
      out_ += fmt::format(
          "stablehlo.custom_call @Sharding({}) {{mhlo.sharding = {}}} : {}", operands(o),
          quotedText(o.find("mhlo.sharding") ? std::get<std::string>(*o.find("mhlo.sharding")) : "{replicated}"),
          functionType(o));
  } else {
    plain(o, *findPlainOp(o.name), indent);
  }
  // Places in the text that was read say nothing about this one.
  if (isPythonSource(o.place.file))
    out_ += fmt::format(" loc({}:{}:{})", quotedText(o.place.file), o.place.line, std::max(o.place.column - 1, 0));
}

void Writer::block(const Block& b, int indent, bool withHeader) {
  if (withHeader) {
    line(indent);
    std::vector<std::string> arguments;
    for (const ValueId v : b.arguments) arguments.push_back(fmt::format("{}: {}", value(v), printType(type(v))));
    out_ += fmt::format("^bb0({}):\n", fmt::join(arguments, ", "));
  }
  ops(b.ops, indent + 1);
}

void Writer::regions(const Op& op, int indent) {
  const std::string_view outer = returnName_;
  returnName_ = "stablehlo.return";
  for (size_t i = 0; i < op.regions.size(); ++i) {
    out_ += i == 0 ? " ({\n" : ", {\n";
    block(op.regions[i], indent, !op.regions[i].arguments.empty());
    line(indent);
    out_ += "}";
  }
  if (!op.regions.empty()) out_ += ")";
  returnName_ = outer;
}

void Writer::manual(const Op& op, int indent) {
  const Block& body = op.regions[0];
  std::vector<std::string> arguments;
  for (const ValueId v : body.arguments) arguments.push_back(fmt::format("{}: {}", value(v), printType(type(v))));
  out_ +=
      fmt::format("sdy.manual_computation({}) in_shardings={} out_shardings={} manual_axes={} ({}) {{\n", operands(op),
                  print(std::get<std::vector<Sharding>>(*op.find("in_shardings"))),
                  print(std::get<std::vector<Sharding>>(*op.find("out_shardings"))),
                  printAxes(std::get<std::vector<std::string>>(*op.find("manual_axes"))), fmt::join(arguments, ", "));
  const std::string_view outer = returnName_;
  returnName_ = "sdy.return";
  block(body, indent, false);
  returnName_ = outer;
  line(indent);
  out_ += "} : " + functionType(op);
}

}  // namespace smalti::interop::stablehlo

namespace smalti::interop {

Result<std::string> exportStableHlo(const Program& program, int version) {
  if (auto status = verify(program); !status) return fail(std::move(status.error()));
  std::vector<std::string> bodies;
  for (const KernelPackage& kernel : program.kernels) {
    auto body = writeBytecode(*kernel.module, version);
    if (!body) {
      Diagnostic d = std::move(body.error());
      d.where.insert(d.where.begin(), fmt::format("kernel '{}'", kernel.name));
      return fail(std::move(d));
    }
    bodies.push_back(std::move(*body));
  }
  return stablehlo::Writer(program, bodies).write();
}

}  // namespace smalti::interop
