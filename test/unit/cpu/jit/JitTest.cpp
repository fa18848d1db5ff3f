#include "cpu/jit/Jit.h"

#include <algorithm>
#include <set>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "JitModules.h"
#include "cpu/jit/LeanCodegen.h"
#include "cpu/product/gemm/Gemm.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Pass.h"
#include "llvm/PassInfo.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"

namespace smalti::cpu {
namespace {

using ::testing::HasSubstr;

std::string objectOf(ModuleBuilder&& built, const Processor& processor = hostProcessor()) {
  auto object = generateObject(std::move(built), processor);
  EXPECT_TRUE(object) << object.error().str();
  return object ? *object : std::string();
}

std::shared_ptr<const LoadedCode> loaded(ModuleBuilder&& built, std::span<const RuntimeSymbol> symbols = {}) {
  auto code = loadObject(objectOf(std::move(built)), symbols);
  EXPECT_TRUE(code) << code.error().str();
  return code ? *code : nullptr;
}

int64_t twice(int64_t x) { return 2 * x; }
int64_t thrice(int64_t x) { return 3 * x; }

TEST(Jit, AFunctionRuns) {
  const auto code = loaded(addModule(hostProcessor()));
  auto* add = code->function<int64_t(int64_t, int64_t)>("add");
  ASSERT_NE(add, nullptr);
  EXPECT_EQ(add(40, 2), 42);
  EXPECT_EQ(code->symbol("subtract"), nullptr);
}

TEST(Jit, TheReportSaysWhereTheTimeWent) {
  CompileReport report;
  auto object = generateObject(addModule(hostProcessor()), hostProcessor(), &report);
  ASSERT_TRUE(object);
  ASSERT_TRUE(loadObject(*object, {}, &report));
  EXPECT_GT(report.optimiseMs, 0);
  EXPECT_GT(report.codegenMs, 0);
  EXPECT_GT(report.linkMs, 0);
  EXPECT_EQ(report.objectBytes, static_cast<int64_t>(object->size()));
}

TEST(Jit, TheReportHasTheStackFramesOfAllFunctions) {
  constexpr const char* kTwoFrames = R"(
define void @first(i64 %i) {
  %a = alloca [1000 x i64]
  %p = getelementptr i64, ptr %a, i64 %i
  store volatile i64 1, ptr %p
  ret void
}
define void @second(i64 %i) {
  %a = alloca [2000 x i64]
  %p = getelementptr i64, ptr %a, i64 %i
  store volatile i64 1, ptr %p
  ret void
})";
  ModuleBuilder built(hostProcessor(), "frames");
  llvm::SMDiagnostic error;
  built.module = llvm::parseAssemblyString(kTwoFrames, error, *built.context);
  ASSERT_TRUE(built.module) << error.getMessage().str();
  built.module->setTargetTriple(llvm::Triple(hostProcessor().triple));
  CompileReport report;
  ASSERT_TRUE(generateObject(std::move(built), hostProcessor(), &report));
  EXPECT_GE(report.frameBytes, 3000 * 8 - 2 * 128) << "128 bytes below the stack pointer need no frame";
  EXPECT_LT(report.frameBytes, 3000 * 8 + 1024);
}

TEST(Jit, FunctionsOfTheProcessAreCalledByName) {
  const std::vector<RuntimeSymbol> two{{"helper", reinterpret_cast<void*>(&twice)}};
  const std::vector<RuntimeSymbol> three{{"helper", reinterpret_cast<void*>(&thrice)}};
  const std::string object = objectOf(callingModule(hostProcessor(), "helper"));
  auto first = loadObject(object, two), second = loadObject(object, three);  // the same names, side by side
  ASSERT_TRUE(first && second);
  EXPECT_EQ((*first)->function<int64_t(int64_t)>("ask")(10), 21);
  EXPECT_EQ((*second)->function<int64_t(int64_t)>("ask")(10), 31);
}

/// A pass that LLVM renames would silently run again.
TEST(Jit, SkippedPassesAreLeftOut) {
  struct Recorder : llvm::legacy::PassManager {
    std::set<std::string> offered, skipped;
    void add(llvm::Pass* pass) override {
      if (const auto* known = llvm::Pass::lookupPassInfo(pass->getPassID())) {
        offered.insert(known->getPassArgument().str());
        if (isSkipped(*pass)) skipped.insert(known->getPassArgument().str());
      }
      PassManager::add(pass);
    }
  } all;
  const ModuleBuilder built = matmulModule(hostProcessor(), 2, 2, 2);
  std::string error;
  const llvm::Triple triple(hostProcessor().triple);
  if (!triple.isX86()) GTEST_SKIP() << "some of the names are those of x86";
  const auto* target = llvm::TargetRegistry::lookupTarget(triple, error);
  ASSERT_TRUE(target) << error;
  const std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, hostProcessor().name, hostProcessor().features, {}, llvm::Reloc::PIC_, {}, llvm::CodeGenOptLevel::Less));
  built.module->setDataLayout(machine->createDataLayout());
  llvm::SmallString<0> object;
  llvm::raw_svector_ostream stream(object);
  ASSERT_FALSE(machine->addPassesToEmitFile(all, stream, nullptr, llvm::CodeGenFileType::ObjectFile));
  all.run(*built.module);
  for (const std::string_view name : skippedPasses()) EXPECT_TRUE(all.skipped.contains(std::string(name))) << name;
  EXPECT_EQ(all.skipped.size(), skippedPasses().size());
  EXPECT_TRUE(all.offered.contains("machine-scheduler"));
}

/// By the names that LLVM asks with: of the pass, and of the function.
TEST(Jit, KernelsOfProductsAreNotScheduledAgain) {
  struct Recorder : llvm::OptPassGate {
    mutable std::vector<std::string> left;
    bool isEnabled() const override { return true; }
    bool shouldRunPass(llvm::StringRef pass, llvm::StringRef unit) const override {
      if (!leanGate().shouldRunPass(pass, unit)) left.push_back(pass.str() + " of " + unit.str());
      return true;
    }
  } recorder;
  const Processor host = hostProcessor();
  if (!llvm::Triple(host.triple).isX86()) GTEST_SKIP() << "other processors may have no such pass";
  const ModuleBuilder built(host, "gemm");
  built.module->getContext().setOptPassGate(recorder);
  const llvm::Function* product = emitGemm(*built.module, planGemm({.m = 24, .n = 64, .k = 64}, host));
  std::string error;
  const auto* target = llvm::TargetRegistry::lookupTarget(llvm::Triple(host.triple), error);
  ASSERT_TRUE(target) << error;
  const std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      llvm::Triple(host.triple), host.name, host.features, {}, llvm::Reloc::PIC_, {}, llvm::CodeGenOptLevel::Less));
  built.module->setDataLayout(machine->createDataLayout());
  llvm::SmallString<0> object;
  llvm::raw_svector_ostream stream(object);
  LeanPassManager passes;
  ASSERT_FALSE(machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile));
  passes.run(*built.module);
  std::vector<std::string> kernels;
  for (const llvm::Function& f : *built.module)
    if (!f.isDeclaration() && &f != product)
      kernels.push_back("machine-scheduler of function (" + f.getName().str() + ")");
  EXPECT_FALSE(kernels.empty());
  EXPECT_THAT(recorder.left, testing::UnorderedElementsAreArray(kernels));
}

TEST(Jit, NothingElseOfTheProcessCanBeCalled) {
  auto code = loadObject(objectOf(callingModule(hostProcessor(), "getenv")), {});
  ASSERT_FALSE(code);
  EXPECT_EQ(code.error().code, "SM9001");
  EXPECT_THAT(code.error().message, HasSubstr("getenv"));
}

TEST(Jit, ManyThreadsCompileLoadAndCall) {
  constexpr int kThreads = 4, kRounds = 5;
  std::vector<std::thread> threads;
  std::vector<int64_t> sums(kThreads, 0);
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (int round = 0; round < kRounds; ++round) {
        auto object = generateObject(addModule(hostProcessor()), hostProcessor());
        auto code = object ? loadObject(*object, {}) : Result<std::shared_ptr<const LoadedCode>>(nullptr);
        if (code && *code)
          sums[static_cast<size_t>(t)] += (*code)->function<int64_t(int64_t, int64_t)>("add")(t, round);
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (int t = 0; t < kThreads; ++t) EXPECT_EQ(sums[static_cast<size_t>(t)], 5 * t + 10);
}

TEST(Jit, AMatmulTileIsRight) {
  const Processor& host = hostProcessor();
  constexpr int kRows = 6, kColumns = 2, kK = 8;
  const int width = kColumns * host.lanes(4);
  const auto code = loaded(matmulModule(host, kRows, kColumns, 4));
  std::vector<float> a(kRows * kK), b(static_cast<size_t>(width * kK)), c(static_cast<size_t>(width * kRows), -1.0f);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 5);
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 7);
  code->function<void(float*, const float*, const float*, int64_t)>("tile")(c.data(), a.data(), b.data(), kK);
  for (int r = 0; r < kRows; ++r)
    for (int n = 0; n < width; ++n) {
      float sum = 0;
      for (int k = 0; k < kK; ++k) sum += a[static_cast<size_t>(k * kRows + r)] * b[static_cast<size_t>(k * width + n)];
      EXPECT_EQ(c[static_cast<size_t>(r * width + n)], sum);
    }
}

TEST(Jit, AMalformedModuleIsRefused) {
  ModuleBuilder built(hostProcessor(), "broken");
  llvm::IRBuilder<> b(*built.context);
  auto* f = llvm::Function::Create(llvm::FunctionType::get(b.getInt64Ty(), false), llvm::Function::ExternalLinkage,
                                   "noReturn", *built.module);
  llvm::BasicBlock::Create(*built.context, "", f);  // without a terminator
  auto object = generateObject(std::move(built), hostProcessor());
  ASSERT_FALSE(object);
  EXPECT_EQ(object.error().code, "SM9001");
  EXPECT_THAT(object.error().message, HasSubstr("malformed"));
}

TEST(Jit, BytesThatAreNoObjectAreRefused) {
  std::string object = objectOf(addModule(hostProcessor()));
  const std::vector<std::string> bad{"", "no object", object.substr(0, object.size() / 2), std::string(4096, '\0')};
  for (const std::string& bytes : bad) {
    auto code = loadObject(bytes, {});
    ASSERT_FALSE(code);
    EXPECT_EQ(code.error().code, "SM9001");
  }
}

TEST(Jit, CodeForAnotherProcessorIsNotLoaded) {
  auto arm = processorNamed("aarch64-linux-gnu/neoverse-n1");
  ASSERT_TRUE(arm) << arm.error().str();
  auto code = loadObject(objectOf(addModule(*arm), *arm), {});
  ASSERT_FALSE(code);
  EXPECT_EQ(code.error().code, "SM9001");
}

/// Module-level assembly that no assembler takes: LLVM reports it through its diagnostics.
TEST(Jit, LlvmErrorsBecomeDiagnostics) {
  ModuleBuilder built = addModule(hostProcessor());
  built.module->setModuleInlineAsm("this is not an instruction");
  testing::internal::CaptureStderr();
  auto object = generateObject(std::move(built), hostProcessor());
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  ASSERT_FALSE(object);
  EXPECT_EQ(object.error().code, "SM9001");
}

/// An intrinsic of instructions that the processor does not have: LLVM's report_fatal_error.
TEST(Jit, LlvmFatalErrorsBecomeDiagnostics) {
  auto processor = processorNamed("x86_64-linux-gnu/haswell");
  ASSERT_TRUE(processor);
  for (int round = 0; round < 2; ++round) {
    ModuleBuilder built(*processor, "dot");
    llvm::IRBuilder<> b(*built.context);
    auto* type = llvm::FixedVectorType::get(b.getInt32Ty(), 16);
    auto* bytes = llvm::FixedVectorType::get(b.getInt8Ty(), 64);
    auto* f = llvm::Function::Create(llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy()}, false),
                                     llvm::Function::ExternalLinkage, "dot", *built.module);
    b.SetInsertPoint(llvm::BasicBlock::Create(*built.context, "", f));
    auto* v = b.CreateLoad(type, f->getArg(0));
    auto* w = b.CreateLoad(bytes, f->getArg(0));
    llvm::FunctionCallee dot = built.module->getOrInsertFunction(
        "llvm.x86.avx512.vpdpbusd.512", llvm::FunctionType::get(type, {type, bytes, bytes}, false));
    b.CreateStore(b.CreateCall(dot, {v, w, w}), f->getArg(0));
    b.CreateRetVoid();
    testing::internal::CaptureStderr();
    auto object = generateObject(std::move(built), *processor);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    ASSERT_FALSE(object);
    EXPECT_EQ(object.error().code, "SM9001");
    EXPECT_THAT(object.error().message, HasSubstr("LLVM gave up"));
    EXPECT_EQ(loaded(addModule(hostProcessor()))->function<int64_t(int64_t, int64_t)>("add")(1, 2), 3);
  }
}

}  // namespace
}  // namespace smalti::cpu
