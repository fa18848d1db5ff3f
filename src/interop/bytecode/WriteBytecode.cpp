#include <fmt/format.h>

#include "llvm/Support/raw_ostream.h"

#include "interop/Interop.h"
#include "interop/bytecode/ByteWriter.h"
#include "interop/bytecode/Numbering.h"
#include "interop/bytecode/StableOps.h"

namespace smalti::interop {

using namespace bytecode;

namespace {

constexpr std::string_view kProducer = "smalti";
constexpr int kFirstVersionWithNewerCodes = 14;

/// Spells one attribute or type by the numbers of the others.
class WritingSink final : public EncodingSink {
 public:
  WritingSink(ByteWriter& out, const Numbering& numbering, StringTable& strings)
      : out_(out), numbering_(numbering), strings_(strings) {}
  void byte(uint8_t b) override { out_.byte(b); }
  void varint(uint64_t v) override { out_.varint(v); }
  void string(llvm::StringRef s) override { out_.varint(strings_.number(s)); }
  void blob(llvm::ArrayRef<char> b) override {
    out_.varint(b.size());
    out_.append({b.data(), b.size()});
  }
  void attribute(mlir::Attribute a) override { out_.varint(numbering_.number(a)); }
  void type(mlir::Type t) override { out_.varint(numbering_.number(t)); }

 private:
  ByteWriter& out_;
  const Numbering& numbering_;
  StringTable& strings_;
};

class BodyWriter {
 public:
  BodyWriter(mlir::ModuleOp module, const StableOps& ops, EncodingDialect encoding)
      : module_(module), ops_(ops), encoding_(encoding), numbering_(module, ops, encoding) {}

  std::string write() {
    ByteWriter file;
    file.append(kMagic);
    file.varint(kContainerVersion);
    file.append(kProducer);
    file.byte(0);
    file.section(Section::Dialect, dialects());
    ByteWriter entries;
    file.section(Section::AttrTypeOffset, attributesAndTypes(entries));
    file.section(Section::AttrType, entries);
    ByteWriter ir;
    ir.varintWithFlag(1, false);
    op(ir, module_);
    file.section(Section::Ir, ir);
    ByteWriter noResources;
    noResources.varint(0);
    file.section(Section::ResourceOffset, noResources);
    file.section(Section::Resource, ByteWriter());
    file.section(Section::String, stringSection());
    return std::move(file.bytes());
  }

 private:
  // Runs of entries of one dialect: its number, how many, and each entry.
  template <class Entries, class Write>
  static void grouped(ByteWriter& out, const Entries& entries, Write&& write) {
    for (auto it = entries.begin(); it != entries.end();) {
      const uint32_t dialect = (*it)->dialect;
      auto end = std::find_if(it, entries.end(), [&](const auto& e) { return e->dialect != dialect; });
      out.varint(dialect);
      out.varint(end - it);
      for (; it != end; ++it) write(**it);
    }
  }

  ByteWriter dialects() {
    ByteWriter out;
    out.varint(numbering_.dialects().size());
    for (const std::string& name : numbering_.dialects()) out.varint(strings_.number(name));
    grouped(out, numbering_.opNames(), [&](const auto& e) { out.varint(strings_.number(e.value)); });
    return out;
  }

  ByteWriter attributesAndTypes(ByteWriter& entries) {
    ByteWriter offsets;
    offsets.varint(numbering_.attributes().size());
    offsets.varint(numbering_.types().size());
    auto write = [&](const auto& e) {
      const size_t start = entries.size();
      WritingSink sink(entries, numbering_, strings_);
      const bool encoded = encode(e.value, sink, encoding_);
      if (!encoded) {
        llvm::raw_string_ostream(entries.bytes()) << e.value;
        entries.byte(0);
      }
      offsets.varintWithFlag(entries.size() - start, encoded);
    };
    grouped(offsets, numbering_.attributes(), write);
    grouped(offsets, numbering_.types(), write);
    return offsets;
  }

  void op(ByteWriter& out, mlir::Operation* op) {
    const StableOp& stable = ops_.at(op);
    out.varint(numbering_.numberOfName(stable));
    out.byte((stable.attributes.empty() ? 0 : kHasAttributes) | (op->getNumResults() ? kHasResults : 0) |
             (op->getNumOperands() ? kHasOperands : 0) | (op->getNumRegions() ? kHasRegions : 0));
    out.varint(numbering_.number(mlir::LocationAttr(op->getLoc())));
    if (!stable.attributes.empty()) out.varint(numbering_.number(stable.attributes));
    if (op->getNumResults()) {
      out.varint(op->getNumResults());
      for (mlir::Type t : op->getResultTypes()) out.varint(numbering_.number(t));
    }
    if (op->getNumOperands()) {
      out.varint(op->getNumOperands());
      for (mlir::Value v : op->getOperands()) out.varint(numbering_.number(v));
    }
    if (op->getNumRegions() == 0) return;
    out.varintWithFlag(op->getNumRegions(), stable.isolated);
    for (mlir::Region& r : op->getRegions()) region(out, r);
  }

  void region(ByteWriter& out, mlir::Region& r) {
    out.varint(r.empty() ? 0 : 1);
    if (r.empty()) return;
    out.varint(numbering_.numValues(&r));
    mlir::Block& block = r.front();
    out.varintWithFlag(block.getOperations().size(), block.getNumArguments() != 0);
    if (block.getNumArguments() != 0) {
      out.varint(block.getNumArguments());
      for (mlir::BlockArgument a : block.getArguments()) {
        out.varint(numbering_.number(a.getType()));
        out.varint(numbering_.number(mlir::LocationAttr(a.getLoc())));
      }
    }
    for (mlir::Operation& inner : block) op(out, &inner);
  }

  ByteWriter stringSection() {
    ByteWriter out;
    const std::vector<llvm::StringRef>& all = strings_.strings();
    out.varint(all.size());
    for (auto it = all.rbegin(); it != all.rend(); ++it) out.varint(it->size() + 1);
    for (llvm::StringRef s : all) {
      out.append(s);
      out.byte(0);
    }
    return out;
  }

  mlir::ModuleOp module_;
  const StableOps& ops_;
  EncodingDialect encoding_;
  Numbering numbering_;
  StringTable strings_;
};

}  // namespace

Result<std::string> writeBytecode(mlir::ModuleOp module, int version) {
  if (version < kOldestWritableVersion || version > kNewestReadableVersion)
    return fail({.code = "SM2110",
                 .message = "kernels cannot be written in this stable_mosaic version",
                 .need = fmt::format("{} to {}", kOldestWritableVersion, kNewestReadableVersion),
                 .have = fmt::format("{}", version),
                 .help = fmt::format("{} is a version that every recent JAX reads", kDefaultVersion)});
  Result<StableOps> ops = stableOps(module, version);
  if (!ops) return fail(ops.error());
  return BodyWriter(module, *ops, {.newerCodes = version >= kFirstVersionWithNewerCodes}).write();
}

}  // namespace smalti::interop
