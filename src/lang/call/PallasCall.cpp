// The function of arrays that pallas_call gives: one trace and one compilation per signature.
#include "smalti/pallas_call.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <mutex>

#include <fmt/format.h>

#include "base/RowMajor.h"
#include "base/Settings.h"
#include "base/Source.h"
#include "base/Text.h"
#include "lang/call/Backend.h"
#include "lang/call/CalledKernel.h"
#include "lang/call/DerivedKernel.h"
#include "lang/call/Report.h"
#include "lang/call/Specs.h"
#include "lang/call/TraceKernel.h"
#include "lang/call/Work.h"
#include "lang/debug/Debug.h"
#include "lang/devices/MeshAround.h"
#include "lang/lower/Lower.h"
#include "lang/ops/Support.h"
#include "lang/print/Print.h"
#include "lang/trace/HasValue.h"
#include "lang/trace/SourceLocationScope.h"
#include "lang/transform/kernel/KernelFunction.h"
#include "tpu/Legality.h"

namespace smalti {

using lang::requireAlive;
using lang::SourceLocationScope;

struct Lowered::State {
  lang::TracedKernel kernel;
  std::shared_ptr<const Program> program;
  std::shared_ptr<lang::Compilable> compilable;
  mutable lang::DerivedKernels derived;
  const KernelPackage& package() const { return program->kernels[0]; }
};

struct PallasCall::Chosen {
  ActiveSettings settings;
};

struct PallasCall::State : std::enable_shared_from_this<PallasCall::State> {
  /// A kernel of one call, lowered, and ready to run with the settings that it was last called with.
  struct Signature {
    std::vector<ArrayType> operands;
    bool debugChecks = false, poison = false;
    std::vector<MeshAxis> devices;  ///< of the shard_map around
    std::shared_ptr<const Lowered::State> lowered;
    struct Ready {
      uint64_t settings = 0;  ///< serial of ActiveSettings
      lang::Purpose purpose = lang::Purpose::call;
      std::shared_ptr<const Executable::State> executable;
    };
    std::vector<Ready> ready;  ///< the last ones; code is kept by `lowered->compilable`
    static constexpr size_t kMaxReady = 8;

    const std::shared_ptr<const Executable::State>* find(const ActiveSettings& settings, lang::Purpose purpose) const {
      for (const Ready& r : ready)
        if (r.settings == settings.serial && r.purpose == purpose) return &r.executable;
      return nullptr;
    }
  };

  State(Kernel kernel, Call call, Location at) : kernel(std::move(kernel)), call(std::move(call)), at(at) {}

  Kernel kernel;
  Call call;
  Location at;
  std::mutex mutex;                                    ///< of `signatures`; not held while kernels are compiled
  std::vector<std::unique_ptr<Signature>> signatures;  ///< none is ever removed

  Signature& signature(std::span<const Operand> operands) {
    const auto is = [](const Operand& o, const ArrayType& type) { return o.array().type() == type; };
    for (const auto& s : signatures)
      if (std::ranges::equal(operands, s->operands, is) && s->debugChecks == lang::debugChecksEnabled() &&
          s->poison == lang::poisonBuffersEnabled() && s->devices == lang::meshAround())
        return *s;
    std::vector<ArrayType> types;
    for (const Operand& o : operands) types.push_back(o.array().type());
    auto lowered = std::make_shared<Lowered::State>();
    lowered->kernel = lang::traceKernel(kernel, call, at, types);
    if (call.debug)
      std::fputs(fmt::format("The kernel as traced:\n{}\n", lang::print(lowered->kernel)).c_str(), stdout);
    SourceLocationScope place(at);
    try {
      lowered->program = std::make_shared<Program>(wrap(lang::lowerKernel(lowered->kernel)));
    } catch (const Error& error) {
      Diagnostic d = error.diagnostic();
      if (d.where.empty()) d.where.push_back(fmt::format("kernel '{}'", lowered->kernel.name));
      raise(std::move(d));
    }
    if (call.debug)
      std::fputs(fmt::format("The Mosaic module:\n{}\n", lang::backend().mosaicText(lowered->package(), false)).c_str(),
                 stdout);
    lowered->compilable = lang::backend().prepare(lowered->program);
    signatures.push_back(std::make_unique<Signature>(Signature{
        types, lang::debugChecksEnabled(), lang::poisonBuffersEnabled(), lang::meshAround(), std::move(lowered), {}}));
    return *signatures.back();
  }

  std::shared_ptr<const Executable::State> executable(std::span<const Operand> operands, const ActiveSettings& settings,
                                                      lang::Purpose purpose) {
    const lang::Work work;
    Signature* s = nullptr;
    {
      const std::lock_guard lock(mutex);
      s = &signature(operands);
      if (const auto* ready = s->find(settings, purpose)) return *ready;
    }
    return executable(*s, settings, purpose);
  }
  std::shared_ptr<const Executable::State> executable(Signature& s, const ActiveSettings& settings,
                                                      lang::Purpose purpose) {
    const lang::Work work;
    {
      const std::lock_guard lock(mutex);
      if (const auto* ready = s.find(settings, purpose)) return *ready;
    }
    auto compiled =
        settings.values ? s.lowered->compilable->compile(*settings.values, purpose) : fail(settings.values.error());
    if (!compiled) {
      SourceLocationScope place(at);
      lang::refuse(std::move(compiled.error()));
    }
    const std::lock_guard lock(mutex);
    if (s.ready.size() == Signature::kMaxReady) s.ready.erase(s.ready.begin());
    s.ready.push_back({settings.serial, purpose, *compiled});
    return *compiled;
  }

  const std::vector<GridDim>& grid() const { return call.grid_spec ? call.grid_spec->grid : call.grid; }
  /// How many of a call's operands are grid sizes; error SM6221 when there are fewer, or one is not a size.
  size_t sizesIn(const std::vector<Operand>& given) const {
    const auto& g = grid();
    const auto wanted = static_cast<size_t>(std::count_if(g.begin(), g.end(), [](auto& d) { return d.at_call; }));
    const auto isSize = [](const Operand& o) { return o.rank() == 0 && o.dtype() == DType::i32; };
    size_t good = 0;
    while (good < wanted && good < given.size() && isSize(given[good])) ++good;
    if (good == wanted) return wanted;
    SourceLocationScope place(good < given.size() ? given[good].at() : at);
    lang::refuse({.code = "SM6221",
                  .message = "a call of a kernel with `dynamic` grid axes begins with their sizes",
                  .place = {},
                  .need = counted(wanted, "i32 scalar") + ", then the arrays",
                  .have = good < given.size() ? given[good].array().type().str() : counted(good, "operand"),
                  .help = "call(n, x): a size for each `dynamic` of the grid, in its order"});
  }

  /// The call as an op of what is traced.
  std::vector<Array> bound(const std::vector<Operand>& given, const std::shared_ptr<const Chosen>& chosen);
  class Called;
  /// Runs the call on arrays that have elements.
  RunReport execute(std::vector<Operand> given, const ActiveSettings& settings, lang::Purpose purpose);
  /// An error of a run is raised at the call.
  void raiseError(Result<RunReport>&) const;

  /// The custom call's operands: dynamic grid bounds, then the user's. Memory holds a bool as an i32 (S-D10),
  /// and so do the kernel's operands and results.
  std::vector<Array> operands(const std::vector<Operand>& given) const {
    return operands(given, [](const Operand& o) -> const Array& { return o.array(); });
  }
  template <class Given, class ArrayOf>
  std::vector<Array> operands(Given& given, const ArrayOf& arrayOf) const {
    std::vector<Array> arrays;
    arrays.reserve(given.size() + grid().size());
    auto next = given.begin();
    for (const GridDim& d : grid())
      if (lang::isDynamic(d)) arrays.push_back(d.dynamic ? *d.dynamic : arrayOf(*next++));
    for (; next != given.end(); ++next) {
      arrays.push_back(arrayOf(*next));
      if (arrays.back().dtype() == DType::pred) arrays.back() = lang::convertTo(arrays.back(), DType::i32);
    }
    return arrays;
  }
  /// The Executable of the custom call as one of what the user gives and gets.
  std::shared_ptr<const Executable::State> asCalled(std::shared_ptr<const Executable::State> executable,
                                                    const std::vector<Operand>& given);
  /// The operands for which the kernel is traced; an error if a call cannot take them.
  std::span<const Operand> arrays(const std::vector<Operand>& given) const;

  void restoreBools(std::vector<Array>& results) const {
    for (size_t i = 0; i < results.size() && i < call.out_shape.size(); ++i)
      if (call.out_shape[i].dtype == DType::pred) results[i] = lang::convertTo(results[i], DType::pred);
  }
};

namespace {

void checkOperand(const Operand& o) {
  const Array& array = o.array();
  if (lang::Tracer::isEager() && !array.is_traced() && array.data()) return;
  SourceLocationScope place(o.at());
  if (const lang::Trace* trace = lang::Trace::current(); trace && trace->kind() == lang::Trace::Kind::kernel)
    lang::refuse({.code = "SM6216",
                  .message = "a pallas_call is called inside a kernel",
                  .place = {},
                  .need = "a call outside kernels, with arrays",
                  .have = fmt::format("an operand {}{}", array.is_traced() ? "traced as " : "", array.type().str()),
                  .help = "kernels do not call kernels: use emit_pipeline, or inline the body"});
  if (lang::Tracer::isEager())
    lang::checkConcrete(array);
  else
    lang::checkHasValue(array);
}

}  // namespace

std::span<const Operand> PallasCall::State::arrays(const std::vector<Operand>& given) const {
  const size_t sizes = sizesIn(given);
  for (const Operand& o : given) checkOperand(o);
  return std::span(given).subspan(sizes);
}

namespace {

/// The user's view of the call: without the grid sizes of the custom call, and with bools.
class AsCalled : public Executable::State {
 public:
  AsCalled(std::shared_ptr<PallasCall::State> call, std::shared_ptr<const Executable::State> inner,
           const std::vector<Operand>& given)
      : call_(std::move(call)), inner_(std::move(inner)) {
    for (const Operand& o : given) arguments.push_back(o.array().type());
    results = inner_->results;
    for (size_t i = 0; i < results.size() && i < call_->call.out_shape.size(); ++i)
      results[i].dtype = call_->call.out_shape[i].dtype;
    options = inner_->options;
  }
  bool differs() const { return arguments != inner_->arguments || results != inner_->results; }

  Result<RunReport> execute(std::vector<Array> inputs, std::span<Array> into,
                            const ExecuteOptions& chosen) const override {
    const auto itself = [](const Array& a) -> const Array& { return a; };
    const bool sameResults = results == inner_->results;
    auto report = inner_->execute(call_->operands(inputs, itself), sameResults ? into : std::span<Array>(), chosen);
    if (report) call_->restoreBools(report->results);
    return report;
  }

 private:
  std::shared_ptr<PallasCall::State> call_;
  std::shared_ptr<const Executable::State> inner_;
};

}  // namespace

std::shared_ptr<const Executable::State> PallasCall::State::asCalled(
    std::shared_ptr<const Executable::State> executable, const std::vector<Operand>& given) {
  auto called = std::make_shared<AsCalled>(shared_from_this(), executable, given);
  if (called->differs()) return called;
  return executable;
}

std::vector<size_t> IndexMap::arities() const {
  std::vector<size_t> counts;
  for (const auto& [n, call] : calls_) counts.push_back(n);
  return counts;
}
std::optional<std::vector<detail::MapEntry>> IndexMap::operator()(const std::vector<IndexArg>& arguments) const {
  for (const auto& [n, call] : calls_)
    if (n == arguments.size()) return call(arguments.data()).list;
  return std::nullopt;
}
Array IndexArg::read(std::initializer_list<Index> index) const {
  if (!ref_.node()) {
    SourceLocationScope place(index.begin()->at);
    lang::refuse({.code = "SM6217",
                  .message = "a grid index is indexed in an index map",
                  .place = {},
                  .need = "a scalar-prefetch Ref",
                  .have = "a grid index, i32[]",
                  .help = "scalar-prefetch Refs come after the grid indices: set num_scalar_prefetch"});
  }
  return RefView(ref_, index).value();
}

std::vector<size_t> Kernel::arities() const {
  std::vector<size_t> counts;
  for (const auto& [n, call] : calls_) counts.push_back(n);
  return counts;
}
bool Kernel::operator()(const std::vector<Ref>& refs) const {
  if (any_) {
    any_(refs);
    return true;
  }
  for (const auto& [n, call] : calls_)
    if (n == refs.size()) {
      call(refs.data());
      return true;
    }
  return false;
}

void Results::check(size_t wanted) const {
  if (arrays_.size() == wanted) return;
  SourceLocationScope place(call_);
  lang::refuse({.code = "SM6201",
                .message = "a call gives a different number of results",
                .place = {},
                .need = counted(wanted, "result"),
                .have = fmt::format("{}", arrays_.size()),
                .help = "take<N>() with that number, or results[i]"});
}
Results::operator Array() const& {
  check(1);
  return arrays_[0];
}
Results::operator Array() && {
  check(1);
  return std::move(arrays_[0]);
}

Operand::Operand(Results results, Location at) : array_(std::move(results)), at_(at) {}

PallasCall::PallasCall(Kernel kernel, Call call, Location at)
    : state_(std::make_shared<State>(std::move(kernel), std::move(call), at)) {}
PallasCall::PallasCall(const PallasCall&) = default;
PallasCall::PallasCall(PallasCall&&) noexcept = default;
PallasCall& PallasCall::operator=(const PallasCall&) = default;
PallasCall& PallasCall::operator=(PallasCall&&) noexcept = default;
PallasCall::~PallasCall() = default;
PallasCall pallas_call(Kernel kernel, Call call, Location at) { return {std::move(kernel), std::move(call), at}; }

namespace {

/// Each operand is moved: copies of an array allocate memory.
template <class... Operands>
std::vector<Operand> listed(Operands&... operands) {
  std::vector<Operand> all;
  all.reserve(sizeof...(operands));
  (all.push_back(std::move(operands)), ...);
  return all;
}

}  // namespace

Results PallasCall::operator()() const { return run({}); }
Results PallasCall::operator()(Operand a) const { return run(listed(a)); }
Results PallasCall::operator()(Operand a, Operand b) const { return run(listed(a, b)); }
Results PallasCall::operator()(Operand a, Operand b, Operand c) const { return run(listed(a, b, c)); }
Results PallasCall::operator()(Operand a, Operand b, Operand c, Operand d) const { return run(listed(a, b, c, d)); }
Results PallasCall::operator()(Operand a, Operand b, Operand c, Operand d, Operand e) const {
  return run(listed(a, b, c, d, e));
}

namespace {

/// Whether bodies are computed in f64.
bool computesWide(const ActiveSettings& settings) {
  return settings.values && settings.values->numerics == "f64" && settings.values->target == "interpret";
}

}  // namespace

/// A signature of a pallas_call in a traced function.
class PallasCall::State::Called : public lang::CalledKernel {
 public:
  Called(std::shared_ptr<State> call, std::shared_ptr<const Chosen> chosen, Signature& signature)
      : call_(std::move(call)), chosen_(std::move(chosen)), signature_(signature) {}

  const lang::TracedKernel& traced() const override { return signature_.lowered->kernel; }
  KernelPackage package() const override {
    const auto alone = signature_.lowered->compilable->alone();
    return signature_.lowered->package().copy();
  }
  std::vector<Array> call(std::span<const Array> operands) const override {
    for (const Array& a : operands) lang::checkConcrete(a);
    const ActiveSettings& settings = chosen_ ? chosen_->settings : activeSettings();
    if (computesWide(settings)) {
      SourceLocationScope place(call_->at);
      return lang::runWide(traced(), operands);
    }
    const auto executable = call_->executable(signature_, settings, lang::Purpose::call);
    auto report = executable->execute({operands.begin(), operands.end()});
    call_->raiseError(report);
    return lang::printAndTakeResults(std::move(*report));
  }
  lang::DerivedKernels& derived() const override { return signature_.lowered->derived; }
  std::shared_ptr<const ActiveSettings> settings() const override {
    return chosen_ ? std::shared_ptr<const ActiveSettings>(chosen_, &chosen_->settings) : nullptr;
  }

 private:
  std::shared_ptr<State> call_;
  std::shared_ptr<const Chosen> chosen_;
  Signature& signature_;  ///< of `call_`
};

void PallasCall::State::raiseError(Result<RunReport>& report) const {
  if (report) return;
  SourceLocationScope place(at);
  lang::refuse(std::move(report.error()));
}

std::vector<Array> PallasCall::State::bound(const std::vector<Operand>& given,
                                            const std::shared_ptr<const Chosen>& chosen) {
  const std::span<const Operand> arrays = this->arrays(given);
  Signature* s = nullptr;
  {
    const lang::LockedWork work(mutex);
    s = &signature(arrays);
  }
  SourceLocationScope place(at);
  std::vector<Array> results = lang::bindKernel(std::make_shared<Called>(shared_from_this(), chosen, *s),
                                                operands(given), s->lowered->package().results);
  restoreBools(results);
  return results;
}

PallasCall PallasCall::with(const Settings& settings) const {
  PallasCall other(*this);
  other.chosen_ = std::make_shared<const Chosen>(Chosen{activate(settings)});
  return other;
}

Results PallasCall::run(std::vector<Operand> operands) const {
  requireAlive();
  const ActiveSettings& settings = chosen_ ? chosen_->settings : activeSettings();
  if (!lang::Tracer::isEager() || computesWide(settings)) return Results(state_->bound(operands, chosen_), state_->at);
  return Results(lang::printAndTakeResults(state_->execute(std::move(operands), settings, lang::Purpose::call)),
                 state_->at);
}

RunReport PallasCall::check_all(const std::vector<Operand>& operands, const CheckFor& what) const {
  requireAlive();
  for (const Operand& o : operands) {
    SourceLocationScope place(o.at());
    lang::checkConcrete(o.array());
  }
  const ActiveSettings& settings = chosen_ ? chosen_->settings : activeSettings();
  const std::string chip(what.chip.empty() && settings.values ? std::string_view(settings.values->chip) : what.chip);
  std::vector<Finding> refusals;
  if (!chip.empty()) {
    const Lowered lowered = lower_all(operands);
    const auto alone = lowered.state().compilable->alone();
    auto found = tpu::refusalsOf(lowered.state().package(), chip);
    SourceLocationScope place(state_->at);
    if (!found) lang::refuse(std::move(found.error()));
    for (Diagnostic& d : *found) refusals.push_back({std::move(d)});
  }
  auto report = state_->execute(operands, settings, lang::Purpose::check);
  report.findings.insert(report.findings.begin(), std::make_move_iterator(refusals.begin()),
                         std::make_move_iterator(refusals.end()));
  for (Finding& f : report.findings) showSource(f.diagnostic);
  return report;
}

RunReport PallasCall::State::execute(std::vector<Operand> given, const ActiveSettings& settings,
                                     lang::Purpose purpose) {
  const auto executable = this->executable(arrays(given), settings, purpose);
  auto report = executable->execute(operands(given, [](Operand& o) { return o.take(); }));
  raiseError(report);
  restoreBools(report->results);
  return std::move(*report);
}

Executable PallasCall::compile_all(const std::vector<Operand>& operands) const {
  requireAlive();
  const ActiveSettings& settings = chosen_ ? chosen_->settings : activeSettings();
  auto executable = state_->executable(state_->arrays(operands), settings, lang::Purpose::call);
  return Executable(state_->asCalled(std::move(executable), operands));
}

std::vector<Array> PallasCall::module_operands(const std::vector<Operand>& operands) const {
  return state_->operands(operands);
}

Lowered PallasCall::lower_all(const std::vector<Operand>& operands) const {
  const lang::LockedWork work(state_->mutex);
  return Lowered(state_->signature(state_->arrays(operands)).lowered);
}

Lowered PallasCall::lower_all(std::initializer_list<Operand> operands) const {
  return lower_all(std::vector<Operand>(operands));
}

Lowered::Lowered(const Lowered&) = default;
Lowered::Lowered(Lowered&&) noexcept = default;
Lowered& Lowered::operator=(const Lowered&) = default;
Lowered& Lowered::operator=(Lowered&&) noexcept = default;
Lowered::~Lowered() = default;
std::string Lowered::traced() const { return lang::print(state_->kernel); }
std::string Lowered::mosaic(bool generic) const {
  requireAlive();
  const auto alone = state_->compilable->alone();
  return lang::backend().mosaicText(state_->package(), generic);
}
Result<std::string> Lowered::bytecode(int version) const {
  if (Status ok = legal(); !ok) return fail(std::move(ok.error()));
  const auto alone = state_->compilable->alone();
  return lang::backend().exportBytecode(state_->package(), version);
}
Result<std::string> Lowered::stablehlo(int version) const {
  if (Status ok = legal(); !ok) return fail(std::move(ok.error()));
  const auto alone = state_->compilable->alone();
  return lang::backend().exportStablehlo(*state_->program, version);
}
Status Lowered::legal(std::string_view chip) const {
  if (Status alive = checkAlive(); !alive) return alive;
  const auto checked = [&] {
    const auto alone = state_->compilable->alone();
    return tpu::checkLegal(state_->package(), chip);
  };
  Status status = checked();
  if (status) return status;
  showSource(status.error());
  for (Diagnostic& d : status.error().related) showSource(d);
  return status;
}
Status lang::withPackage(const Lowered& lowered, const std::function<Status(const KernelPackage&)>& work) {
  if (Status alive = checkAlive(); !alive) return alive;
  const auto alone = lowered.state().compilable->alone();
  return work(lowered.state().package());
}
CostEstimate Lowered::cost() const { return state_->kernel.cost; }

int64_t next_power_of_2(int64_t x) {
  int64_t p = 1;
  while (p < x) p *= 2;
  return p;
}

std::vector<int64_t> strides_from_shape(const Shape& shape) { return rowMajorStrides(shape); }

}  // namespace smalti
