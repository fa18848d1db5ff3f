#include "Harness.h"

#include <cstring>

#include <fmt/format.h>

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include "eval/FloatFormats.h"
#include "ir/KernelPackage.h"

namespace smalti::machine::test {
namespace {

int64_t& counter(const Ref& ref) { return reinterpret_cast<int64_t*>(ref.buffer->data())[ref.offset]; }

std::string elementText(DType t) {
  switch (t) {
    case DType::pred:
      return "i1";
    case DType::f8e5m2:
      return "f8E5M2";
    case DType::f8e4m3fn:
      return "f8E4M3FN";
    case DType::semaphore:
      return "!tpu.semaphore";
    case DType::dma_semaphore:
      return "!tpu.dma_semaphore";
    default:
      return std::string(name(signless(t)));
  }
}

std::string spaceText(MemoryKind space) {
  switch (space) {
    case MemoryKind::any:
      return "any";
    case MemoryKind::smem:
      return "smem";
    case MemoryKind::hbm:
      return "hbm";
    case MemoryKind::semaphore:
      return "semaphore_mem";
    default:
      return "vmem";
  }
}

}  // namespace

std::unique_ptr<Buffer> makeBuffer(std::string name, DType dtype, Shape shape, std::vector<double> given,
                                   MemoryKind space) {
  auto b = std::make_unique<Buffer>();
  b->name = std::move(name);
  b->type = {dtype, std::move(shape)};
  b->space = space;
  b->storage = *Array::allocate(b->type);
  const int64_t n = b->type.elements();
  if (given.empty() && !is_semaphore(dtype)) {
    poison(dtype, Poison::intMin, b->data(), n);
    b->allDefined = false;
    b->defined.assign(static_cast<size_t>(n), 0);
    return b;
  }
  if (given.empty()) given = {0};
  for (int64_t i = 0; i < n; ++i) {
    const double value = given[static_cast<size_t>(i) % given.size()];
    if (is_semaphore(dtype))
      reinterpret_cast<int64_t*>(b->data())[i] = static_cast<int64_t>(value);
    else
      eval::elementFromDouble(dtype, value, b->data() + i * storage_bytes(dtype));
  }
  return b;
}

std::vector<double> values(const Buffer& b) {
  std::vector<double> result;
  for (int64_t i = 0; i < b.type.elements(); ++i)
    result.push_back(eval::elementAsDouble(b.type.dtype, b.storage.data() + i * storage_bytes(b.type.dtype)));
  return result;
}

Result<Buffer*> FakeCore::allocate(int identity, ArrayType type, MemoryKind space, const SourcePlace&) {
  allocations.push_back(identity);
  ++live;
  buffers_.push_back(makeBuffer(fmt::format("run_scoped {}", identity), type.dtype, type.shape, {}, space));
  return buffers_.back().get();
}

Result<Buffer*> FakeCore::barrierSemaphore(const SourcePlace&) {
  buffers_.push_back(makeBuffer("barrier", DType::semaphore, {}, {0}, MemoryKind::semaphore));
  return buffers_.back().get();
}

Result<Wait> FakeCore::semaphoreWait(const Ref& ref, int64_t amount, const SourcePlace&) {
  if (counter(ref) < amount) return Wait::blocked;
  counter(ref) -= amount;
  return Wait::done;
}

std::optional<int32_t> FakeCore::semaphoreRead(const Ref& ref) { return static_cast<int32_t>(counter(ref)); }

Status FakeCore::semaphoreSignal(const Ref& ref, int64_t amount, std::optional<int32_t>, std::optional<int32_t>,
                                 const SourcePlace&) {
  counter(ref) += amount;
  return {};
}

Status FakeCore::startDma(const DmaRequest& request) {
  dmas.push_back(request);
  const auto n = static_cast<size_t>(request.source.elements());
  std::vector<std::byte> data(n * static_cast<size_t>(storage_bytes(request.source.dtype())));
  std::vector<uint8_t> mask(n, 1);
  const bool all = request.source.read(data.data(), mask.data());
  request.target.write(data.data(), all ? nullptr : mask.data());
  counter(request.targetSemaphore) += request.target.dmaBytes();
  if (request.sourceSemaphore) counter(*request.sourceSemaphore) += request.source.dmaBytes();
  return {};
}

Result<Wait> FakeCore::waitDma(const Ref& semaphore, const Ref& ref, bool, const SourcePlace&) {
  if (counter(semaphore) < ref.dmaBytes()) return Wait::blocked;
  counter(semaphore) -= ref.dmaBytes();
  return Wait::done;
}

void FakeCore::prngFill(uint32_t* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    out[i] = static_cast<uint32_t>(i) + (seed.empty() ? 0u : static_cast<uint32_t>(seed[0]));
}

Buffer& Kernel::buffer(DType dtype, Shape shape, std::vector<double> given, MemoryKind space) {
  buffers.push_back(
      makeBuffer(fmt::format("operand {}", buffers.size()), dtype, std::move(shape), std::move(given), space));
  return *buffers.back();
}

std::string Kernel::wrap(const std::string& body) const {
  std::string arguments;
  for (size_t k = 0; k < scalars.size(); ++k) arguments += fmt::format("%i{}: i32, ", k);
  for (size_t k = 0; k < buffers.size(); ++k) {
    const Buffer& b = *buffers[k];
    std::string dims;
    for (int64_t d : b.type.shape) dims += fmt::format("{}x", d);
    arguments += fmt::format("%{}: memref<{}{}, #tpu.memory_space<{}>>, ", k, dims, elementText(b.type.dtype),
                             spaceText(b.space));
  }
  if (!arguments.empty()) arguments.resize(arguments.size() - 2);
  const bool returns = body.find("return") != std::string::npos;
  return fmt::format("func.func @kernel({}) {{\n{}\n{}}}\n", arguments, body, returns ? "" : "return\n");
}

Status Kernel::compileText(const std::string& text) {
  module_ = nullptr;  // before the context that it lives in
  if (!context_) context_ = makeContext();
  module_ = mlir::parseSourceString<mlir::ModuleOp>(text, context_.get());
  if (!module_) return fail({.code = "parse", .message = "the test's module does not parse:\n" + text, .place = {}});
  auto function = module_->lookupSymbol<mlir::func::FuncOp>("kernel");
  auto compiled = compile(function, options);
  if (!compiled) return tl::unexpected(compiled.error());
  program = *compiled;
  execution = std::make_unique<Execution>(program);
  std::vector<Argument> arguments;
  for (int32_t s : scalars) arguments.emplace_back(s);
  for (auto& b : buffers) arguments.emplace_back(Ref::whole(*b));
  execution->start(arguments);
  return {};
}

Result<RunState> Kernel::go(int64_t maxInstructions) { return execution->run(core, maxInstructions); }

std::string Kernel::failure(const std::string& body) {
  Status compiled = compileText(wrap(body));
  if (!compiled) {
    diagnostic = compiled.error();
    return diagnostic.code;
  }
  Result<RunState> state = go();
  if (state) return *state == RunState::finished ? "" : "not finished";
  diagnostic = state.error();
  return diagnostic.code;
}

void Kernel::run(const std::string& body) { ASSERT_EQ(failure(body), "") << diagnostic.str(); }

std::vector<int> Kernel::defined(size_t k) const {
  const Buffer& b = *buffers[k];
  if (b.allDefined) return std::vector<int>(static_cast<size_t>(b.type.elements()), 1);
  return {b.defined.begin(), b.defined.end()};
}

}  // namespace smalti::machine::test
