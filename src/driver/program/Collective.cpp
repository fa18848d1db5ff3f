// Ops of several devices: what each lane receives from the others.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "driver/program/ProgramRunner.h"
#include "ir/Exchange.h"

namespace smalti::driver {
namespace {

/// Devices that wait for others which never come here.
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

Status ProgramRunner::runCollective(const Function& f, const Op& op, Lanes lanes, plain::CollectiveEvaluator evaluate) {
  auto exchange = exchangeOf({op, f}, static_cast<int64_t>(allLanes_));
  if (!exchange) return fail(std::move(exchange.error()));
  std::vector<Lane*> laneOf(allLanes_, nullptr);
  SentByDevice sent(allLanes_);
  for (Lane* lane : lanes) {
    laneOf[static_cast<size_t>(lane->device)] = lane;
    sent[static_cast<size_t>(lane->device)] = takeOperands(op, *lane);
  }
  if (shared_)
    if (Status ok = gatherSent(f, op, *exchange, sent); !ok) return ok;
  std::vector<ArrayType> types;
  for (const ValueId v : op.results) types.push_back(f.values[v]);

  std::vector<std::vector<int64_t>> receivers(exchange->senders.size());
  for (size_t d = 0; d < allLanes_; ++d)
    if (exchange->from[d] >= 0) receivers[static_cast<size_t>(exchange->from[d])].push_back(static_cast<int64_t>(d));
  std::vector<std::pair<Lane*, std::vector<Array>>> received;  // stored when everybody has sent
  for (size_t g = 0; g < receivers.size(); ++g) {
    const std::vector<int64_t>& senders = exchange->senders[g];
    std::erase_if(receivers[g], [&](int64_t d) { return !share_.holds(d); });
    if (receivers[g].empty()) continue;
    std::vector<int64_t> together = senders;
    together.insert(together.end(), receivers[g].begin(), receivers[g].end());
    std::sort(together.begin(), together.end());
    together.erase(std::unique(together.begin(), together.end()), together.end());
    const auto present = std::count_if(together.begin(), together.end(), [&](auto d) { return sent[d].has_value(); });
    // Where the compiler splits some axes, one lane stands for all devices along them: those of number 0 there.
    if (present == 0) continue;
    if (present < static_cast<int64_t>(together.size())) return fail(notAllHere(op, together, sent));

    std::vector<std::vector<Array>> ofSenders;
    for (const int64_t d : senders) ofSenders.push_back(std::move(*sent[static_cast<size_t>(d)]));
    Lane* first = laneOf[static_cast<size_t>(receivers[g][0])];
    plain::CollectiveCall call{
        op, f, ofSenders, types, compiled_.numerics, [first](ValueId v) -> const Array& { return first->values[v]; }};
    auto results = evaluate(call);
    if (!results) return fail(std::move(results.error()));
    for (const int64_t d : receivers[g]) {
      const auto place = results->size() == 1 ? 0 : std::find(senders.begin(), senders.end(), d) - senders.begin();
      received.emplace_back(laneOf[static_cast<size_t>(d)], (*results)[static_cast<size_t>(place)]);
    }
  }
  for (Lane* lane : lanes)
    if (exchange->from[static_cast<size_t>(lane->device)] < 0) {
      auto zeros = zerosOf(types);
      if (!zeros) return fail(std::move(zeros.error()));
      received.emplace_back(lane, std::move(*zeros));
    }
  for (auto& [lane, results] : received) store(op, *lane, std::move(results));
  return {};
}

}  // namespace smalti::driver
