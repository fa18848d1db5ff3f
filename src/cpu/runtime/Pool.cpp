#include "cpu/runtime/Pool.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <memory>
#include <system_error>
#include <thread>
#include <vector>

#include "base/process/FloatMode.h"
#include "cpu/runtime/Cores.h"
#include "cpu/runtime/Pause.h"

namespace smalti::cpu {
namespace {

using std::memory_order_acquire, std::memory_order_relaxed, std::memory_order_release;
using Clock = std::chrono::steady_clock;

/// How long a worker without work stays awake. Waking it costs the caller 20 to 60 us and takes as long again; between
/// a model does up to some hundred microseconds of other work between calls.
constexpr std::chrono::microseconds kWorkerSpin{1000};
/// How long the caller watches a worker's last range before it sleeps.
constexpr std::chrono::microseconds kCallerSpin{1000};
/// After this time, yields the core, since another thread, possibly the awaited one, may need it.
constexpr std::chrono::microseconds kSpinBeforeYield{5};
/// A free thread takes this fraction of an equal share of the remaining points.
constexpr int64_t kRangeFraction = 4;
/// Bytes of copies for which a sleeping worker is woken, which costs the caller as long as it would take to copy them.
constexpr int64_t kWorthWakingBytes = 256 * 1024;
/// The number of cores for callers that pass none.
constexpr int kNoCoreLimit = std::numeric_limits<int>::max();

/// Waits until `state` is not `value`: spins, then sleeps.
void waitWhile(const std::atomic<int>& state, int value, std::chrono::microseconds spin) {
  const Clock::time_point begin = Clock::now();
  for (;;) {
    for (int i = 0; i < 32; ++i) {
      if (state.load(memory_order_acquire) != value) return;
      pauseBriefly();
    }
    const auto waited = Clock::now() - begin;
    if (waited > spin) return state.wait(value, memory_order_acquire);
    if (waited > kSpinBeforeYield) std::this_thread::yield();
  }
}

/// Changes a value that another thread waits for. An exchange, not a store: notify_one first checks for sleepers, and
/// must not do so before the change is visible.
void publish(std::atomic<int>& state, int value) {
  state.exchange(value, std::memory_order_seq_cst);
  state.notify_one();
}

using Body = llvm::function_ref<void(int64_t, int64_t, int)>;

/// User threads inside a call, each of which keeps a core busy, with or without the pool.
std::atomic<int> gCallers{0};
thread_local int tCalls = 0;  ///< of this thread that are in progress
struct Caller {
  Caller() {
    if (tCalls++ == 0) gCallers.fetch_add(1, memory_order_relaxed);
  }
  ~Caller() {
    if (--tCalls == 0) gCallers.fetch_sub(1, memory_order_relaxed);
  }
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;
};

struct Job {
  const Body* body = nullptr;
  int threads = 1;
  int cores = 1;                             ///< cores that the caller may use if nobody else calls
  int core = -1;                             ///< the caller's core
  alignas(64) std::atomic<int64_t> left{0};  ///< number of points that no thread has begun, the first ones

  void work(int worker) {
    for (int64_t last = left.load(memory_order_relaxed); last > 0 && !isCrowded(worker);) {
      const int64_t first = last - std::max<int64_t>(1, last / (threads * kRangeFraction));
      if (!left.compare_exchange_weak(last, first, memory_order_relaxed)) continue;
      (*body)(first, last, worker);
      last = left.load(memory_order_relaxed);
    }
  }

  /// Whether other threads are calling, and this worker would take one of their cores; for example, two devices on two
  /// cores, one of which holds the pool.
  bool isCrowded(int worker) const { return worker > 0 && gCallers.load(memory_order_relaxed) + worker > cores; }
};

/// The caller posts, a worker runs. What has not begun when the caller has run out of points is taken back, so that
/// no thread waits for another to wake. An idle worker looks for copies, too; kCalled wakes one that sleeps to do so.
enum Phase : int { kIdle, kCalled, kPosted, kRunning, kStopped };

class Pool;
struct alignas(64) Worker {
  std::atomic<int> state{kIdle};
  Pool* pool = nullptr;
  int id = 0;
  pthread_t thread = {};
  std::atomic<int> awayFrom{-2};  ///< the caller's core when it was last told; -2: never
  std::atomic<bool> sleeps{false};
};

thread_local bool tInside = false;  ///< whether this thread runs a range

class Pool {
 public:
  /// False if another thread holds it; after `stop` it is never released.
  bool take() { return !taken_.exchange(true, memory_order_acquire); }
  void giveBack() { taken_.store(false, memory_order_release); }

  /// Whether there are that many threads besides the caller; makes them if it can.
  bool has(int helpers) {
    grow(helpers);
    return static_cast<int>(workers_.size()) >= helpers;
  }

  void run(int64_t points, int threads, int cores, const Body& body) {
    grow(threads - 1);
    const int free = std::max(0, cores - gCallers.load(memory_order_relaxed));
    const int helpers = std::min({threads - 1, static_cast<int>(workers_.size()), free});
    job_.body = &body;
    job_.threads = helpers + 1;
    job_.cores = cores;
    job_.left.store(points, memory_order_relaxed);
    job_.core = ownCore();
    for (int i = 0; i < helpers; ++i) workers_[i]->state.exchange(kPosted, std::memory_order_seq_cst);
    wake(0);
    tInside = true;
    job_.work(0);
    tInside = false;
    for (int i = 0; i < helpers; ++i) {
      int posted = kPosted;
      if (workers_[i]->state.compare_exchange_strong(posted, kIdle, memory_order_acquire)) continue;
      while (workers_[i]->state.load(memory_order_acquire) == kRunning)
        waitWhile(workers_[i]->state, kRunning, kCallerSpin);
    }
  }

  /// Null: another thread has the queue, or there are no workers. `cores`: that the caller may use.
  CopyQueue* takeCopies(int cores) {
    if (copiesTaken_.exchange(true, memory_order_acquire)) return nullptr;
    if (take()) {  // otherwise its holder has made workers
      grow(1);
      giveBack();
    }
    copyingCores_.store(cores, memory_order_relaxed);
    if (Worker* first = first_.load(memory_order_acquire)) {
      keepAway(*first, ownCore());
      return &copies_;
    }
    giveBackCopies();
    return nullptr;
  }
  void giveBackCopies() {
    copyingCores_.store(0, memory_order_relaxed);
    copiesTaken_.store(false, memory_order_release);
  }
  /// There are copies for a worker that sleeps.
  void callCopier() {
    Worker& first = *first_.load(memory_order_acquire);
    if (!first.sleeps.load()) return;
    int idle = kIdle;
    if (first.state.compare_exchange_strong(idle, kCalled)) first.state.notify_one();
  }

  /// The pool is held by this thread, and idle.
  void stop() {
    for (const auto& w : workers_) {
      publish(w->state, kStopped);
    }
    for (const auto& w : workers_) pthread_join(w->thread, nullptr);
  }

 private:
  static void* serve(void* argument) {
    Worker& self = *static_cast<Worker*>(argument);
    const FloatModeScope ieee;
    tInside = true;
    for (;;) {
      self.pool->idle(self);
      int posted = kPosted;
      if (self.state.compare_exchange_strong(posted, kRunning, memory_order_acquire)) {
        for (const int next : {2 * self.id - 1, 2 * self.id}) self.pool->wake(next);
        grantCores(self.pool->job_.cores == kNoCoreLimit ? 0 : self.pool->job_.cores);
        self.pool->job_.work(self.id);
        publish(self.state, kIdle);
      } else if (posted == kStopped) {
        return nullptr;
      }
    }
  }

  /// Returns when the state is no longer kIdle; executes copies meanwhile.
  void idle(Worker& self) {
    Clock::time_point begin = Clock::now();
    for (;;) {
      for (int i = 0; i < 32; ++i) {
        const int state = self.state.load(memory_order_acquire);
        if (state == kCalled) {
          int called = kCalled;
          self.state.compare_exchange_strong(called, kIdle, memory_order_relaxed);
          begin = Clock::now();
        } else if (state != kIdle) {
          return;
        }
        if (mayCopy(self) && copies_.runOne())
          begin = Clock::now();
        else
          pauseBriefly();
      }
      const auto waited = Clock::now() - begin;
      if (waited > kWorkerSpin) {
        self.sleeps.store(true);
        if (!(mayCopy(self) && copies_.hasWork())) self.state.wait(kIdle, memory_order_acquire);
        self.sleeps.store(false);
      } else if (waited > kSpinBeforeYield) {
        std::this_thread::yield();
      }
    }
  }

  /// As Job::isCrowded.
  bool mayCopy(const Worker& self) const {
    return gCallers.load(memory_order_relaxed) + self.id <= copyingCores_.load(memory_order_relaxed);
  }

  /// The kernel scheduler tends to wake a thread on its waker's core, where it would have to wait for the caller.
  static void keepAway(Worker& w, int core) {
    if (w.awayFrom.exchange(core, memory_order_relaxed) != core) excludeCore(w.thread, core);
  }

  /// Wakes a worker of this call, which wakes the next workers, so that the caller need not wake each of many threads.
  void wake(int worker) {
    if (worker >= job_.threads - 1) return;
    Worker& w = *workers_[worker];
    keepAway(w, job_.core);
    w.state.notify_one();
  }

  /// Makes workers up to `wanted`, or fewer if the system creates no more threads.
  void grow(int wanted) {
    while (static_cast<int>(workers_.size()) < wanted) {
      auto w = std::make_unique<Worker>();
      w->pool = this;
      w->id = static_cast<int>(workers_.size()) + 1;
      // Signals are for the user's own threads, except those that an instruction raises.
      sigset_t all, before;
      sigfillset(&all);
      for (const int s : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT}) sigdelset(&all, s);
      pthread_sigmask(SIG_SETMASK, &all, &before);
      const int failed = pthread_create(&w->thread, nullptr, serve, w.get());
      pthread_sigmask(SIG_SETMASK, &before, nullptr);
      if (failed) return;
      workers_.push_back(std::move(w));
      first_.store(workers_.front().get(), memory_order_release);
    }
  }

  std::atomic<bool> taken_{false}, copiesTaken_{false};
  std::atomic<Worker*> first_{nullptr};
  std::atomic<int> copyingCores_{0};  ///< that callers and workers that copy may use together
  CopyQueue copies_;
  std::vector<std::unique_ptr<Worker>> workers_;
  Job job_;
};

/// Never deleted, since its threads are joined at exit, and a forked child abandons it.
std::atomic<Pool*> gPool{nullptr};

struct AtExit {
  ~AtExit() {
    Pool* pool = gPool.load(memory_order_acquire);
    if (pool && !tInside && pool->take()) pool->stop();
  }
};

/// When the library is loaded: a child that is forked during the first call would wait for it for ever.
const AtExit atExit;
[[maybe_unused]] const int kForked = pthread_atfork(nullptr, nullptr, [] {
  gPool.store(nullptr, memory_order_release);
  gCallers.store(0, memory_order_relaxed);
});

Pool& thePool() {
  Pool* pool = gPool.load(memory_order_acquire);
  if (pool) return *pool;
  auto made = std::make_unique<Pool>();
  if (gPool.compare_exchange_strong(pool, made.get())) pool = made.release();
  return *pool;
}

}  // namespace

void parallelFor(int64_t points, int threads, Body body) {
  if (points <= 0) return;
  if (tInside) return body(0, points, 0);
  const Caller caller;
  const int cores = threads > 0 ? threads : availableCores();
  threads = static_cast<int>(std::min<int64_t>(cores, points));
  Pool* pool = threads > 1 ? &thePool() : nullptr;
  if (!pool || !pool->take()) return body(0, points, 0);
  pool->run(points, threads, cores, body);
  pool->giveBack();
}

namespace {

class CopiesOfPool : public SharedCopies {
 public:
  CopiesOfPool(Pool& pool, CopyQueue& queue) : pool_(pool), queue_(queue) {}
  ~CopiesOfPool() override {
    queue_.finish(nullptr);
    pool_.giveBackCopies();
  }

  bool push(const Copy& copy, const void* semaphore) override {
    if (!queue_.push(copy, semaphore)) return false;
    if (queue_.waitingBytes() >= kWorthWakingBytes) pool_.callCopier();
    return true;
  }
  void finishConflicting(const Copy& copy) override { queue_.finishConflicting(copy); }
  void finish(const void* semaphore) override { queue_.finish(semaphore); }

 private:
  Pool& pool_;
  CopyQueue& queue_;
  const Caller caller_;
};

/// Runs the members on threads of their own, because another call uses the pool.
bool onOwnThreads(int members, llvm::function_ref<void(int)> body) {
  enum : int { kUndecided, kGo, kGoHome };
  std::atomic<int> decision{kUndecided};
  std::vector<std::thread> threads;
  try {
    for (int m = 1; m < members; ++m)
      threads.emplace_back([&, m] {
        decision.wait(kUndecided);
        const FloatModeScope ieee;
        if (decision.load() == kGo) body(m);
      });
  } catch (const std::system_error&) {
    decision = kGoHome;
  }
  int undecided = kUndecided;
  const bool all = decision.compare_exchange_strong(undecided, kGo);
  decision.notify_all();
  if (all) body(0);
  for (std::thread& t : threads) t.join();
  return all;
}

}  // namespace

std::unique_ptr<SharedCopies> SharedCopies::take(int threads) {
  const int cores = threads > 0 ? threads : availableCores();
  if (tInside || cores < 2) return nullptr;
  Pool& pool = thePool();
  CopyQueue* queue = pool.takeCopies(cores);
  return queue ? std::make_unique<CopiesOfPool>(pool, *queue) : nullptr;
}

bool runOnThreads(int members, llvm::function_ref<void(int)> body) {
  if (members == 1) return body(0), true;
  constexpr int kMaxPooled = 64;  // threads that wait for the next call
  Pool* pool = tInside || members > kMaxPooled ? nullptr : &thePool();
  if (!pool || !pool->take()) return onOwnThreads(members, body);
  const bool enough = pool->has(members - 1);
  // With as many points as threads, each thread takes one point, and none waits for another before all are taken.
  if (enough)
    pool->run(members, members, kNoCoreLimit, [&](int64_t first, int64_t last, int) {
      for (int64_t m = first; m < last; ++m) body(static_cast<int>(m));
    });
  pool->giveBack();
  return enough;
}

}  // namespace smalti::cpu
