#include "TextKernel.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

#include "machine/observers/Registry.h"

namespace smalti::machine::testing {
namespace {

std::string vectorType(const std::string& dtype, const Shape& shape) {
  return fmt::format("vector<{}x{}>", fmt::join(shape, "x"), dtype);
}

/// A dtype as the kernel sees it: "u8" is "i8", "f8e5m2" is "f8E5M2".
std::string signlessName(const std::string& dtype) {
  if (dtype[0] == 'u') return "i" + dtype.substr(1);
  std::string name = dtype;
  if (name.starts_with("f8"))
    std::transform(name.begin() + 1, name.end(), name.begin() + 1, [](unsigned char c) { return std::toupper(c); });
  return name;
}

DType arrayDType(const std::string& dtype) {
  if (dtype.starts_with("!tpu")) return DType::i32;
  return dtype_from_name(dtype).value();
}

}  // namespace

std::string memref(const std::string& dtype, const Shape& shape, const std::string& space) {
  std::string dims;
  for (int64_t d : shape) dims += fmt::format("{}x", d);
  return fmt::format("memref<{}{}, #tpu.memory_space<{}>>", dims, dtype, space);
}

Shape shapeIn(const std::string& type) {
  Shape shape;
  size_t at = type.find('<') + 1;
  while (std::isdigit(static_cast<unsigned char>(type[at]))) {
    size_t used = 0;
    shape.push_back(std::stoll(type.substr(at), &used));
    at += used + 1;
  }
  return shape;
}

std::string elementIn(const std::string& type) {
  size_t at = type.find('<') + 1;
  while (std::isdigit(static_cast<unsigned char>(type[at]))) at = type.find('x', at) + 1;
  return type.substr(at, type.find_first_of(",>", at) - at);
}

TextKernel::TextKernel(std::vector<int64_t> grid, std::string semantics)
    : grid_(std::move(grid)), semantics_(std::move(semantics)) {}

Val TextKernel::prefetch(const std::string& dtype, Shape shape) {
  const std::string type = memref(signlessName(dtype), shape, "smem");
  prefetch_.push_back({{.dtype = dtype, .array = shape}, fmt::format("%p{}", prefetch_.size()), type});
  return {prefetch_.back().name, type};
}

Val TextKernel::addOperand(Spec spec, bool output) {
  const std::string type =
      memref(signlessName(spec.dtype), spec.block.empty() && spec.map.empty() ? spec.array : spec.block, spec.space);
  const std::string name = fmt::format("%a{}", operands_.size());
  // A kernel takes its inputs before its outputs, in whatever order a test declares them.
  const auto end = output ? operands_.end() : std::ranges::find(operands_, true, &Argument::output);
  operands_.insert(end, {std::move(spec), name, type, output});
  return {name, type};
}
Val TextKernel::input(Spec spec) { return addOperand(std::move(spec), false); }
Val TextKernel::output(Spec spec) { return addOperand(std::move(spec), true); }

Val TextKernel::scratch(const std::string& dtype, Shape shape, const std::string& space) {
  scratch_.push_back(
      {{.dtype = dtype, .array = shape}, fmt::format("%s{}", scratch_.size()), memref(dtype, shape, space)});
  return {scratch_.back().name, scratch_.back().memref};
}

Val TextKernel::constant(int32_t value) {
  Val v = fresh("i32");
  raw(fmt::format("{} = arith.constant {} : i32", v.name, value));
  return v;
}
Val TextKernel::f32(double value) {
  Val v = fresh("f32");
  raw(fmt::format("{} = arith.constant {:e} : f32", v.name, value));
  return v;
}
Val TextKernel::splat(const Val& scalar, const Shape& shape) {
  Val v = fresh(vectorType(scalar.type, shape));
  raw(fmt::format("{} = vector.broadcast {} : {} to {}", v.name, scalar.name, scalar.type, v.type));
  return v;
}
Val TextKernel::binary(const std::string& op, const Val& a, const Val& b) {
  Val v = fresh(a.type);
  raw(fmt::format("{} = {} {}, {} : {}", v.name, op, a.name, b.name, v.type));
  return v;
}
Val TextKernel::compare(const std::string& predicate, const Val& a, const Val& b) {
  Val v = fresh("i1");
  raw(fmt::format("{} = arith.cmpi {}, {}, {} : {}", v.name, predicate, a.name, b.name, a.type));
  return v;
}
Val TextKernel::toFloat(const Val& i) {
  Val v = fresh("f32");
  raw(fmt::format("{} = arith.sitofp {} : i32 to f32", v.name, i.name));
  return v;
}
Val TextKernel::index(const Val& i) {
  Val v = fresh("index");
  raw(fmt::format("{} = arith.index_cast {} : i32 to index", v.name, i.name));
  return v;
}

std::vector<Val> TextKernel::starts(size_t rank, const std::vector<Val>& start) {
  std::vector<Val> result;
  for (size_t d = 0; d < rank; ++d) result.push_back(index(d < start.size() ? start[d] : constant(0)));
  return result;
}

namespace {
std::string names(const std::vector<Val>& values) {
  std::string s;
  for (const Val& v : values) s += (s.empty() ? "" : ", ") + v.name;
  return s;
}
std::string types(const std::vector<Val>& values) {
  std::string s;
  for (const Val& v : values) s += (s.empty() ? "" : ", ") + v.type;
  return s;
}
}  // namespace

Val TextKernel::load(const Val& ref) { return load(ref, shapeIn(ref.type), {}); }
Val TextKernel::load(const Val& ref, const Shape& shape, const std::vector<Val>& start) {
  const auto at = starts(shape.size(), start);
  Val v = fresh(vectorType(elementIn(ref.type), shape));
  raw(fmt::format("{} = vector.load {}[{}] : {}, {}", v.name, ref.name, names(at), ref.type, v.type));
  return v;
}
void TextKernel::store(const Val& value, const Val& ref, const std::vector<Val>& start) {
  const auto at = starts(shapeIn(ref.type).size(), start);
  raw(
      fmt::format("\"tpu.vector_store\"({}, {}, {}) <{{operandSegmentSizes = array<i32: 1, 1, {}, 0>, strides = "
                  "array<i32>, add = false}}> : ({}, {}, {}) -> ()",
                  value.name, ref.name, names(at), at.size(), value.type, ref.type, types(at)));
}
Val TextKernel::scalarLoad(const Val& ref, const std::vector<Val>& at) {
  const auto indices = starts(shapeIn(ref.type).size(), at);
  Val v = fresh(elementIn(ref.type));
  raw(fmt::format("{} = memref.load {}[{}] : {}", v.name, ref.name, names(indices), ref.type));
  return v;
}
void TextKernel::scalarStore(const Val& value, const Val& ref, const std::vector<Val>& at) {
  const auto indices = starts(shapeIn(ref.type).size(), at);
  raw(fmt::format("memref.store {}, {}[{}] : {}", value.name, ref.name, names(indices), ref.type));
}

namespace {
std::string spaceIn(const std::string& type) {
  const size_t at = type.find("memory_space<") + 13;
  return type.substr(at, type.find('>', at) - at);
}
}  // namespace

Val TextKernel::slice(const Val& ref, const std::vector<Val>& start, const Shape& shape) {
  Val v = fresh(memref(elementIn(ref.type), shape, spaceIn(ref.type)));
  raw(fmt::format("{} = \"tpu.memref_slice\"({}, {}) <{{operandSegmentSizes = array<i32: 1, {}, 0>}}> : ({}, {}) -> {}",
                  v.name, ref.name, names(start), start.size(), ref.type, types(start), v.type));
  return v;
}
Val TextKernel::squeeze(const Val& ref, const Shape& shape) {
  Val v = fresh(memref(elementIn(ref.type), shape, spaceIn(ref.type)));
  raw(fmt::format("{} = \"tpu.memref_squeeze\"({}) : ({}) -> {}", v.name, ref.name, ref.type, v.type));
  return v;
}
Val TextKernel::at(const Val& semaphores, const Val& i) { return squeeze(slice(semaphores, {i}, {1}), {}); }

void TextKernel::when(const Val& condition, const std::function<void()>& body) {
  raw(fmt::format("scf.if {} {{", condition.name));
  body();
  raw("}");
}
void TextKernel::whileLoop(const std::function<Val()>& condition, const std::function<void()>& body) {
  raw("scf.while : () -> () {");
  const Val c = condition();
  raw(fmt::format("scf.condition({})\n}} do {{", c.name));
  body();
  raw("scf.yield\n}");
}
void TextKernel::loop(const Val& from, const Val& to, const std::function<void(Val)>& body) {
  const Val step = constant(1), i = fresh("i32");
  raw(fmt::format("scf.for {} = {} to {} step {} : i32 {{", i.name, from.name, to.name, step.name));
  body(i);
  raw("}");
}
void TextKernel::region(const std::function<void()>& body) {
  raw("\"tpu.region\"() ({");
  body();
  raw("\"tpu.yield\"() : () -> ()\n}) : () -> ()");
}
Val TextKernel::alloc(const std::string& dtype, const Shape& shape, const std::string& space) {
  Val v = fresh(memref(dtype, shape, space));
  raw(fmt::format("{} = memref.alloca() : {}", v.name, v.type));
  return v;
}
Val TextKernel::semAlloc(const std::string& type, const Shape& shape) {
  Val v = fresh(memref(type, shape, "semaphore_mem"));
  raw(fmt::format("{} = \"tpu.sem_alloc\"() : () -> {}", v.name, v.type));
  return v;
}
Val TextKernel::barrier() {
  Val v = fresh(memref("!tpu.semaphore", {}, "semaphore_mem"));
  raw(fmt::format("{} = \"tpu.sem_barrier\"() : () -> {}", v.name, v.type));
  return v;
}
Val TextKernel::deviceId() {
  Val v = fresh("i32");
  raw(fmt::format("{} = \"tpu.device_id\"() : () -> i32", v.name));
  return v;
}
Val TextKernel::iterationBound(int dim) {
  Val v = fresh("i32");
  raw(fmt::format("{} = \"tpu.iteration_bound\"() <{{dim = {} : i32}}> : () -> i32", v.name, dim));
  return v;
}
Val TextKernel::semRead(const Val& semaphore) {
  Val v = fresh("i32");
  raw(fmt::format("{} = \"tpu.sem_read\"({}) : ({}) -> i32", v.name, semaphore.name, semaphore.type));
  return v;
}
void TextKernel::semWait(const Val& semaphore, const Val& amount) {
  raw(fmt::format("\"tpu.sem_wait\"({}, {}) : ({}, i32) -> ()", semaphore.name, amount.name, semaphore.type));
}
void TextKernel::semSignal(const Val& semaphore, const Val& amount, std::optional<Val> device,
                           std::optional<Val> core) {
  std::vector<Val> operands{semaphore, amount};
  if (device) operands.push_back(*device);
  if (core) operands.push_back(*core);
  raw(fmt::format("\"tpu.sem_signal\"({}) <{{operandSegmentSizes = array<i32: 1, 1, {}, {}, 0>}}> : ({}) -> ()",
                  names(operands), device ? 1 : 0, core ? 1 : 0, types(operands)));
}
void TextKernel::dma(const Val& source, const Val& target, const Val& semaphore) {
  const std::vector<Val> operands{source, target, semaphore};
  raw(
      fmt::format("\"tpu.enqueue_dma\"({}) <{{operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0, 0>, priority = 0 : "
                  "i32, strict_ordering = false}}> : ({}) -> ()",
                  names(operands), types(operands)));
}
void TextKernel::remoteDma(const Val& source, const Val& send, const Val& target, const Val& receive,
                           const Val& device) {
  const std::vector<Val> operands{source, send, target, receive, device};
  raw(
      fmt::format("\"tpu.enqueue_dma\"({}) <{{operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0, 0>, priority = 0 : "
                  "i32, strict_ordering = false}}> : ({}) -> ()",
                  names(operands), types(operands)));
}

namespace {
std::string waitText(const std::vector<Val>& operands, std::string_view segments, bool target) {
  return fmt::format(
      "\"tpu.wait_dma\"({}) <{{operandSegmentSizes = array<i32: {}>, priority = 0 : i32, "
      "strict_ordering = false, wait_target = {}}}> : ({}) -> ()",
      names(operands), segments, target, types(operands));
}
}  // namespace

void TextKernel::waitDma(const Val& source, const Val& target, const Val& semaphore) {
  raw(waitText({source, target, semaphore}, "1, 0, 1, 1, 0, 0, 0", true));
}
void TextKernel::waitSend(const Val& source, const Val& send, const Val& target, const Val& receive,
                          const Val& device) {
  raw(waitText({source, send, target, receive, device}, "1, 1, 1, 1, 1, 0, 0", false));
}
void TextKernel::waitReceive(const Val& source, const Val& send, const Val& target, const Val& receive,
                             const Val& device) {
  raw(waitText({source, send, target, receive, device}, "1, 1, 1, 1, 1, 0, 0", true));
}

std::string TextKernel::text() const {
  std::string grid, gridArguments;
  for (size_t d = 0; d < grid_.size(); ++d) gridArguments += fmt::format("%{}: i32, ", "ijk"[d]);
  std::string arguments = gridArguments, params, transforms, mapArguments = gridArguments;
  for (const auto& p : prefetch_) mapArguments += fmt::format("{}: {}, ", p.name, p.memref);
  if (!mapArguments.empty()) mapArguments.resize(mapArguments.size() - 2);
  for (const auto* list : {&prefetch_, &operands_, &scratch_})
    for (const auto& a : *list) arguments += fmt::format("{}: {}, ", a.name, a.memref);
  if (!arguments.empty()) arguments.resize(arguments.size() - 2);

  for (size_t i = 0; i < operands_.size(); ++i) {
    const Spec& s = operands_[i].spec;
    if (i > 0) params += ", ";
    if (s.map.empty()) {
      params += "{}";
      continue;
    }
    params += fmt::format("{{transform_indices = @transform_{}, window_bounds = array<i64: {}>{}{}}}", i,
                          fmt::join(s.block, ", "), s.attributes.empty() ? "" : ", ", s.attributes);
    std::string constants;
    for (int c = 0; c < 10; ++c) constants += fmt::format("%c{} = arith.constant {} : i32\n", c, c);
    std::string resultTypes = "i32";
    for (size_t d = 1; d < s.block.size(); ++d) resultTypes += ", i32";
    transforms += fmt::format("func.func @transform_{}({}) -> ({}) {{\n{}{}\nreturn {} : {}\n}}\n", i, mapArguments,
                              resultTypes, constants, s.lines, s.map, resultTypes);
  }
  std::string attributes = fmt::format(
      "scalar_prefetch = {} : i64, scratch_operands = {} : i64, tpu.core_type = "
      "#tpu.core_type<tc>",
      prefetch_.size(), scratch_.size());
  std::string semantics;
  if (!grid_.empty()) {
    std::vector<std::string> each;
    size_t from = 0;
    for (size_t d = 0; d < grid_.size(); ++d) {
      const size_t to = semantics_.find(',', from);
      const std::string word = semantics_.substr(from, to == std::string::npos ? to : to - from);
      each.push_back(fmt::format("#tpu.dimension_semantics<{}>", word));
      if (to != std::string::npos) from = to + 1;
    }
    semantics = fmt::format("{}", fmt::join(each, ", "));
    attributes +=
        fmt::format(", iteration_bounds = array<i64: {}>, window_params = [{}]", fmt::join(grid_, ", "), params);
  }
  attributes += fmt::format(", dimension_semantics = [{}]", semantics);
  return fmt::format("module {{\nfunc.func @kernel({}) attributes {{{}}} {{\n{}return\n}}\n{}}}\n", arguments,
                     attributes, body_, transforms);
}

KernelPackage TextKernel::package() const {
  KernelPackage package;
  package.context = makeContext();
  package.name = "kernel";
  std::string errors;
  mlir::ScopedDiagnosticHandler handler(package.context.get(), [&](mlir::Diagnostic& d) {
    errors += d.str() + "\n";
    return mlir::success();
  });
  package.module = mlir::parseSourceString<mlir::ModuleOp>(text(), package.context.get());
  EXPECT_TRUE(package.module) << errors << text();
  if (!package.module) return package;
  for (int64_t bound : grid_)
    if (bound == kDynamicBound) package.operands.push_back({DType::i32, {}});
  for (const auto& p : prefetch_) package.operands.push_back({arrayDType(p.spec.dtype), p.spec.array});
  for (const auto& o : operands_)
    (o.output ? package.results : package.operands).push_back({arrayDType(o.spec.dtype), o.spec.array});
  package.aliases = aliases_;
  auto ok = finish(package);
  EXPECT_TRUE(ok.has_value()) << ok.error().str() << text();
  return package;
}

Array f32Array(Shape shape, const std::function<float(int64_t)>& element) {
  Array a = Array::allocate({DType::f32, std::move(shape)}).value();
  for (int64_t i = 0; i < a.elements(); ++i) a.as<float>()[i] = element(i);
  return a;
}
Array counting(Shape shape) {
  return f32Array(std::move(shape), [](int64_t i) { return static_cast<float>(i); });
}
Array i32Array(Shape shape, const std::function<int32_t(int64_t)>& element) {
  Array a = Array::allocate({DType::i32, std::move(shape)}).value();
  for (int64_t i = 0; i < a.elements(); ++i) a.as<int32_t>()[i] = element(i);
  return a;
}
std::vector<float> floats(const Array& a) { return {a.as<float>(), a.as<float>() + a.elements()}; }
std::vector<int32_t> ints(const Array& a) { return {a.as<int32_t>(), a.as<int32_t>() + a.elements()}; }

Result<KernelResult> runOn(const TextKernel& kernel, const std::vector<std::vector<Array>>& operands,
                           const MachineOptions& options, std::span<Observer* const> extra) {
  const KernelPackage package = kernel.package();
  if (!package.module) return fail({.code = "test", .message = "the kernel does not parse", .place = {}});
  auto compiled = compileKernel(package, options.numerics);
  if (!compiled) return fail(std::move(compiled.error()));
  return run(**compiled, operands, options, extra);
}

std::vector<Array> results(const TextKernel& kernel, const std::vector<Array>& operands,
                           const MachineOptions& options) {
  auto result = runOn(kernel, {operands}, options);
  EXPECT_TRUE(result.has_value()) << result.error().str() << kernel.text();
  return result ? result->results[0] : std::vector<Array>();
}

MachineOptions checked() {
  MachineOptions o;
  o.checks = allChecks();
  return o;
}

int lineOf(const TextKernel& kernel, const std::string& words, int nth) {
  const std::string text = kernel.text();
  size_t at = text.find(words);
  for (; nth > 0 && at != std::string::npos; --nth) at = text.find(words, at + 1);
  if (at == std::string::npos) return 0;
  return 1 + static_cast<int>(std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(at), '\n'));
}

std::vector<std::string> codes(const KernelResult& result) {
  std::vector<std::string> codes;
  for (const Finding& f : result.findings) codes.push_back(f.diagnostic.code);
  return codes;
}

}  // namespace smalti::machine::testing
