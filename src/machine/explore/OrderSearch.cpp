#include "machine/explore/OrderSearch.h"

#include <algorithm>
#include <deque>
#include <numeric>
#include <optional>

#include "machine/DmaPolicy.h"
#include "machine/Scheduler.h"
#include "machine/Transport.h"
#include "machine/runtime/DmaEngine.h"

namespace smalti::machine {

/// The totals of the polls of one run. The parts of the machine share it.
class OrderRun {
 public:
  using Poll = OrderSearch::Poll;
  using Seen = OrderSearch::Seen;

  OrderRun(OrderSearch& search, OrderSearch::Order order) : search_(search), order_(std::move(order)) {}

  bool isPossible() const { return isPossible_; }

  void beginKernel() {
    ++kernel_;
    polls_.clear();
    raises_.clear();
    held_.clear();
    waiting_.clear();
    chosen_.reset();
  }

  bool mayPoll(int program, const SemaphoreId& semaphore) {
    const Poll poll{kernel_, program, polls_[program]};
    if (const auto known = order_.find(poll); known != order_.end()) {
      if (known->second.semaphore != semaphore) {
        isPossible_ = false;
        isNotExact();
      }
      if (!isPossible_ || totalOf(semaphore) != known->second.total) return false;
    } else if (chosen_ == poll) {
      order_[poll] = {semaphore, totalOf(semaphore)};
    } else {
      waiting_[poll] = semaphore;
      return false;
    }
    ++polls_[program];
    chosen_.reset();
    return true;
  }

  /// Whether a raise by this amount must wait for a poll whose total it would exceed.
  bool holds(const SemaphoreId& semaphore, int64_t amount) {
    const bool held = std::any_of(order_.begin(), order_.end(), [&](const auto& known) {
      return isMissing(known.first) && known.second.semaphore == semaphore &&
             totalOf(semaphore) + amount > known.second.total;
    });
    if (held) held_.insert(semaphore);
    return held;
  }
  /// `from`: the raises of one sender happen in order.
  void raised(const SemaphoreId& semaphore, const std::pair<int, int>& from, int64_t amount) {
    raises_[semaphore][from].push_back(amount);
  }

  /// When no program can continue. True: a poll has been allowed, and its other totals are orders to run.
  bool continues() {
    for (const auto& [poll, seen] : order_) {
      if (!isMissing(poll)) continue;
      isPossible_ = false;
      // Raises of other senders might give the same total: this search tries one combination only.
      if (held_.contains(seen.semaphore) && totalOf(seen.semaphore) > 0) isNotExact();
    }
    if (!isPossible_ || waiting_.empty()) return false;
    for (const auto& [poll, semaphore] : waiting_) {
      if (poll.number >= kMaxPolls) search_.isExact_ = false;
      const int64_t least = lastTotalOf(poll, semaphore);
      for (const int64_t total : possibleTotals(semaphore)) {
        if (total < least) continue;
        OrderSearch::Order other = order_;
        other[poll] = {semaphore, total};
        if (poll == waiting_.begin()->first && total == totalOf(semaphore))
          search_.known_.insert(std::move(other));  // this run
        else
          search_.add(std::move(other));
      }
    }
    chosen_ = waiting_.begin()->first;
    waiting_.erase(waiting_.begin());
    return true;
  }
  void isNotExact() { search_.isExact_ = false; }

 private:
  static constexpr int kMaxPolls = 32;  ///< of one program: more are probably a loop that waits for a count

  bool isMissing(const Poll& poll) const {
    const auto done = polls_.find(poll.program);
    return poll.kernel == kernel_ && (done == polls_.end() || done->second <= poll.number);
  }
  /// The last total in the program's polls of the semaphore before this one: totals never decrease.
  int64_t lastTotalOf(const Poll& poll, const SemaphoreId& semaphore) const {
    int64_t last = 0;
    for (const auto& [other, seen] : order_)
      if (other < poll && other.kernel == poll.kernel && other.program == poll.program && seen.semaphore == semaphore)
        last = std::max(last, seen.total);
    return last;
  }

  int64_t totalOf(const SemaphoreId& semaphore) const {
    int64_t total = 0;
    if (const auto all = raises_.find(semaphore); all != raises_.end())
      for (const auto& [from, amounts] : all->second) total = std::accumulate(amounts.begin(), amounts.end(), total);
    return total;
  }
  /// Sums over the senders of what each may have raised it by.
  std::set<int64_t> possibleTotals(const SemaphoreId& semaphore) const {
    constexpr size_t kMax = 10'000;
    std::set<int64_t> totals{0};
    const auto all = raises_.find(semaphore);
    if (all == raises_.end()) return totals;
    for (const auto& [from, amounts] : all->second) {
      std::set<int64_t> next;
      int64_t sum = 0;
      for (size_t i = 0; i <= amounts.size() && next.size() <= kMax; ++i) {
        for (const int64_t t : totals) next.insert(t + sum);
        if (i < amounts.size()) sum += amounts[i];
      }
      if (next.size() > kMax) search_.isExact_ = false;
      totals = std::move(next);
    }
    return totals;
  }

  OrderSearch& search_;
  OrderSearch::Order order_;
  int kernel_ = -1;
  std::map<int, int> polls_;  ///< number of polls of each program
  std::map<SemaphoreId, std::map<std::pair<int, int>, std::vector<int64_t>>> raises_;
  std::set<SemaphoreId> held_;  ///< semaphores of which a raise had to wait
  std::map<Poll, SemaphoreId> waiting_;
  std::optional<Poll> chosen_;
  bool isPossible_ = true;
};

namespace {

/// The order of programs does not matter: each continues as far as it can.
class InTurn final : public Scheduler {
 public:
  InTurn(std::shared_ptr<OrderRun> run, int64_t quantum) : run_(std::move(run)), quantum_(quantum) {}
  void start(std::span<const Actor> programs) override { count_ = static_cast<int>(programs.size()); }
  std::optional<Turn> next() override {
    if (at_ < count_) return Turn{at_++, quantum_};
    at_ = 0;
    return std::nullopt;
  }
  void ran(const Turn&, const TurnOutcome&) override {}

 private:
  std::shared_ptr<OrderRun> run_;
  int64_t quantum_;
  int count_ = 0, at_ = 0;
};

/// Copies complete as soon as the run allows it.
class HeldCopies final : public DmaPolicy {
 public:
  explicit HeldCopies(std::shared_ptr<OrderRun> run) : run_(std::move(run)) {}
  std::optional<size_t> choose(DmaOccasion, const DmaCandidates& candidates) override {
    for (size_t i = 0; i < candidates.size(); ++i) {
      const DmaTransfer& t = candidates[i].transfer;
      if (t.strictOrdering) run_->isNotExact();
      const bool here = t.staysHere();
      if (here && run_->holds(semaphoreIdOf(t.targetSemaphore), dmaCredit(t.targetSemaphore.view, t.bytes))) continue;
      if (!t.isLocal() && run_->holds(semaphoreIdOf(t.sourceSemaphore), dmaCredit(t.sourceSemaphore, t.bytes)))
        continue;
      // Each copy is a sender of its own: copies complete in any order.
      const std::pair<int, int> from{-1, static_cast<int>(t.id)};
      if (here) run_->raised(semaphoreIdOf(t.targetSemaphore), from, dmaCredit(t.targetSemaphore.view, t.bytes));
      if (!t.isLocal()) run_->raised(semaphoreIdOf(t.sourceSemaphore), from, dmaCredit(t.sourceSemaphore, t.bytes));
      return i;
    }
    return std::nullopt;
  }
  bool mayRefuseAll() const override { return true; }

 private:
  std::shared_ptr<OrderRun> run_;
};

/// Messages between two cores arrive in order, as soon as the run allows it.
class HeldMessages final : public Transport {
 public:
  HeldMessages(std::shared_ptr<OrderRun> run, Endpoint& endpoint) : run_(std::move(run)), endpoint_(endpoint) {}

  Status put(const PutMessage& m) override {
    Message kept{
        .put = m, .signal = {}, .data = {m.data.begin(), m.data.end()}, .mask = {m.mask.begin(), m.mask.end()}};
    return send(m.sender, m.semaphore.allocation, std::move(kept));
  }
  Status signal(const SignalMessage& m) override {
    if (m.amount < 0) run_->isNotExact();
    return send(m.sender, m.semaphore.allocation, {.put = {}, .signal = m, .data = {}, .mask = {}});
  }
  Result<bool> progress() override {
    bool some = false;
    for (auto& [path, messages] : messages_)
      while (!messages.empty() && !isHeld(messages.front())) {
        if (Status ok = deliver(path.first, messages.front()); !ok) return fail(std::move(ok.error()));
        messages.pop_front();
        some = true;
      }
    return some;
  }
  bool awaitsMessages() override { return run_->continues(); }
  Status barrier() override { return {}; }

 private:
  using Core = std::pair<int, int>;  ///< device and core
  struct Message {
    std::optional<PutMessage> put;
    std::optional<SignalMessage> signal;
    std::vector<std::byte> data;
    std::vector<uint8_t> mask;
    SemaphoreId semaphore() const {
      const Address& a = put ? put->semaphore : signal->semaphore;
      return {a.allocation, a.offset};
    }
    int64_t amount() const { return put ? put->credit : signal->amount; }
  };

  bool isHeld(const Message& m) const { return run_->holds(m.semaphore(), m.amount()); }
  Status send(const Sender& sender, const AllocationId& to, Message message) {
    const Core from{sender.device, sender.core};
    std::deque<Message>& before = messages_[{from, Core{to.device, to.core}}];
    if (before.empty() && !isHeld(message)) return deliver(from, message);
    before.push_back(std::move(message));
    return {};
  }
  Status deliver(const Core& from, Message& m) {
    run_->raised(m.semaphore(), from, m.amount());
    if (m.signal) return endpoint_.deliver(*m.signal);
    m.put->data = m.data;
    m.put->mask = m.mask;
    return endpoint_.deliver(*m.put);
  }

  std::shared_ptr<OrderRun> run_;
  Endpoint& endpoint_;
  std::map<std::pair<Core, Core>, std::deque<Message>> messages_;
};

}  // namespace

OrderSearch::~OrderSearch() = default;

void OrderSearch::add(Order order) {
  if (static_cast<int64_t>(known_.size()) >= mostOrders_) {
    isExact_ = false;
    return;
  }
  if (known_.insert(order).second) orders_.push_back(std::move(order));
}

bool OrderSearch::next() {
  if (!isFirst_ && orders_.empty()) return false;
  Order order;
  if (!isFirst_) {
    order = std::move(orders_.back());
    orders_.pop_back();
  }
  isFirst_ = false;
  ++runs_;
  run_ = std::make_shared<OrderRun>(*this, std::move(order));
  return true;
}

bool OrderSearch::wasPossible() const { return !run_ || run_->isPossible(); }

decltype(MachineOptions::scheduler) OrderSearch::scheduler() const {
  return [run = run_](const MachineOptions& o) {
    run->beginKernel();
    return std::make_unique<InTurn>(run, o.stepQuantum);
  };
}
decltype(MachineOptions::dmaPolicy) OrderSearch::dmaPolicy() const {
  return [run = run_](const MachineOptions&) { return std::make_unique<HeldCopies>(run); };
}
decltype(MachineOptions::transport) OrderSearch::transport() const {
  return [run = run_](Endpoint& endpoint) { return std::make_unique<HeldMessages>(run, endpoint); };
}
decltype(MachineOptions::mayPoll) OrderSearch::mayPoll() const {
  return [run = run_](int program, const SemaphoreId& semaphore) { return run->mayPoll(program, semaphore); };
}

}  // namespace smalti::machine
