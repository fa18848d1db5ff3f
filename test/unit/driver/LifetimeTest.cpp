// Calls from destructors of static and thread_local objects: refused with SM9015, or good; never a crash.
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>

#include <gtest/gtest.h>

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

std::string useLanguage() {
  const auto call =
      pallas_call([](Ref x, Ref o) { o[_] = x[_] + x[_]; }, {.out_shape = ShapeDtype{{8, 128}, DType::f32}});
  try {
    const Array sum = call(ones({8, 128}));
    return sum.as<float>()[0] == 2 ? "" : "wrong";
  } catch (const Error& error) {
    return error.diagnostic().code;
  }
}

/// Calls a function when it is destroyed.
struct Late {
  std::function<void()> work;
  ~Late() {
    if (work) work();
  }
};

/// Ends the process in one of its destructors, with 0 when they got what was wanted.
void endWith(const std::string& wantedModule, const std::string& wantedLanguage, Late& late) {
  late.work = [=] {
    const std::string module = useModule(), language = useLanguage();
    if (module != wantedModule || language != wantedLanguage)
      std::fprintf(stderr, "got '%s' and '%s'\n", module.c_str(), language.c_str());
    std::fflush(stderr);
    std::_Exit(module == wantedModule && language == wantedLanguage ? 0 : 1);
  };
}

class Lifetime : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

void staticBeforeTheFirstCall() {
  static Late late;
  useModule();
  useLanguage();
  endWith("SM9015", "SM9015", late);
  std::exit(2);
}

void staticAfterTheFirstCall() {
  useModule();
  useLanguage();
  static Late late;
  endWith("SM9015", "SM9015", late);
  std::exit(2);
}

void endByAnotherThread() {
  static Late late;
  useModule();
  useLanguage();
  endWith("SM9015", "SM9015", late);
  std::thread([] { std::exit(2); }).join();
}

TEST_F(Lifetime, AStaticObjectMadeBeforeTheFirstCallIsRefused) {
  EXPECT_EXIT(staticBeforeTheFirstCall(), ::testing::ExitedWithCode(0), "");
}

TEST_F(Lifetime, AStaticObjectMadeAfterTheFirstCallIsRefusedToo) {
  EXPECT_EXIT(staticAfterTheFirstCall(), ::testing::ExitedWithCode(0), "");
}

TEST_F(Lifetime, OtherThreadsMayEndTheProgram) { EXPECT_EXIT(endByAnotherThread(), ::testing::ExitedWithCode(0), ""); }

/// What a thread_local object of a new thread gets when it is destroyed.
std::string atThreadEnd(const std::function<std::string()>& use, bool useBefore) {
  std::string code;
  std::thread([&] {
    if (useBefore) {
      EXPECT_EQ(use(), "");
    }
    thread_local Late late;
    late.work = [&] { code = use(); };
    EXPECT_EQ(use(), "");
  }).join();
  return code;
}

TEST_F(Lifetime, AThreadLocalObjectMadeBeforeTheFirstCallIsRefused) {
  EXPECT_EQ(atThreadEnd(useModule, false), "SM9015");
  EXPECT_EQ(atThreadEnd(useLanguage, false), "SM9015");
}

TEST_F(Lifetime, AThreadLocalObjectMadeAfterTheFirstCallMayCall) {
  EXPECT_EQ(atThreadEnd(useModule, true), "");
  EXPECT_EQ(atThreadEnd(useLanguage, true), "");
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
