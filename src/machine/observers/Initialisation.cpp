// SM4101, SM4102: harmful reads of undefined memory. Reading it is not a finding (JAX loads the old value before every
// store); what counts is an undefined element that reaches an output, an address, a branch or a semaphore.
#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "machine/observers/Checker.h"
#include "machine/observers/Region.h"

namespace smalti::machine {
namespace {

std::string_view useText(UndefinedUse use) {
  switch (use) {
    case UndefinedUse::address:
      return "is used as an address";
    case UndefinedUse::branch:
      return "decides a branch";
    case UndefinedUse::semaphore:
      return "is the amount of a semaphore operation";
    case UndefinedUse::output:
      return "reaches an output";
    case UndefinedUse::dmaSize:
      return "decides the size of a copy";
    case UndefinedUse::gridBound:
      return "is a bound of the grid";
  }
  return "is used";
}

std::vector<int64_t> indexOf(int64_t at, const Shape& shape) {
  std::vector<int64_t> index(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    index[d] = at % shape[d];
    at /= shape[d];
  }
  return index;
}

class InitialisationChecker final : public Checker {
 public:
  using Checker::Checker;
  Interest interest() const override { return {.initialisation = true}; }

  /// Records the first reads of undefined elements: the likely causes when an output is undefined.
  void access(const Actor& actor, const MemoryAccess& access) override {
    const bool reads = access.kind == MemoryAccess::Kind::load || access.kind == MemoryAccess::Kind::atomic;
    if (!reads || (access.ref->buffer->allDefined && !access.outside) || !access.place) return;
    if (reads_.size() >= kMaxReads || seen_.contains({access.ref->buffer, access.place})) return;
    const auto region = regionOf(access);
    const bool undefinedInside = region && anyUndefined(*region);
    if (!undefinedInside && !access.outside) return;
    seen_.insert({access.ref->buffer, access.place});
    remember(actor, *access.ref->buffer, *access.place, !undefinedInside);
  }

  void dmaStart(const Actor& actor, const DmaTransfer& t) override {
    if (t.source.buffer->allDefined || reads_.size() >= kMaxReads) return;
    const auto region = regionOf(t.source);
    if (region && anyUndefined(*region)) remember(actor, *t.source.buffer, t.place);
  }

  void undefinedUse(const Actor& actor, UndefinedUse use, const SourcePlace& place, const std::string& what) override {
    context_.findings->add({.code = "SM4101",
                            .message = fmt::format("a value from uninitialised memory {}: {}", useText(use), what),
                            .place = place,
                            .where = context_.where(actor),
                            .help = "write the memory before it is read: scratch, output windows and the part of an "
                                    "edge block outside the array start undefined"});
  }

  void runEnd(Runtime& runtime) override {
    const int first = context_.kernel->numInputs();
    for (const int device : runtime.devicesHere())
      for (size_t i = first; i < context_.kernel->operands.size(); ++i)
        output(runtime, device, context_.kernel->operands[i], *runtime.devices[device].arrays[i]);
  }

 private:
  static constexpr size_t kMaxReads = 100;
  struct Read {
    int device = 0;
    std::string buffer;
    SourcePlace place;
    std::vector<int32_t> step;
    bool outsideRef = false;  ///< only because it reaches outside the ref
  };

  void remember(const Actor& actor, const Buffer& buffer, const SourcePlace& place, bool outsideRef = false) {
    reads_.push_back({actor.device, buffer.name, place, {actor.gridStep.begin(), actor.gridStep.end()}, outsideRef});
  }

  /// Whether the memory belongs to an input all of whose elements are defined: others of its blocks are padding.
  bool isDefinedInput(const Runtime& runtime, int device, const std::string& buffer) const {
    for (int i = 0; i < context_.kernel->numInputs(); ++i)
      if (context_.kernel->operands[i].name == buffer) return runtime.devices[device].arrays[i]->allDefined;
    return false;
  }

  std::string_view outsideText(const Runtime& runtime, const Read& r) const {
    if (r.outsideRef) return " outside the ref";
    return isDefinedInput(runtime, r.device, r.buffer) ? " outside its array" : "";
  }

  /// "; undefined elements were read from scratch 0 at f.py:7:3 in grid step (0)", for the first few.
  std::string readsText(const Runtime& runtime, int device) const {
    constexpr size_t kShown = 3;
    std::vector<std::string> texts;
    for (const Read& r : reads_) {
      if (r.device != device || texts.size() == kShown) continue;
      texts.push_back(fmt::format("{}{}{}{}", r.buffer, outsideText(runtime, r),
                                  r.place.known() ? " at " + r.place.str() : "",
                                  r.step.empty() ? "" : fmt::format(" in grid step ({})", fmt::join(r.step, ", "))));
    }
    return texts.empty() ? "" : fmt::format("; undefined elements were read from {}", fmt::join(texts, ", "));
  }

  SourcePlace firstRead(int device) const {
    for (const Read& r : reads_)
      if (r.device == device) return r.place;
    return {};
  }

  void output(const Runtime& runtime, int device, const OperandPlan& plan, const Buffer& array) {
    if (array.allDefined || runtime.options.semantics == Semantics::hlo) return;
    const auto undefined = std::count(array.defined.begin(), array.defined.end(), 0);
    if (undefined == 0) return;
    const auto at = std::find(array.defined.begin(), array.defined.end(), 0) - array.defined.begin();
    context_.findings->add(
        {.code = "SM4102",
         .message = fmt::format("{} depends on uninitialised memory", plan.name),
         .place = firstRead(device).known() ? firstRead(device) : plan.mapPlace,
         .where = context_.where(Actor{device, 0, {}}),
         .need =
             fmt::format("all {} elements of {} written from defined values", plan.array.elements(), plan.array.str()),
         .have = fmt::format("{} undefined element(s), the first at [{}]{}", undefined,
                             fmt::join(indexOf(at, array.type.shape), ", "), readsText(runtime, device)),
         .help = onlyReadsOutside(device)
                     ? "clamp the index of the read, or select other values in place of the elements "
                       "outside"
                     : "visit every block of the output, and initialise windows and scratch at "
                       "the first step that uses them, as under pl.when(k == 0)"});
  }

  bool onlyReadsOutside(int device) const {
    const auto isOfDevice = [&](const Read& r) { return r.device == device; };
    return std::ranges::any_of(reads_, isOfDevice) &&
           std::ranges::all_of(reads_, [&](const Read& r) { return !isOfDevice(r) || r.outsideRef; });
  }

  std::vector<Read> reads_;
  std::set<std::pair<const Buffer*, const SourcePlace*>> seen_;
};

}  // namespace

std::unique_ptr<Checker> makeInitialisationChecker(CheckContext context) {
  return std::make_unique<InitialisationChecker>(context);
}

}  // namespace smalti::machine
