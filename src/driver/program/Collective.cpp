// Ops of several devices: what each device receives from the others.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/Success.h"
#include "cpu/runtime/Pool.h"
#include "driver/program/ProgramRunner.h"

namespace smalti::driver {
namespace {

/// Devices that wait for others which never reach this op.
Diagnostic notAllHere(const Op& op, const std::vector<int64_t>& together,
                      const std::vector<std::optional<std::vector<Array>>>& sent) {
  std::vector<int64_t> here, absent;
  for (const int64_t d : together) (sent[static_cast<size_t>(d)] ? here : absent).push_back(d);
  return {.code = "SM5009",
          .message = fmt::format("{} is reached by some of its devices only", op.name),
          .place = op.place,
          .need = fmt::format("devices {} together", fmt::join(together, ", ")),
          .have = fmt::format("device {}, without {}", fmt::join(here, ", "), fmt::join(absent, ", ")),
          .help = "let the devices of a group take the same branch, and run loops equally often"};
}

Result<std::vector<Array>> zerosOf(const std::vector<ArrayType>& types) {
  std::vector<Array> zeros;
  for (const ArrayType& type : types) {
    auto array = Array::allocate(type);
    if (!array) return fail(std::move(array.error()));
    std::memset(array->data(), 0, static_cast<size_t>(array->bytes()));
    zeros.push_back(std::move(*array));
  }
  return zeros;
}

}  // namespace

Status ProgramRunner::runAmongAll(const Function& f, const Step& step, const CollectivePlan& plan,
                                  DeviceStates states) {
  std::vector<std::vector<Array>>& sent = takeAllOperands(step, states);
  DeviceState* const first = states[0];
  plain::CollectiveCall call{*step.op,
                             f,
                             sent,
                             plan.results,
                             compiled_.numerics,
                             [first](ValueId v) -> const Array& { return first->values[v]; },
                             shareWork(),
                             plan.reducer,
                             &program_};
  auto results = step.exchange(call);
  for (std::vector<Array>& ofDevice : sent) ofDevice.clear();
  if (!results) return fail(std::move(results.error()));
  const bool each = results->size() > 1;
  for (size_t d = 0; d < states.size(); ++d)
    for (size_t r = 0; r < step.results.size(); ++r)
      states[d]->values[step.results[r]] = each ? std::move((*results)[d][r]) : (*results)[0][r];
  return success();
}

Status ProgramRunner::runCollective(const Function& f, const Step& step, DeviceStates states) {
  const Op& op = *step.op;
  std::optional<CollectivePlan> made;
  const CollectivePlan* plan = compiled_.plans.collective(op, static_cast<int64_t>(allDevices_));
  if (!plan) {
    auto planned = planCollective(f, op, static_cast<int64_t>(allDevices_));
    if (!planned) return fail(std::move(planned.error()));
    plan = &made.emplace(std::move(*planned));
  }
  if (plan->amongAll && !shared_ && states.size() == allDevices_) return runAmongAll(f, step, *plan, states);
  std::vector<DeviceState*> stateOf(allDevices_, nullptr);
  SentByDevice sent(allDevices_);
  for (DeviceState* state : states) {
    stateOf[static_cast<size_t>(state->device)] = state;
    sent[static_cast<size_t>(state->device)] = takeOperands(step, *state);
  }
  if (shared_)
    if (Status ok = gatherSent(f, op, plan->exchange, sent); !ok) return ok;

  std::vector<std::pair<DeviceState*, std::vector<Array>>> received;  // stored when everybody has sent
  for (size_t g = 0; g < plan->receivers.size(); ++g) {
    const std::vector<int64_t>& senders = plan->exchange.senders[g];
    const auto first = std::ranges::find_if(plan->receivers[g], [&](int64_t d) { return share_.holds(d); });
    if (first == plan->receivers[g].end()) continue;
    // Receivers in other processes are handled by those processes.
    std::vector<int64_t> ofHere;
    const std::vector<int64_t>& together = shared_ ? ofHere : plan->together[g];
    for (const int64_t d : plan->together[g])
      if (shared_ && (share_.holds(d) || std::ranges::find(senders, d) != senders.end())) ofHere.push_back(d);
    const auto present = std::ranges::count_if(together, [&](auto d) { return sent[d].has_value(); });
    // If the compiler splits some axes, the devices with index 0 along them represent all devices along them.
    if (present == 0) continue;
    if (present < static_cast<int64_t>(together.size())) return fail(notAllHere(op, together, sent));

    std::vector<std::vector<Array>> senderArrays;
    senderArrays.reserve(senders.size());
    for (const int64_t d : senders) senderArrays.push_back(std::move(*sent[static_cast<size_t>(d)]));
    DeviceState* state = stateOf[static_cast<size_t>(*first)];
    plain::CollectiveCall call{op,
                               f,
                               senderArrays,
                               plan->results,
                               compiled_.numerics,
                               [state](ValueId v) -> const Array& { return state->values[v]; },
                               shareWork(),
                               plan->reducer,
                               &program_};
    auto results = step.exchange(call);
    if (!results) return fail(std::move(results.error()));
    for (const int64_t d : plan->receivers[g]) {
      if (!share_.holds(d)) continue;
      const auto place = results->size() == 1 ? 0 : std::ranges::find(senders, d) - senders.begin();
      received.emplace_back(stateOf[static_cast<size_t>(d)], (*results)[static_cast<size_t>(place)]);
    }
  }
  for (DeviceState* state : states)
    if (plan->exchange.from[static_cast<size_t>(state->device)] < 0) {
      auto zeros = zerosOf(plan->results);
      if (!zeros) return fail(std::move(zeros.error()));
      received.emplace_back(state, std::move(*zeros));
    }
  for (auto& [state, results] : received) store(step, *state, std::move(results));
  return success();
}

plain::ShareWork ProgramRunner::shareWork() const {
  const int threads = settings_.threads;
  return [threads](int64_t points, const std::function<void(int64_t, int64_t)>& work) {
    cpu::parallelFor(points, threads, [&](int64_t first, int64_t last, int) { work(first, last); });
  };
}

}  // namespace smalti::driver
