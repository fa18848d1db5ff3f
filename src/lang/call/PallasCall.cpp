// The function of arrays that pallas_call gives: one trace and one compilation per signature.
#include "smalti/pallas_call.h"

#include <algorithm>
#include <cstdio>
#include <mutex>

#include <fmt/format.h>

#include "base/Source.h"
#include "base/Text.h"
#include "ir/Legality.h"
#include "lang/call/Backend.h"
#include "lang/call/CalledKernel.h"
#include "lang/call/Specs.h"
#include "lang/call/TraceKernel.h"
#include "lang/debug/Debug.h"
#include "lang/lower/Lower.h"
#include "lang/ops/Support.h"
#include "lang/print/Print.h"
#include "lang/trace/HasValue.h"
#include "lang/trace/Place.h"

namespace smalti {

using lang::AtPlace;

struct Lowered::State {
  lang::TracedKernel kernel;
  Program program;
  const KernelPackage& package() const { return program.kernels[0]; }
};

namespace {

/// A call may be lowered on one thread and compiled on another, in the first one's context, which is not locked.
std::mutex& mlirMutex() {
  static std::mutex mutex;
  return mutex;
}

Result<std::shared_ptr<const lang::Executable>> compileOne(const KernelPackage& package, lang::Purpose purpose) {
  const std::lock_guard inMlir(mlirMutex());
  return lang::compile(package, purpose);
}

}  // namespace

struct PallasCall::State : std::enable_shared_from_this<PallasCall::State> {
  struct Compiled {
    uint64_t settings = 0;
    std::shared_ptr<const lang::Executable> executable;
  };
  struct Entry {
    std::vector<ArrayType> operands;
    bool debugChecks = false, poison = false;
    std::shared_ptr<const Lowered::State> lowered;
    Compiled forCalls, forChecks;
  };
  State(Kernel kernel, Call call, Location at) : kernel(std::move(kernel)), call(std::move(call)), at(at) {}

  Kernel kernel;
  Call call;
  Location at;
  std::mutex mutex;
  std::vector<Entry> entries;

  Entry& entry(std::span<const Operand> operands) {
    const auto is = [](const Operand& o, const ArrayType& type) { return o.array().type() == type; };
    for (Entry& e : entries)
      if (std::ranges::equal(operands, e.operands, is) && e.debugChecks == lang::debugChecksEnabled() &&
          e.poison == lang::poisonBuffersEnabled())
        return e;
    std::vector<ArrayType> types;
    for (const Operand& o : operands) types.push_back(o.array().type());
    auto lowered = std::make_shared<Lowered::State>();
    lowered->kernel = lang::traceKernel(kernel, call, at, types);
    if (call.debug)
      std::fputs(fmt::format("The kernel as traced:\n{}\n", lang::print(lowered->kernel)).c_str(), stdout);
    AtPlace place(at);
    const std::lock_guard inMlir(mlirMutex());
    try {
      lowered->program = wrap(lang::lowerKernel(lowered->kernel));
    } catch (const Error& error) {
      Diagnostic d = error.diagnostic();
      if (d.where.empty()) d.where.push_back(fmt::format("kernel '{}'", lowered->kernel.name));
      raise(std::move(d));
    }
    if (call.debug)
      std::fputs(fmt::format("The Mosaic module:\n{}\n", lang::mosaicText(lowered->package(), false)).c_str(), stdout);
    entries.push_back({types, lang::debugChecksEnabled(), lang::poisonBuffersEnabled(), std::move(lowered), {}, {}});
    return entries.back();
  }

  std::shared_ptr<const lang::Executable> executable(std::span<const Operand> operands, lang::Purpose purpose) {
    const std::lock_guard lock(mutex);
    return executable(entry(operands), purpose);
  }
  std::shared_ptr<const lang::Executable> executable(Entry& e, lang::Purpose purpose) {
    Compiled& ready = purpose == lang::Purpose::check ? e.forChecks : e.forCalls;
    const uint64_t now = lang::settingsSerial();
    if (!ready.executable || ready.settings != now) {
      auto compiled = compileOne(e.lowered->package(), purpose);
      if (!compiled) {
        AtPlace place(at);
        lang::refuse(std::move(compiled.error()));
      }
      ready = {now, std::move(*compiled)};
    }
    return ready.executable;
  }

  const std::vector<GridDim>& grid() const { return call.grid_spec ? call.grid_spec->grid : call.grid; }
  /// How many of a call's operands are grid sizes; error SM6221 when there are fewer, or one is no size.
  size_t sizesIn(const std::vector<Operand>& given) const {
    const auto& g = grid();
    const auto wanted = static_cast<size_t>(std::count_if(g.begin(), g.end(), [](auto& d) { return d.at_call; }));
    const auto isSize = [](const Operand& o) { return o.rank() == 0 && o.dtype() == DType::i32; };
    size_t good = 0;
    while (good < wanted && good < given.size() && isSize(given[good])) ++good;
    if (good == wanted) return wanted;
    AtPlace place(good < given.size() ? given[good].at() : at);
    lang::refuse({.code = "SM6221",
                  .message = "a call of a kernel with `dynamic` grid axes begins with their sizes",
                  .place = {},
                  .need = counted(wanted, "i32 scalar") + ", then the arrays",
                  .have = good < given.size() ? given[good].array().type().str() : counted(good, "operand"),
                  .help = "call(n, x): a size for each `dynamic` of the grid, in its order"});
  }

  /// The call as an op of what is traced.
  std::vector<Array> bound(const std::vector<Operand>& given);
  class Called;
  /// The results of a run, or its error at the call.
  std::vector<Array> finished(Result<std::vector<Array>>) const;

  /// The custom call's operands: dynamic grid bounds, then those of the user.
  std::vector<Array> operands(const std::vector<Operand>& given) const {
    std::vector<Array> arrays;
    arrays.reserve(given.size() + grid().size());
    auto next = given.begin();
    for (const GridDim& d : grid())
      if (lang::isDynamic(d)) arrays.push_back(d.dynamic ? *d.dynamic : (next++)->array());
    for (; next != given.end(); ++next) arrays.push_back(fromBool(next->array()));
    return arrays;
  }
  /// Those that the kernel is traced for; an error when there are others than a call can take.
  std::span<const Operand> arrays(const std::vector<Operand>& given) const;

  /// Memory holds a bool as an i32 (S-D10), and so do the kernel's operands and results.
  static Array fromBool(const Array& a) { return a.dtype() == DType::pred ? lang::convertTo(a, DType::i32) : a; }
  void restoreBools(std::vector<Array>& results) const {
    for (size_t i = 0; i < results.size() && i < call.out_shape.size(); ++i)
      if (call.out_shape[i].type().dtype == DType::pred) results[i] = lang::convertTo(results[i], DType::pred);
  }
};

namespace {

void checkOperand(const Operand& o) {
  const Array& array = o.array();
  if (lang::Tracer::isEager() && !array.is_traced() && array.data()) return;
  AtPlace place(o.at());
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

std::vector<size_t> IndexMap::arities() const {
  std::vector<size_t> counts;
  for (const auto& [n, call] : calls_) counts.push_back(n);
  return counts;
}
std::optional<std::vector<detail::MapEntry>> IndexMap::operator()(const std::vector<IndexArg>& arguments) const {
  for (const auto& [n, call] : calls_)
    if (n == arguments.size()) return call(arguments.data());
  return std::nullopt;
}
Array IndexArg::read(std::initializer_list<Index> index) const {
  if (!ref_.node()) {
    AtPlace place(index.begin()->at);
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
  AtPlace place(call_);
  lang::refuse({.code = "SM6201",
                .message = "a pallas_call gives another number of results",
                .place = {},
                .need = counted(wanted, "result"),
                .have = fmt::format("{}", arrays_.size()),
                .help = "take<N>() with the N of its out_shape, or results[i]"});
}
Results::operator Array() const {
  check(1);
  return arrays_[0];
}

PallasCall::PallasCall(Kernel kernel, Call call, Location at)
    : state_(std::make_shared<State>(std::move(kernel), std::move(call), at)) {}

/// A signature of a pallas_call in a traced function.
class PallasCall::State::Called : public lang::CalledKernel {
 public:
  Called(std::shared_ptr<State> call, std::shared_ptr<const Lowered::State> lowered)
      : call_(std::move(call)), lowered_(std::move(lowered)) {}

  const lang::TracedKernel& traced() const override { return lowered_->kernel; }
  KernelPackage package() const override {
    const std::lock_guard inMlir(mlirMutex());
    return lowered_->package().copy();
  }
  std::vector<Array> call(std::span<const Array> operands) const override {
    for (const Array& a : operands) lang::checkConcrete(a);
    std::shared_ptr<const lang::Executable> executable;
    {
      const std::lock_guard lock(call_->mutex);
      const auto entry = std::ranges::find(call_->entries, lowered_, &Entry::lowered);
      executable = call_->executable(*entry, lang::Purpose::call);
    }
    return call_->finished(executable->call({operands.begin(), operands.end()}));
  }

 private:
  std::shared_ptr<State> call_;
  std::shared_ptr<const Lowered::State> lowered_;
};

std::vector<Array> PallasCall::State::finished(Result<std::vector<Array>> results) const {
  if (results) return std::move(*results);
  AtPlace place(at);
  lang::refuse(std::move(results.error()));
}

std::vector<Array> PallasCall::State::bound(const std::vector<Operand>& given) {
  const std::span<const Operand> arrays = this->arrays(given);
  std::shared_ptr<const Lowered::State> lowered;
  {
    const std::lock_guard lock(mutex);
    lowered = entry(arrays).lowered;
  }
  AtPlace place(at);
  std::vector<Array> results = lang::bindKernel(std::make_shared<Called>(shared_from_this(), lowered), operands(given),
                                                lowered->package().results);
  restoreBools(results);
  return results;
}

Results PallasCall::run(const std::vector<Operand>& operands) const {
  if (!lang::Tracer::isEager()) return Results(state_->bound(operands), state_->at);
  auto results = state_->finished(
      state_->executable(state_->arrays(operands), lang::Purpose::call)->call(state_->operands(operands)));
  state_->restoreBools(results);
  return Results(std::move(results), state_->at);
}

RunReport PallasCall::check_all(const std::vector<Operand>& operands) const {
  for (const Operand& o : operands) {
    AtPlace place(o.at());
    lang::checkConcrete(o.array());
  }
  auto report = state_->executable(state_->arrays(operands), lang::Purpose::check)->run(state_->operands(operands));
  if (!report) {
    AtPlace place(state_->at);
    lang::refuse(std::move(report.error()));
  }
  state_->restoreBools(report->results);
  for (Finding& f : report->findings) showSource(f.diagnostic);
  return std::move(*report);
}

Lowered PallasCall::lower_all(const std::vector<Operand>& operands) const {
  const std::lock_guard lock(state_->mutex);
  return Lowered(state_->entry(state_->arrays(operands)).lowered);
}

std::string Lowered::traced() const { return lang::print(state_->kernel); }
std::string Lowered::mosaic(bool generic) const {
  const std::lock_guard inMlir(mlirMutex());
  return lang::mosaicText(state_->package(), generic);
}
Result<std::string> Lowered::bytecode(int version) const {
  if (Status ok = legal(); !ok) return fail(std::move(ok.error()));
  const std::lock_guard inMlir(mlirMutex());
  return lang::exportBytecode(state_->package(), version);
}
Result<std::string> Lowered::stablehlo(int version) const {
  if (Status ok = legal(); !ok) return fail(std::move(ok.error()));
  const std::lock_guard inMlir(mlirMutex());
  return lang::exportStablehlo(state_->program, version);
}
Status Lowered::legal(std::string_view chip) const {
  const auto checked = [&] {
    const std::lock_guard inMlir(mlirMutex());
    return checkLegal(state_->package(), chip);
  };
  Status status = checked();
  if (status) return status;
  showSource(status.error());
  for (Diagnostic& d : status.error().related) showSource(d);
  return status;
}
Status lang::withPackage(const Lowered& lowered, const std::function<Status(const KernelPackage&)>& work) {
  const std::lock_guard inMlir(mlirMutex());
  return work(lowered.state().package());
}
CostEstimate Lowered::cost() const { return state_->kernel.cost; }

int64_t next_power_of_2(int64_t x) {
  int64_t p = 1;
  while (p < x) p *= 2;
  return p;
}

std::vector<int64_t> strides_from_shape(const Shape& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

}  // namespace smalti
