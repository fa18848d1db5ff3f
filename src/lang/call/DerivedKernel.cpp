#include "lang/call/DerivedKernel.h"

#include "base/Settings.h"
#include "lang/call/Backend.h"
#include "lang/call/Report.h"
#include "lang/call/Work.h"
#include "lang/lower/Lower.h"
#include "lang/trace/HasValue.h"
#include "lang/trace/SourceLocationScope.h"
#include "smalti/error.h"

namespace smalti::lang {

/// The state shared by calls of one derived kernel.
struct DerivedKernels::Made {
  TracedKernel kernel;
  std::shared_ptr<const Program> program;
  std::shared_ptr<Compilable> compilable;
  DerivedKernels derived;
  std::mutex mutex;
  uint64_t settings = 0;
  std::shared_ptr<const Executable::State> executable;

  std::shared_ptr<const Executable::State> compiled(const ActiveSettings& chosen) {
    const LockedWork work(mutex);
    if (executable && settings == chosen.serial) return executable;
    auto made = chosen.values ? compilable->compile(*chosen.values, Purpose::call) : fail(chosen.values.error());
    if (!made) refuse(std::move(made.error()));
    settings = chosen.serial;
    executable = *made;
    return executable;
  }
};

class DerivedKernels::Derived : public CalledKernel {
 public:
  Derived(std::shared_ptr<Made> made, std::shared_ptr<const ActiveSettings> settings)
      : made_(std::move(made)), settings_(std::move(settings)) {}

  const TracedKernel& traced() const override { return made_->kernel; }
  KernelPackage package() const override {
    const auto alone = made_->compilable->alone();
    return made_->program->kernels[0].copy();
  }
  std::vector<Array> call(std::span<const Array> operands) const override {
    for (const Array& a : operands) checkConcrete(a);
    const auto executable = made_->compiled(settings_ ? *settings_ : activeSettings());
    auto report = executable->execute({operands.begin(), operands.end()});
    if (!report) refuse(std::move(report.error()));
    return printAndTakeResults(std::move(*report));
  }
  DerivedKernels& derived() const override { return made_->derived; }
  std::shared_ptr<const ActiveSettings> settings() const override { return settings_; }

 private:
  std::shared_ptr<Made> made_;
  std::shared_ptr<const ActiveSettings> settings_;
};

std::shared_ptr<const CalledKernel> DerivedKernels::get(const CalledKernel& origin, const std::string& key,
                                                        const std::function<TracedKernel()>& make) {
  const LockedWork work(mutex_);
  std::shared_ptr<Made>& made = made_[key];
  if (!made) {
    auto fresh = std::make_shared<Made>();
    fresh->kernel = make();
    fresh->program = std::make_shared<Program>(wrap(lowerKernel(fresh->kernel)));
    fresh->compilable = backend().prepare(fresh->program);
    made = std::move(fresh);
  }
  return std::make_shared<Derived>(made, origin.settings());
}

std::vector<ArrayType> resultsOf(const TracedKernel& kernel) {
  std::vector<ArrayType> types;
  for (size_t i = kernel.numInputs; i < kernel.operands.size(); ++i) {
    types.push_back(kernel.operands[i].array);
    if (types.back().dtype == DType::pred) types.back().dtype = DType::i32;
  }
  return types;
}

}  // namespace smalti::lang
