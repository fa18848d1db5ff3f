// custom_call: kernels, and the few other targets that a shard_map leaves behind.
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "base/Text.h"
#include "interop/Interop.h"
#include "interop/stablehlo/Gspmd.h"
#include "interop/stablehlo/Parser.h"
#include "ir/Place.h"
#include "ir/program/PlainOps.h"

namespace smalti::interop::stablehlo {
namespace {

using Json = nlohmann::ordered_json;

/// A dictionary attribute as JSON: newer custom calls hold their configuration as one.
Json toJson(const Attr& a) {
  switch (a.kind) {
    case Attr::Kind::unit:
      return true;
    case Attr::Kind::boolean:
      return a.integer != 0;
    case Attr::Kind::integer:
      return a.integer;
    case Attr::Kind::number:
      return Json::parse(a.text, nullptr, false);
    case Attr::Kind::string:
      return a.text;
    case Attr::Kind::list: {
      Json list = Json::array();
      for (const Attr& item : a.items) list.push_back(toJson(item));
      return list;
    }
    case Attr::Kind::dictionary: {
      Json object = Json::object();
      for (const auto& [key, value] : a.entries) object[key] = toJson(value);
      return object;
    }
    default:
      return nullptr;
  }
}

/// Row-major: minor-to-major [n-1, …, 0].
bool isRowMajor(const Attr& layout, size_t rank) {
  if (layout.kind != Attr::Kind::elements || layout.elementsType.shape != Shape{static_cast<int64_t>(rank)})
    return false;
  const bool splat = layout.elements.shape().empty();
  for (size_t i = 0; i < rank; ++i)
    if (layout.elements.as<int64_t>()[splat ? 0 : i] != static_cast<int64_t>(rank - 1 - i)) return false;
  return true;
}

/// The part of JAX that emits such a custom call for a Pallas kernel; empty: it is another call.
std::string_view gpuCompilerOf(std::string_view target) {
  if (target.starts_with("triton_kernel_call") || target == "__gpu$xla.gpu.triton") return "Triton back end";
  return target.starts_with("mosaic_gpu") ? "Mosaic GPU back end" : "";
}

/// The kernel's name if the call's configuration is a dictionary that contains it, otherwise empty.
std::string kernelNameIn(const Attr* config) {
  if (config && config->kind == Attr::Kind::dictionary)
    for (const auto& [key, value] : config->entries)
      if (key == "name" && value.kind == Attr::Kind::string) return value.text;
  return {};
}

bool hasPlace(mlir::func::FuncOp function) {
  return function
      .walk([](mlir::Operation* op) {
        return placeOf(op->getLoc()).known() ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

/// An index map in which nothing has a place, as one that returns its grid index, gets that of the call.
void placeIndexMaps(KernelPackage& kernel, const SourcePlace& call) {
  if (!call.known()) return;
  const int column = isPythonSource(call.file) ? call.column - 1 : call.column;  // as placeIn reads it
  const auto location = mlir::FileLineColLoc::get(kernel.module->getContext(), call.file,
                                                  static_cast<unsigned>(call.line), static_cast<unsigned>(column));
  for (auto function : kernel.module->getOps<mlir::func::FuncOp>())
    if (function != kernel.kernelFunction() && !hasPlace(function)) function->setLoc(location);
}

}  // namespace

bool Parser::lowerCustomCall(RawOp& raw, Op& op) {
  const Attr* target = raw.find("call_target_name");
  const std::string name = target ? target->text : "";
  if (!shapeOperands(raw, op)) return false;
  if (name == "tpu_custom_call") {
    op.name = "kernel_call";
    op.kernel = static_cast<int>(program_.kernels.size());
    return kernelCall(raw, op);
  }
  if (name == "Sharding" && raw.operands.size() == 1) {
    op.name = "sharding_constraint";
    if (const Attr* sharding = raw.find("mhlo.sharding")) op.attributes.emplace_back("mhlo.sharding", sharding->text);
    return true;
  }
  // device_put to a memory, and a layout of arrays in it: no new values.
  if ((name == "annotate_device_placement" || name == "LayoutConstraint") && raw.operands.size() == 1) {
    op.name = "optimization_barrier";
    return true;
  }
  if (const PlainOp* call = findArrayOp(name); call && call->isCustomCall()) return arrayCall(raw, op, name);
  if ((name == "SPMDFullToShardShape" || name == "SPMDShardToFullShape") && raw.operands.size() == 1 &&
      raw.resultTypes.size() == 1) {
    op.name = name == "SPMDFullToShardShape" ? kFullToShard : kShardToFull;
    if (const Attr* sharding = raw.find("mhlo.sharding")) op.attributes.emplace_back("mhlo.sharding", sharding->text);
    return true;
  }
  if (const std::string_view compiler = gpuCompilerOf(name); !compiler.empty()) {
    const std::string kernel = kernelNameIn(raw.find("mhlo.backend_config"));
    return refuse(raw, "SM2004",
                  fmt::format("the kernel {}is compiled for GPUs, by JAX's {} ('{}')",
                              kernel.empty() ? "" : fmt::format("'{}' ", kernel), compiler, name),
                  "export the same kernel for TPUs, jax.export.export(f, platforms=['tpu']), without compiler_params, "
                  "memory spaces and ops of GPUs: --target cuda makes its code for GPUs");
  }
  return refuse(raw, "SM2004", fmt::format("custom call '{}' is not supported", name),
                "take it out of the exported function, or export for a TPU: jax.export.export(f, platforms=['tpu'])");
}

/// Notes the operands of a call that hold the shapes of its results.
bool Parser::shapeOperands(const RawOp& raw, Op& op) {
  const Attr* indices = raw.find(kShapeOperands);
  if (!indices) return true;
  const bool areIntegers = indices->kind == Attr::Kind::elements && indices->elementsType.dtype == DType::i64 &&
                           indices->elementsType.shape.size() == 1 &&
                           indices->elementsType.elements() == static_cast<int64_t>(raw.resultTypes.size());
  std::vector<int64_t> operands;
  for (size_t i = 0; areIntegers && i < raw.resultTypes.size(); ++i)
    operands.push_back(indices->elements.as<int64_t>()[indices->elements.shape().empty() ? 0 : i]);
  const auto numOperands = static_cast<int64_t>(raw.operands.size());
  const int64_t first = numOperands - static_cast<int64_t>(operands.size());
  for (size_t i = 0; i < operands.size(); ++i)
    if (first < 0 || operands[i] != first + static_cast<int64_t>(i)) operands.clear();
  if (operands.empty())
    return refuse(raw, "SM2007", "a call does not say which operands hold the shapes of its results",
                  "export the module again");
  op.attributes.emplace_back(kShapeOperands, std::move(operands));
  return true;
}

bool Parser::kernelCall(RawOp& raw, Op& op) {
  if (program_.kernels.size() >= 10'000)
    return refuse(raw, "SM2009", "the module holds too many kernels", "split the program");
  const auto inKernel = [&](Diagnostic d, std::string_view kernel) {
    if (!kernel.empty()) d.where.insert(d.where.begin(), fmt::format("kernel '{}'", kernel));
    return cursor_.error(std::move(d), raw.at);
  };
  KernelPackage kernel;
  if (const Attr* name = raw.find("kernel_name")) kernel.name = printable(name->text);
  const size_t shapes = op.find(kShapeOperands) ? raw.resultTypes.size() : 0;
  kernel.operands.assign(raw.operandTypes.begin(), raw.operandTypes.end() - static_cast<int64_t>(shapes));
  kernel.results = raw.resultTypes;
  if (const Attr* effect = raw.find("has_side_effect")) kernel.hasSideEffect = effect->integer != 0;
  if (const Attr* attributes = raw.find("mhlo.frontend_attributes"))
    for (const auto& [key, value] : attributes->entries) {
      if (value.kind != Attr::Kind::string)
        return refuse(raw, "SM2007", fmt::format("frontend attribute '{}' is not a string", key), "export again");
      kernel.frontendAttributes[key] = value.text;
    }

  for (const auto& [key, types] :
       {std::pair{"operand_layouts", &kernel.operands}, {"result_layouts", &kernel.results}}) {
    const Attr* layouts = raw.find(key);
    if (!layouts) continue;
    for (size_t i = 0; i < layouts->items.size() && i < types->size(); ++i)
      if (!isRowMajor(layouts->items[i], (*types)[i].shape.size()))
        return refuse(raw, "SM2007", fmt::format("{} {} is not row-major", key, i), "use the default layout");
  }

  if (const Attr* aliases = raw.find("output_operand_aliases"))
    for (const Attr& item : aliases->items) {
      Entries fields;
      Cursor inner(source_, item.begin, item.end);
      SyntaxReader reader(inner, aliases_, budget_);
      if (item.kind != Attr::Kind::opaque || !reader.entries(fields, '\0', 0))
        return inner.ok() ? refuse(raw, "SM2007", "an alias is malformed", "export again")
                          : cursor_.error(inner.takeError());
      Alias alias;
      for (const auto& [key, value] : fields) {
        if (key == "operand_index") alias.operand = static_cast<int>(std::clamp<int64_t>(value.integer, -1, 1 << 20));
        if (key == "output_tuple_indices" && !value.items.empty())
          alias.output = static_cast<int>(std::clamp<int64_t>(value.items[0].integer, -1, 1 << 20));
      }
      kernel.aliases.push_back(alias);
    }

  const Attr* config = raw.find("backend_config");
  if (!config || (config->kind == Attr::Kind::string && config->text.empty())) config = raw.find("mhlo.backend_config");
  if (!config) return refuse(raw, "SM2010", "a kernel call has no backend_config", "export again");
  const std::string json = config->kind == Attr::Kind::string
                               ? config->text
                               : toJson(*config).dump(-1, ' ', false, Json::error_handler_t::replace);
  auto parsed = parseBackendConfig(json);
  if (!parsed) return inKernel(std::move(parsed.error()), kernel.name);
  kernel.config = std::move(parsed->config);

  if (!context_) context_ = makeContext();
  kernel.context = context_;
  const std::string bodyName = kernel.name.empty() ? kernelFile_ : fmt::format("{}:{}", kernelFile_, kernel.name);
  auto module = readBody(parsed->body, *context_, bodyName);
  if (!module) return inKernel(std::move(module.error()), kernel.name);
  kernel.module = std::move(*module);
  placeIndexMaps(kernel, raw.place);
  const bool symbolic =
      std::ranges::any_of(kernel.operands, hasUnknownDims) || std::ranges::any_of(kernel.results, hasUnknownDims);
  if (!symbolic)
    if (auto status = finish(kernel); !status) return cursor_.error(std::move(status.error()), raw.at);  // names it
  program_.kernels.push_back(std::move(kernel));
  return true;
}

}  // namespace smalti::interop::stablehlo
