// Messages that no run of the same kernel sends are refused; nothing outside the named memory is touched.
#include <gtest/gtest.h>

#include "../../LoopbackTransport.h"
#include "TextKernel.h"

namespace smalti::machine::testing {
namespace {

/// Changes each message on its way.
class Meddler final : public Transport {
 public:
  using Change = std::function<void(PutMessage&)>;
  Meddler(Endpoint& endpoint, Change change) : endpoint_(&endpoint), change_(std::move(change)) {}
  Status put(const PutMessage& m) override {
    PutMessage changed = m;
    change_(changed);
    return endpoint_->deliver(changed);
  }
  Status signal(const SignalMessage& m) override { return endpoint_->deliver(m); }
  Result<bool> progress() override { return false; }
  bool awaitsMessages() override { return false; }
  Status barrier() override { return {}; }

 private:
  Endpoint* endpoint_;
  Change change_;
};

/// Both devices send four rows to the other.
TextKernel exchange() {
  TextKernel k;
  const Val x = k.input({.array = {4, 8}, .space = "any"}), o = k.output({.array = {4, 8}, .space = "any"});
  const Val send = k.dmaSemaphore(), receive = k.dmaSemaphore();
  const Val peer = k.binary("arith.subi", k.constant(1), k.deviceId());
  k.remoteDma(x, send, o, receive, peer);
  k.waitSend(x, send, o, receive, peer);
  k.waitReceive(x, send, o, receive, peer);
  return k;
}

Result<KernelResult> runWith(Meddler::Change change) {
  MachineOptions o = checked();
  o.transport = [=](Endpoint& e) { return std::make_unique<Meddler>(e, change); };
  return runOn(exchange(), {{counting({4, 8})}, {counting({4, 8})}}, o);
}

TEST(Inbox, AMessageThatDoesNotFitIsRefused) {
  EXPECT_TRUE(runWith([](PutMessage&) {}));
  const std::vector<std::pair<std::string, Meddler::Change>> wrong{
      {"it names memory that device 7 has not", [](PutMessage& m) { m.target.allocation.device = 7; }},
      {"it names memory that device -1 has not", [](PutMessage& m) { m.target.allocation.device = -1; }},
      {"it names memory that device 1 has not",
       [](PutMessage& m) {
         m.target.allocation.device = 1;
         m.target.allocation.index = 9;
       }},
      {"it names memory that device 1 has not",
       [](PutMessage& m) { m.target.allocation = {AllocationKind::region, 77, 1, 0}; }},
      {"it names memory that device 1 has not",
       [](PutMessage& m) { m.target.allocation = {AllocationKind::scratch, 0, 1, 3}; }},
      {"output 0 is f32[4,9] there and f32[4,8] here", [](PutMessage& m) { m.target.type.shape = {4, 9}; }},
      {"it reaches outside of output 0", [](PutMessage& m) { m.target.offset = 1; }},
      {"it reaches outside of output 0", [](PutMessage& m) { m.target.offset = INT64_MAX; }},
      {"it reaches outside of output 0", [](PutMessage& m) { m.target.strides = {9, 1}; }},
      {"it reaches outside of output 0", [](PutMessage& m) { m.target.shape = {4, -8}; }},
      {"it reaches outside of output 0", [](PutMessage& m) { m.target.present = {5, 8}; }},
      {"it reaches outside of output 0",
       [](PutMessage& m) { m.target.transforms = {{RefTransform::Kind::slice, DType::f32, {4, 4}, {0, 5}}}; }},
      {"it reaches outside of output 0",
       [](PutMessage& m) { m.target.transforms = {{RefTransform::Kind::reshape, DType::f32, {4, 16}, {}}}; }},
      {"120 bytes for 32 elements of output 0", [](PutMessage& m) { m.data = m.data.subspan(8); }},
      {"output 0 is not one semaphore", [](PutMessage& m) { m.semaphore = m.target; }},
  };
  for (const auto& [what, change] : wrong) {
    const auto r = runWith(change);
    ASSERT_FALSE(r) << what;
    EXPECT_EQ(r.error().code, "SM4058");
    EXPECT_EQ(r.error().message, "a message from another device does not fit this one: " + what);
    EXPECT_EQ(r.error().need, "the same kernel with the same types on every device");
    EXPECT_EQ(r.error().help, "start all processes with the same program, inputs and options");
  }
}

TEST(Transport, SG1_ADeadlockIsOneOnlyWhenNoMessageIsUnderWay) {
  test::LoopbackTransport::Traffic traffic;
  MachineOptions o;
  o.transport = [&](Endpoint& e) { return std::make_unique<test::LoopbackTransport>(e, 50, traffic); };
  TextKernel meets, misses;
  for (TextKernel* k : {&meets, &misses}) {
    const Val sem = k->semaphore(), one = k->constant(1);
    k->semSignal(sem, one, k->binary("arith.subi", one, k->deviceId()));
    k->semWait(sem, k->constant(k == &meets ? 1 : 2));
  }
  EXPECT_TRUE(runOn(meets, {{}, {}}, o));
  const auto r = runOn(misses, {{}, {}}, o);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, "SM4103");
  EXPECT_EQ(r.error().related[0].have, "1");
}

}  // namespace
}  // namespace smalti::machine::testing
