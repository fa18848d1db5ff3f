#include "cpu/aot/ProcessorCheck.h"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "cpu/jit/Targets.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Module.h"
#include "llvm/TargetParser/Triple.h"

namespace smalti::cpu {
namespace {

enum Word : unsigned { eax, ebx, ecx, edx };

/// A cpuid leaf: the values of eax and ecx.
using Leaf = std::pair<uint32_t, uint32_t>;
constexpr Leaf kBasic{1, 0}, kExtended{7, 0}, kExtended1{7, 1}, kAmd{0x80000001, 0};

/// What LLVM may use implicitly, and its cpuid bit (Intel's Software Developer's Manual, volume 2A, CPUID; AMD's
/// Architecture Programmer's Manual, volume 3, appendix E). AMX, for one, is only used where a program asks for it.
struct Feature {
  const char* name;  ///< LLVM's
  Leaf leaf;
  Word word;
  unsigned bit;
};
constexpr std::array kFeatures{Feature{"sse4.2", kBasic, ecx, 20},
                               Feature{"movbe", kBasic, ecx, 22},
                               Feature{"popcnt", kBasic, ecx, 23},
                               Feature{"avx", kBasic, ecx, 28},
                               Feature{"fma", kBasic, ecx, 12},
                               Feature{"f16c", kBasic, ecx, 29},
                               Feature{"lzcnt", kAmd, ecx, 5},
                               Feature{"sse4a", kAmd, ecx, 6},
                               Feature{"fma4", kAmd, ecx, 16},
                               Feature{"xop", kAmd, ecx, 11},
                               Feature{"tbm", kAmd, ecx, 21},
                               Feature{"bmi", kExtended, ebx, 3},
                               Feature{"avx2", kExtended, ebx, 5},
                               Feature{"bmi2", kExtended, ebx, 8},
                               Feature{"avx512f", kExtended, ebx, 16},
                               Feature{"avx512dq", kExtended, ebx, 17},
                               Feature{"avx512ifma", kExtended, ebx, 21},
                               Feature{"avx512cd", kExtended, ebx, 28},
                               Feature{"avx512bw", kExtended, ebx, 30},
                               Feature{"avx512vl", kExtended, ebx, 31},
                               Feature{"avx512vbmi", kExtended, ecx, 1},
                               Feature{"avx512vbmi2", kExtended, ecx, 6},
                               Feature{"gfni", kExtended, ecx, 8},
                               Feature{"avx512vnni", kExtended, ecx, 11},
                               Feature{"avx512bitalg", kExtended, ecx, 12},
                               Feature{"avx512vpopcntdq", kExtended, ecx, 14},
                               Feature{"avx512fp16", kExtended, edx, 23},
                               Feature{"avxvnni", kExtended1, eax, 4},
                               Feature{"avx512bf16", kExtended1, eax, 5},
                               Feature{"egpr", kExtended1, edx, 21}};
constexpr unsigned kOsxsaveBit = 27;  // of kBasic's ecx: xgetbv may be used

/// The registers that the system must save: XCR0's bits for xmm and ymm, and for masks and the halves of zmm.
constexpr uint32_t kYmmState = 0x06, kZmmState = 0xe0;

/// The bits that must be set, leaf by leaf.
struct Needed {
  std::map<Leaf, std::array<uint32_t, 4>> bits;
  uint32_t state = 0;
};

Needed neededBy(const Processor& processor) {
  Needed needed;
  const LlvmFeatures known(processor.triple, processor.name, processor.features);
  for (const Feature& f : kFeatures)
    if (known.has(f.name)) needed.bits[f.leaf][f.word] |= 1U << f.bit;
  needed.state = (known.has("avx") ? kYmmState : 0) | (known.has("avx512f") ? kZmmState : 0);
  if (needed.state) needed.bits[kBasic][ecx] |= 1U << kOsxsaveBit;
  return needed;
}

class CheckBuilder {
 public:
  CheckBuilder(llvm::Module& module, Needed needed)
      : module_(module), needed_(std::move(needed)), b_(module.getContext()) {}

  /// Queries cpuid once and caches the result. Concurrent queries are harmless: they get the same result.
  llvm::Function* build() {
    enum Known : uint8_t { unknown, all, not_all };
    llvm::Function* ask = buildAsk();
    begin("processor.runs");
    auto* known = new llvm::GlobalVariable(module_, b_.getInt8Ty(), false, llvm::GlobalValue::InternalLinkage,
                                           b_.getInt8(unknown), "processor.known");
    auto* now = b_.CreateLoad(b_.getInt8Ty(), known);
    now->setAtomic(llvm::AtomicOrdering::Monotonic);
    llvm::BasicBlock *first = block(), *later = block();
    b_.CreateCondBr(b_.CreateICmpEQ(now, b_.getInt8(unknown)), first, later);
    b_.SetInsertPoint(later);
    b_.CreateRet(b_.CreateICmpEQ(now, b_.getInt8(all)));
    b_.SetInsertPoint(first);
    llvm::Value* runs = b_.CreateCall(ask);
    b_.CreateStore(b_.CreateSelect(runs, b_.getInt8(all), b_.getInt8(not_all)), known)
        ->setAtomic(llvm::AtomicOrdering::Monotonic);
    b_.CreateRet(runs);
    return function_;
  }

 private:
  llvm::Function* buildAsk() {
    begin("processor.ask");
    lacks_ = block();
    // For a leaf beyond the last, cpuid returns the last leaf's registers.
    for (const uint32_t range : {0U, 0x80000000U}) {
      uint32_t last = range;
      for (const auto& [leaf, words] : needed_.bits)
        if ((leaf.first & 0x80000000U) == range) last = std::max(last, leaf.first);
      goOnIf(b_.CreateICmpUGE(cpuid({range, 0})[eax], b_.getInt32(last)));
    }
    for (const auto& [leaf, words] : needed_.bits) {
      const std::array<llvm::Value*, 4> have = cpuid(leaf);
      for (const Word word : {eax, ebx, ecx, edx})
        if (words[word]) goOnIf(allSet(have[word], words[word]));
    }
    if (needed_.state) goOnIf(allSet(enabledState(), needed_.state));
    b_.CreateRet(b_.getTrue());
    b_.SetInsertPoint(lacks_);
    b_.CreateRet(b_.getFalse());
    return function_;
  }

  void begin(const char* name) {
    function_ = llvm::Function::Create(llvm::FunctionType::get(b_.getInt1Ty(), false), llvm::Function::InternalLinkage,
                                       name, module_);
    useBaselineInstructions(*function_);
    b_.SetInsertPoint(block());
  }

  llvm::BasicBlock* block() { return llvm::BasicBlock::Create(b_.getContext(), "", function_); }

  void goOnIf(llvm::Value* condition) {
    llvm::BasicBlock* next = block();
    b_.CreateCondBr(condition, next, lacks_);
    b_.SetInsertPoint(next);
  }

  llvm::Value* allSet(llvm::Value* word, uint32_t bits) {
    return b_.CreateICmpEQ(b_.CreateAnd(word, b_.getInt32(bits)), b_.getInt32(bits));
  }

  llvm::Value* assembly(const char* text, const char* constraints, unsigned results, llvm::ArrayRef<llvm::Value*> in) {
    const std::vector<llvm::Type*> words(results, b_.getInt32Ty()), arguments(in.size(), b_.getInt32Ty());
    auto* type = llvm::FunctionType::get(llvm::StructType::get(b_.getContext(), words), arguments, false);
    return b_.CreateCall(type, llvm::InlineAsm::get(type, text, constraints, true), in);
  }

  std::array<llvm::Value*, 4> cpuid(const Leaf& leaf) {
    llvm::Value* words = assembly("cpuid", "={ax},={bx},={cx},={dx},0,2,~{dirflag},~{fpsr},~{flags}", 4,
                                  {b_.getInt32(leaf.first), b_.getInt32(leaf.second)});
    return {b_.CreateExtractValue(words, 0), b_.CreateExtractValue(words, 1), b_.CreateExtractValue(words, 2),
            b_.CreateExtractValue(words, 3)};
  }

  /// XCR0's low word. In bytes: assemblers want the name of the extension first.
  llvm::Value* enabledState() {
    return b_.CreateExtractValue(
        assembly(".byte 0x0f, 0x01, 0xd0", "={ax},={dx},{cx},~{dirflag},~{fpsr},~{flags}", 2, {b_.getInt32(0)}), 0);
  }

  llvm::Module& module_;
  const Needed needed_;
  llvm::IRBuilder<> b_;
  llvm::Function* function_ = nullptr;
  llvm::BasicBlock* lacks_ = nullptr;
};

}  // namespace

void useBaselineInstructions(llvm::Function& f) {
  f.addFnAttr("target-cpu", "x86-64");
  f.addFnAttr("target-features", "");
}

bool objectsAskFor(const Processor& processor) {
  return llvm::Triple(processor.triple).getArch() == llvm::Triple::x86_64;
}

llvm::Function* addProcessorCheck(llvm::Module& module, const Processor& processor) {
  if (!objectsAskFor(processor)) return nullptr;
  return CheckBuilder(module, neededBy(processor)).build();
}

}  // namespace smalti::cpu
