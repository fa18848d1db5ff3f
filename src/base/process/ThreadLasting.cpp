#include "base/process/ThreadLasting.h"

#include <memory>
#include <vector>

namespace smalti {
namespace {

struct ThreadData {
  void (*free)(void*);
  void* data;
};
// These have no destructors: they may be read until the thread is gone.
thread_local constinit std::vector<ThreadData>* tData = nullptr;
thread_local constinit bool tOver = false;

struct FreesThreadData {
  FreesThreadData() : data(std::make_unique<std::vector<ThreadData>>()) { tData = data.get(); }
  ~FreesThreadData() {
    freeThreadData();
    tData = nullptr;
    tOver = true;
  }
  std::unique_ptr<std::vector<ThreadData>> data;
};

}  // namespace

void ownThreadData() {
  thread_local const FreesThreadData frees;
  (void)&frees;
}

void freeAtThreadEnd(void (*free)(void*), void* data) {
  if (tOver) return;
  ownThreadData();
  tData->push_back({free, data});
}

void freeThreadData() {
  if (!tData) return;
  while (!tData->empty()) {  // the last made first, as it may use the others
    const ThreadData last = tData->back();
    tData->pop_back();
    last.free(last.data);
  }
}

}  // namespace smalti
