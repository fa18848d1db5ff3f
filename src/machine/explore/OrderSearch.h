// All orders of a kernel that polls. A program that only waits for semaphores executes the same steps in every order
// (observers/race/AllOrders.h); what a program that polls executes next also depends on the count that each poll reads.
// This count is the total by which others had raised the semaphore, less what the program itself has taken. An order is
// therefore identified by the total of each poll, and orders with equal totals need one run only.
//
// Each run prescribes the totals of some polls: raises beyond a prescribed total are held back until the poll is done.
// When no program can continue except by a poll without a prescribed total, each total that is possible there gives an
// order to run.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "machine/Machine.h"

namespace smalti::machine {

class OrderSearch {
 public:
  explicit OrderSearch(int64_t mostOrders) : mostOrders_(mostOrders) {}
  ~OrderSearch();

  /// Prepares the next run. False: all orders have been run.
  bool next();
  /// MachineOptions of the next run.
  decltype(MachineOptions::scheduler) scheduler() const;
  decltype(MachineOptions::dmaPolicy) dmaPolicy() const;
  decltype(MachineOptions::transport) transport() const;
  decltype(MachineOptions::mayPoll) mayPoll() const;

  /// Whether the last run is an order: no order may have the prescribed totals. The run then ended in a deadlock.
  bool wasPossible() const;
  /// Whether no order was left out.
  bool isExact() const { return isExact_; }
  /// Whether all orders have been run.
  bool isComplete() const { return isExact_ && orders_.empty(); }
  int64_t runs() const { return runs_; }

 private:
  friend class OrderRun;
  /// The poll of that number of a program, in a kernel of the run.
  struct Poll {
    int kernel = 0, program = 0, number = 0;
    auto operator<=>(const Poll&) const = default;
  };
  struct Seen {
    SemaphoreId semaphore;
    int64_t total = 0;  ///< by which the semaphore had been raised
    auto operator<=>(const Seen&) const = default;
  };
  using Order = std::map<Poll, Seen>;

  void add(Order order);

  int64_t mostOrders_, runs_ = 0;
  bool isExact_ = true, isFirst_ = true;
  std::vector<Order> orders_;  ///< not yet run
  std::set<Order> known_;
  std::shared_ptr<class OrderRun> run_;
};

}  // namespace smalti::machine
