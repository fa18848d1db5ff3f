// Every observer of the machine is looked after by native code: what it finds there is found here, too, or left to it.
#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "../../machine/runtime/TextKernel.h"
#include "base/Options.h"
#include "cpu/CheckedKernel.h"
#include "machine/observers/Registry.h"

namespace smalti::cpu::testing {
namespace {

using namespace machine::testing;
using machine::ObserverRow;

struct Mistake {
  TextKernel kernel;
  std::vector<Array> inputs;
};

Spec rows(const std::string& map) { return {.array = {4, 128}, .block = {1, 128}, .map = map + ", %c0"}; }
Array ramp() { return counting({4, 128}); }

/// The sum over the steps in an output window that nobody sets to zero.
Mistake undefinedSum() {
  TextKernel k({4});
  const Val x = k.input(rows("%i")), o = k.output({.array = {1, 128}, .block = {1, 128}, .map = "%c0, %c0"});
  k.store(k.binary("arith.addf", k.load(o), k.load(x)), o);
  return {std::move(k), {ramp()}};
}

/// Blocks 0, 1, 0, 1 of the output.
Mistake revisit() {
  TextKernel k({2, 2});
  const Val o = k.output({.array = {2, 128}, .block = {1, 128}, .map = "%j, %c0"});
  k.store(k.splat(k.f32(1), {1, 128}), o);
  return {std::move(k), {}};
}

Mistake leftOver() {
  TextKernel k;
  k.semSignal(k.semaphore(), k.constant(1));
  const Val o = k.output({.array = {1, 128}, .block = {1, 128}, .map = "%c0, %c0"});
  k.store(k.splat(k.f32(1), {1, 128}), o);
  return {std::move(k), {}};
}

Mistake readInFlight() {
  TextKernel k;
  const Val x = k.input({.array = {4, 128}, .space = "any"}), o = k.output({.array = {4, 128}});
  const Val v = k.scratch("f32", {4, 128}), sem = k.dmaSemaphore();
  k.store(k.splat(k.f32(1), {4, 128}), v);
  k.dma(x, v, sem);
  k.store(k.load(v), o);
  k.waitDma(x, v, sem);
  return {std::move(k), {ramp()}};
}

Mistake neverWaited() {
  TextKernel k;
  const Val x = k.input({.array = {4, 128}, .space = "any"}), o = k.output({.array = {4, 128}});
  k.dma(x, k.scratch("f32", {4, 128}), k.dmaSemaphore());
  k.store(k.splat(k.f32(1), {4, 128}), o);
  return {std::move(k), {ramp()}};
}

/// x[i + 1] = x[i] + 1 in place.
Mistake chain() {
  TextKernel k({3});
  const Val x = k.input(rows("%i"));
  Spec next = rows("%r");
  next.lines = "%r = arith.addi %i, %c1 : i32";
  const Val o = k.output(next);
  k.store(k.binary("arith.addf", k.load(x), k.splat(k.f32(1), {1, 128})), o);
  k.alias(0, 0);
  return {std::move(k), {ramp()}};
}

/// Each row to where the next one is.
Mistake shiftInPlace() {
  TextKernel k;
  const Val x = k.input({.array = {4, 128}, .space = "any"}), o = k.output({.array = {4, 128}});
  const Val v = k.scratch("f32", {4, 128}), sem = k.dmaSemaphore();
  k.dma(x, v, sem);
  k.waitDma(x, v, sem);
  const Val zero = k.constant(0), one = k.constant(1);
  const Val from = k.slice(v, {zero, zero}, {3, 128}), to = k.slice(v, {one, zero}, {3, 128});
  k.dma(from, to, sem);
  k.waitDma(from, to, sem);
  k.store(k.load(v), o);
  return {std::move(k), {ramp()}};
}

/// By the observer's name. Whoever adds an observer adds what it finds.
const std::map<std::string_view, Mistake (*)()>& mistakes() {
  static const std::map<std::string_view, Mistake (*)()> kMistakes{
      {"initialisation", undefinedSum},
      {"revisits", revisit},
      {"semaphores", leftOver},
      {"races", readInFlight},
      {"unwaited-copies", neverWaited},
      {"overtaking", chain},
      {"overlapping-copies", shiftInPlace},
  };
  return kMistakes;
}

TEST(Observers, EachFindsItsMistakeAndNativeCodeDoesNotPassItOver) {
  for (const ObserverRow& row : machine::observerRows()) {
    ASSERT_TRUE(mistakes().contains(row.name)) << row.name << " has no mistake here that it finds";
    const Mistake mistake = mistakes().at(row.name)();
    machine::MachineOptions options;
    options.checks = {&row};
    const auto found = runOn(mistake.kernel, {mistake.inputs}, options);
    ASSERT_TRUE(found) << row.name << ": " << found.error().str();
    EXPECT_FALSE(found->findings.empty()) << row.name << " finds nothing";
    if (row.onCpu == machine::OnCpu::machine) continue;  // the driver sees to it
    const KernelPackage package = mistake.kernel.package();
    const auto checked = compileChecked(package, {});
    ASSERT_TRUE(checked) << row.name << ": " << checked.error().str();
    if (!checked->kernel) continue;  // the machine judges it
    const auto judged = checked->kernel->call(mistake.inputs, 1);
    ASSERT_TRUE(judged) << row.name << ": " << judged.error().str();
    EXPECT_FALSE(judged->has_value()) << row.name << ": native code says that nothing is wrong";
  }
}

TEST(Observers, EachHasAnOptionAndEachSwitchAnObserver) {
  std::map<std::string_view, int> switches;
  for (const OptionRow& row : optionRows())
    if (std::holds_alternative<CheckSwitch>(row.field)) switches[row.name] = 0;
  for (const ObserverRow& row : machine::observerRows()) {
    ASSERT_TRUE(switches.contains(row.option)) << row.name << ": there is no option " << row.option;
    ++switches[row.option];
  }
  for (const auto& [name, observers] : switches) EXPECT_GT(observers, 0) << name << " switches nothing";
}

TEST(Observers, ASwitchThatIsOffTakesItsObserversAway) {
  const auto names = [](const std::vector<const ObserverRow*>& rows) {
    std::vector<std::string_view> all;
    for (const ObserverRow* row : rows) all.push_back(row->name);
    return all;
  };
  const auto without = names(machine::checksOf([](std::string_view option) { return option != "check-dma"; }));
  EXPECT_EQ(without.size() + 2, machine::allChecks().size());
  EXPECT_EQ(std::ranges::count(without, "unwaited-copies") + std::ranges::count(without, "overtaking"), 0);
}

}  // namespace
}  // namespace smalti::cpu::testing
