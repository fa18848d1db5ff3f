// Calls from destructors of static and thread_local objects: refused with SM9015, or good; never a crash.
#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "../LongTest.h"
#include "smalti/smalti.h"

namespace smalti {
namespace {

constexpr const char* kModule = R"(module {
  func.func public @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.add %arg0, %arg0 : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
})";

/// "" when all is well, else the code.
std::string useModule() {
  const auto module = Module::parse(kModule, "m.mlir");
  if (!module) return module.error().code;
  const auto run = module->run(*make_inputs(*module));
  return run ? "" : run.error().code;
}

template <class F>
std::string codeOf(F&& use) {
  try {
    use();
    return "";
  } catch (const Error& error) {
    return error.diagnostic().code;
  }
}

std::string useLanguage() {
  return codeOf([] {
    const auto call =
        pallas_call([](Ref x, Ref o) { o[_] = x[_] + x[_]; }, {.out_shape = ShapeDtype{{8, 128}, DType::f32}});
    const Array sum = call(ones({8, 128}));
    if (sum.as<float>()[0] != 2) std::abort();
  });
}

std::string useSettings() {
  Settings settings;
  const Status set = settings.set("target", "cpu");
  return set ? "" : set.error().code;
}

std::string useJit() {
  return codeOf([] {
    const Array y = jit([](const Array& x) { return exp(x) + 1; })(ones({8}));
    if (y.as<float>()[0] < 3) std::abort();
  });
}

std::string useShardMap() {
  return codeOf([] {
    const Mesh mesh({{"x", 2}});
    const Array y = shard_map([](const Array& x) { return x + x; }, mesh, P("x"), P("x"))(ones({8}));
    if (y.as<float>()[0] != 2) std::abort();
  });
}

/// What each part of the API says.
std::vector<std::string> useAll() { return {useModule(), useLanguage(), useSettings(), useJit(), useShardMap()}; }
const std::vector<std::string> kAllGood(5), kAllRefused(5, "SM9015");

/// Calls a function when it is destroyed.
struct Late {
  std::function<void()> work;
  ~Late() {
    if (work) work();
  }
};

/// Ends the process: with 0 if the API is refused.
void endIfRefused() {
  const std::vector<std::string> got = useAll();
  for (const std::string& code : got) std::fprintf(stderr, "'%s' ", code.c_str());
  std::fflush(stderr);
  std::_Exit(got == kAllRefused ? 0 : 1);
}

class Lifetime : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

void staticBeforeTheFirstCall() {
  static Late late;
  useAll();
  late.work = endIfRefused;
  std::exit(2);
}

void staticAfterTheFirstCall() {
  useAll();
  static Late late{endIfRefused};
  std::exit(2);
}

void firstCallWhileTheProgramEnds() {
  static Late late{endIfRefused};
  std::exit(2);
}

void endByAnotherThread() {
  static Late late{endIfRefused};
  useAll();
  std::thread([] { std::exit(2); }).join();
}

void handlerOfExit() {
  std::atexit(endIfRefused);
  useAll();
  std::exit(2);
}

void threadOfAStaticDestructor() {
  static Late late{[] { std::thread(endIfRefused).join(); }};
  useAll();
  std::exit(2);
}

TEST_F(Lifetime, AStaticObjectMadeBeforeTheFirstCallIsRefused) {
  EXPECT_EXIT(staticBeforeTheFirstCall(), ::testing::ExitedWithCode(0), "");
}

TEST_F(Lifetime, AStaticObjectMadeAfterTheFirstCallIsRefusedToo) {
  EXPECT_EXIT(staticAfterTheFirstCall(), ::testing::ExitedWithCode(0), "");
}

TEST_F(Lifetime, AStaticObjectThatMakesTheFirstCallIsRefused) {
  EXPECT_EXIT(firstCallWhileTheProgramEnds(), ::testing::ExitedWithCode(0), "");
}

TEST_F(Lifetime, OtherThreadsMayEndTheProgram) { EXPECT_EXIT(endByAnotherThread(), ::testing::ExitedWithCode(0), ""); }

TEST_F(Lifetime, AHandlerOfExitIsRefused) { EXPECT_EXIT(handlerOfExit(), ::testing::ExitedWithCode(0), ""); }

TEST_F(Lifetime, AThreadOfAStaticDestructorIsRefused) {
  EXPECT_EXIT(threadOfAStaticDestructor(), ::testing::ExitedWithCode(0), "");
}

/// Ops of arrays need no data of MLIR.
void opsInAStaticDestructor() {
  const auto product = [] { return Array(dot(ones({40, 40}), ones({40, 40}))).as<float>()[0] == 40; };
  static Late late;
  late.work = [=] { std::_Exit(product() && product() ? 0 : 1); };
  std::exit(product() ? 2 : 1);
}

TEST_F(Lifetime, AStaticObjectMayUseOpsOfArrays) {
  EXPECT_EXIT(opsInAStaticDestructor(), ::testing::ExitedWithCode(0), "");
}

/// Threads that never end are in calls of all kinds while the program ends.
void endWhileThreadsWork(bool warm) {
  if (warm) useAll();
  for (int i = 0; i < 3; ++i)
    std::thread([i] {
      for (int k = i;; ++k) k % 2 ? useLanguage() : k % 4 ? useJit() : useModule();
    }).detach();
  std::this_thread::sleep_for(std::chrono::milliseconds(warm ? 50 : 2));
  std::exit(0);
}

TEST_F(Lifetime, TheProgramMayEndWhileThreadsWork) {
  SMALTI_LONG_TEST();
  for (int i = 0; i < 5; ++i) {
    EXPECT_EXIT(endWhileThreadsWork(true), ::testing::ExitedWithCode(0), "");
    EXPECT_EXIT(endWhileThreadsWork(false), ::testing::ExitedWithCode(0), "");
  }
}

/// The thread_local objects of the first thread are destroyed before the program refuses calls.
void threadLocalOfTheFirstThread() {
  useAll();
  thread_local Late late{[] { std::_Exit(useAll() == kAllGood ? 0 : 1); }};
  (void)&late;
  std::exit(2);
}

TEST_F(Lifetime, AThreadLocalObjectOfTheFirstThreadMayCall) {
  EXPECT_EXIT(threadLocalOfTheFirstThread(), ::testing::ExitedWithCode(0), "");
}

/// What a thread_local object of a new thread gets when it is destroyed.
std::vector<std::string> atThreadEnd(const std::function<std::string()>& before) {
  std::vector<std::string> codes;
  std::thread([&] {
    if (before) {
      EXPECT_EQ(before(), "");
    }
    thread_local Late late;
    late.work = [&] { codes = useAll(); };
    EXPECT_EQ(useAll(), kAllGood);
  }).join();
  return codes;
}

TEST_F(Lifetime, AThreadLocalObjectMadeBeforeTheFirstCallIsRefused) { EXPECT_EQ(atThreadEnd({}), kAllRefused); }

TEST_F(Lifetime, AThreadLocalObjectMadeAfterTheFirstCallMayCall) {
  // What calls of other kinds keep for the thread is made after the object.
  EXPECT_EQ(atThreadEnd(useModule), kAllGood);
  EXPECT_EQ(atThreadEnd(useLanguage), kAllGood);
}

TEST_F(Lifetime, TheMessageSaysWhatToDo) {
  std::string text;
  std::thread([&] {
    thread_local Late late;
    late.work = [&] { text = Module::parse(kModule, "m.mlir").error().str(); };
    useModule();
  }).join();
  EXPECT_EQ(text, R"(error[SM9015]: Smalti is called while this thread ends
  need: a call before main, or the thread's function, returns
  have: a call from the destructor of a static or thread_local object
  help: do this earlier, or keep the object in main or in the thread's function
)");
}

}  // namespace
}  // namespace smalti
