// jit: one trace and one program per signature, kept.
#include <algorithm>
#include <mutex>

#include <fmt/format.h>

#include "base/ArrayPiece.h"
#include "base/Settings.h"
#include "lang/call/Backend.h"
#include "lang/call/Report.h"
#include "lang/call/TraceProgram.h"
#include "lang/call/Work.h"
#include "lang/debug/Debug.h"
#include "lang/fuse/Fuse.h"
#include "lang/print/Print.h"
#include "lang/trace/HasValue.h"
#include "lang/trace/SourceLocationScope.h"
#include "lang/transform/Depth.h"
#include "smalti/transform.h"

namespace smalti {

using lang::SourceLocationScope;

struct TracedProgram::State {
  std::shared_ptr<const Program> program;
  std::string text;
  std::shared_ptr<lang::Compilable> compilable;
  lang::TracedFunction traced;
  std::once_flag fuses;
  std::shared_ptr<lang::Compilable> fused;  ///< with groups of its plain ops as kernels

  /// The program for a target: targets with native code get the fused one.
  lang::Compilable& forTarget(const Options& options) {
    if (!options.target.starts_with("cpu") || options.check) return *compilable;
    std::call_once(fuses, [&] {
      fused = lang::backend().prepare(std::make_shared<Program>(lang::programOf(lang::fused(traced))));
    });
    return *fused;
  }
};

namespace detail {
class JitState {
 public:
  struct Given {
    ArrayType type;
    bool weak;
  };
  struct Entry {
    std::type_index types;
    std::vector<Given> arguments;
    std::vector<Static> statics;
    std::shared_ptr<TracedProgram::State> traced;
    std::shared_ptr<const void> structure;
    bool debugChecks = lang::debugChecksEnabled(), poison = lang::poisonBuffersEnabled();  ///< as it was traced
    uint64_t settings = 0;  ///< serial of those that `executable` was compiled with
    std::shared_ptr<const Executable::State> executable;

    bool is(const Signature& s) const {
      return types == s.types && debugChecks == lang::debugChecksEnabled() && poison == lang::poisonBuffersEnabled() &&
             std::ranges::equal(
                 arguments, s.leaves,
                 [](const Given& a, const Array& x) { return a.type == x.type() && a.weak == x.weak_type(); }) &&
             std::ranges::equal(statics, s.statics,
                                [](const Static& a, const Static& b) { return a.equal(a.value, b.value); });
    }
  };

  explicit JitState(const Location& at) : at_(at) {}

  /// The program of the signature.
  Entry& entry(const Signature& s, const LeafFunction& f,
               const std::function<std::shared_ptr<const void>()>& structure) {
    const lang::Work work;
    {
      const std::lock_guard lock(mutex_);
      for (const auto& e : entries_)
        if (e->is(s)) return *e;
    }
    const lang::Depth depth(at_);
    auto made = std::make_unique<Entry>(Entry{.types = s.types, .statics = s.statics});
    std::vector<ArrayType> types;
    for (const Array& a : s.leaves) {
      made->arguments.push_back({a.type(), a.weak_type()});
      types.push_back(a.type());
    }
    const lang::ArrayFunction weakly = [&](std::span<const Array> inside) {
      Leaves given(inside.begin(), inside.end());
      for (size_t i = 0; i < given.size(); ++i) given[i] = given[i].with_weak_type(made->arguments[i].weak);
      return f(given);
    };
    auto state = std::make_shared<TracedProgram::State>();
    state->traced = lang::traceFunction(weakly, types);
    SourceLocationScope place(at_);
    state->program = std::make_shared<Program>(lang::programOf(state->traced));
    state->text = lang::print(state->traced);
    state->compilable = lang::backend().prepare(state->program);
    made->traced = std::move(state);
    made->structure = structure();
    const std::lock_guard lock(mutex_);
    entries_.push_back(std::move(made));
    return *entries_.back();
  }

  std::shared_ptr<const Executable::State> executable(Entry& e) {
    const lang::Work work;
    const ActiveSettings& settings = activeSettings();
    {
      const std::lock_guard lock(mutex_);
      if (e.executable && e.settings == settings.serial) return e.executable;
    }
    auto compiled = settings.values
                        ? e.traced->forTarget(*settings.values).compile(*settings.values, lang::Purpose::call)
                        : fail(settings.values.error());
    if (!compiled) {
      SourceLocationScope place(at_);
      lang::refuse(std::move(compiled.error()));
    }
    const std::lock_guard lock(mutex_);
    e.settings = settings.serial;
    e.executable = *compiled;
    return *compiled;
  }

  const Location& at() const { return at_; }

 private:
  Location at_;
  std::mutex mutex_;                             ///< of the entries; not held while a function is traced
  std::vector<std::unique_ptr<Entry>> entries_;  ///< none is ever removed
};

std::shared_ptr<JitState> make_jit(const Location& at) { return std::make_shared<JitState>(at); }

Leaves call_jit(const std::shared_ptr<JitState>& state, Signature s, const LeafFunction& f,
                const std::function<std::shared_ptr<const void>()>& structure, std::shared_ptr<const void>& kept) {
  if (!lang::Tracer::isEager()) {
    const lang::Depth depth(state->at());
    Leaves results = f(s.leaves);
    kept = structure();
    return results;
  }
  for (const Array& a : s.leaves) {
    if (!a.is_traced() && a.data()) continue;
    SourceLocationScope place(state->at());
    lang::checkConcrete(a);
  }
  JitState::Entry& e = state->entry(s, f, structure);
  const auto executable = state->executable(e);
  kept = e.structure;
  Leaves borrowed;  // it never writes to memory that it does not own
  for (const Array& a : s.leaves)
    if (ownerOf(a).get() != a.data()) borrowed.push_back(a);
  auto report = executable->execute(std::move(s.leaves));
  if (!report) {
    SourceLocationScope place(state->at());
    lang::refuse(std::move(report.error()));
  }
  return lang::printAndTakeResults(std::move(*report));
}

TracedProgram lower_jit(const std::shared_ptr<JitState>& state, const Signature& s, const LeafFunction& f,
                        const std::function<std::shared_ptr<const void>()>& structure) {
  return TracedProgram(state->entry(s, f, structure).traced);
}

}  // namespace detail

Result<std::string> TracedProgram::stablehlo(int version) const {
  if (Status alive = checkAlive(); !alive) return fail(std::move(alive.error()));
  const auto alone = state_->compilable->alone();
  return lang::backend().exportStablehlo(*state_->program, version);
}
std::string TracedProgram::text() const { return state_->text; }

}  // namespace smalti
