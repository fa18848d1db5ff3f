// One observer that passes everything on to several.
#pragma once

#include <vector>

#include "machine/Observer.h"

namespace smalti::machine {

class Dispatcher final : public Observer {
 public:
  void add(Observer* o) {
    observers_.push_back(o);
    interest_ = interest_ | o->interest();
  }
  const std::vector<Observer*>& observers() const { return observers_; }

  Interest interest() const override { return interest_; }
  void instruction(const Actor& a, const InstructionEvent& e) override {
    for (Observer* o : observers_)
      if (o->interest().instructions) o->instruction(a, e);
  }
  void pipeline(const Actor& a, const PipelineEvent& e) override {
    for (Observer* o : observers_)
      if (o->interest().pipeline) o->pipeline(a, e);
  }
  void access(const Actor& a, const MemoryAccess& x) override {
    for (Observer* o : observers_) o->access(a, x);
  }
  void undefinedUse(const Actor& a, UndefinedUse u, const SourcePlace& p, const std::string& what) override {
    for (Observer* o : observers_) o->undefinedUse(a, u, p, what);
  }
  void allocate(const Actor& a, const Buffer& b) override {
    for (Observer* o : observers_) o->allocate(a, b);
  }
  void release(const Actor& a, const Buffer& b) override {
    for (Observer* o : observers_) o->release(a, b);
  }
  void dmaStart(const Actor& a, const DmaTransfer& t) override {
    for (Observer* o : observers_) o->dmaStart(a, t);
  }
  void dmaComplete(const DmaTransfer& t) override {
    for (Observer* o : observers_) o->dmaComplete(t);
  }
  void dmaWaited(const Actor& a, const DmaTransfer& t, bool targetSide) override {
    for (Observer* o : observers_) o->dmaWaited(a, t, targetSide);
  }
  void signal(const Actor& a, const PeerRef& s, int64_t n, const SourcePlace& p) override {
    for (Observer* o : observers_) o->signal(a, s, n, p);
  }
  void waited(const Actor& a, const Ref& s, int64_t n, const SourcePlace& p) override {
    for (Observer* o : observers_) o->waited(a, s, n, p);
  }
  void polled(const Actor& a, const Ref& s, int64_t n) override {
    for (Observer* o : observers_) o->polled(a, s, n);
  }
  void stepBegin(const Actor& a) override {
    for (Observer* o : observers_) o->stepBegin(a);
  }
  void stepEnd(const Actor& a) override {
    for (Observer* o : observers_) o->stepEnd(a);
  }
  void windowVisited(const Actor& a, int operand, std::span<const int64_t> block) override {
    for (Observer* o : observers_) o->windowVisited(a, operand, block);
  }
  void windowFetched(const Actor& a, int operand, std::span<const int64_t> block) override {
    for (Observer* o : observers_) o->windowFetched(a, operand, block);
  }
  void windowWrittenBack(const Actor& a, int operand, std::span<const int64_t> block) override {
    for (Observer* o : observers_) o->windowWrittenBack(a, operand, block);
  }
  void kernelEnd(const Actor& a) override {
    for (Observer* o : observers_) o->kernelEnd(a);
  }

 private:
  std::vector<Observer*> observers_;
  Interest interest_;
};

}  // namespace smalti::machine
