// SM4101, SM4102: undefined memory that matters. Reading it is no finding (JAX loads the old value before every store);
// what counts is an undefined element that reaches an output, an address, a branch or a semaphore.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "machine/observers/Checker.h"

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
    for (int device = 0; device < runtime.numDevices; ++device)
      for (size_t i = first; i < context_.kernel->operands.size(); ++i)
        output(runtime, device, context_.kernel->operands[i], *runtime.devices[device].arrays[i]);
  }

 private:
  void output(const Runtime& runtime, int device, const OperandPlan& plan, const Buffer& array) {
    if (array.allDefined || runtime.options.semantics == Semantics::hlo) return;
    const auto undefined = std::count(array.defined.begin(), array.defined.end(), 0);
    if (undefined == 0) return;
    const auto at = std::find(array.defined.begin(), array.defined.end(), 0) - array.defined.begin();
    context_.findings->add({.code = "SM4102",
                            .message = fmt::format("{} depends on uninitialised memory", plan.name),
                            .place = {},
                            .where = context_.where(Actor{device, 0, {}}),
                            .need = fmt::format("all {} elements of {} written from defined values",
                                                plan.array.elements(), plan.array.str()),
                            .have = fmt::format("{} undefined element(s), the first at [{}]", undefined,
                                                fmt::join(indexOf(at, array.type.shape), ", ")),
                            .help = "visit every block of the output, and initialise windows and scratch at the "
                                    "first step that uses them, as under pl.when(k == 0)"});
  }
};

}  // namespace

std::unique_ptr<Checker> makeInitialisationChecker(CheckContext context) {
  return std::make_unique<InitialisationChecker>(context);
}

}  // namespace smalti::machine
