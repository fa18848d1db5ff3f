#include "interop/bytecode/Numbering.h"

#include <algorithm>
#include <span>

#include "mlir/IR/Dialect.h"

namespace smalti::interop::bytecode {

/// Visits the attributes and types that an encoding refers to, in its order.
class NumberingSink final : public EncodingSink {
 public:
  explicit NumberingSink(Numbering& numbering) : numbering_(numbering) {}
  void byte(uint8_t) override {}
  void varint(uint64_t) override {}
  void string(llvm::StringRef) override {}
  void blob(llvm::ArrayRef<char>) override {}
  void attribute(mlir::Attribute a) override { numbering_.add(a); }
  void type(mlir::Type t) override { numbering_.add(t); }

 private:
  Numbering& numbering_;
};

namespace {

template <class T>
void assignNumbers(std::vector<std::unique_ptr<Numbered<T>>>& entries) {
  std::ranges::stable_sort(entries, [](const auto& a, const auto& b) { return a->uses > b->uses; });
  // MLIR's groups: 128 numbers of one byte, then what it takes for those of two. The dialect that ended a group begins
  // the next one.
  uint32_t firstDialect = 0;
  size_t groupSize = 0;
  std::span rest(entries);
  for (int bytes = 1; bytes < 9 && !rest.empty(); ++bytes) {
    groupSize = (size_t{1} << (7 * bytes)) - groupSize;
    auto group = rest.first(std::min(groupSize, rest.size()));
    rest = rest.subspan(group.size());
    std::ranges::stable_sort(group, {},
                             [&](const auto& e) { return std::pair(e->dialect != firstDialect, e->dialect); });
    firstDialect = group.back()->dialect;
  }
  for (size_t i = 0; i < entries.size(); ++i) entries[i]->number = static_cast<uint32_t>(i);
}

}  // namespace

Numbering::Numbering(mlir::ModuleOp module, const StableOps& ops, EncodingDialect encoding)
    : ops_(ops), encoding_(encoding) {
  addOp(module);
  // Regions still to visit, and the number of the first value in each. Values inside an isolated op count from zero.
  std::vector<std::pair<mlir::Region*, uint32_t>> pending;
  auto push = [&](mlir::Operation* op) {
    const uint32_t first = ops_.at(op).isolated ? 0 : nextValue_;
    for (mlir::Region& r : op->getRegions()) pending.emplace_back(&r, first);
  };
  push(module);
  while (!pending.empty()) {
    auto [region, first] = pending.back();
    pending.pop_back();
    nextValue_ = first;
    addRegion(*region);
    for (mlir::Operation& op : region->getOps()) push(&op);
  }
  assignNumbers(attributes_);
  assignNumbers(opNames_);
  assignNumbers(types_);
}

void Numbering::addRegion(mlir::Region& region) {
  if (region.empty()) return;
  const uint32_t first = nextValue_;
  for (mlir::BlockArgument a : region.front().getArguments()) {
    valueNumbers_[a] = nextValue_++;
    add(mlir::LocationAttr(a.getLoc()));
    add(a.getType());
  }
  for (mlir::Operation& op : region.front()) addOp(&op);
  regionValues_[&region] = nextValue_ - first;
}

void Numbering::addOp(mlir::Operation* op) {
  const StableOp& stable = ops_.at(op);
  addOpName(stable);
  for (mlir::Value result : op->getResults()) {
    valueNumbers_[result] = nextValue_++;
    add(result.getType());
  }
  if (!stable.attributes.empty()) add(stable.attributes);
  add(mlir::LocationAttr(op->getLoc()));
}

void Numbering::addOpName(const StableOp& op) {
  Numbered<std::string>*& known = opNameByName_[op.dialect + "." + op.name];
  if (known) {
    ++known->uses;
    return;
  }
  opNames_.push_back(std::make_unique<Numbered<std::string>>(op.name, dialectNumber(op.dialect)));
  known = opNames_.back().get();
}

void Numbering::add(mlir::Attribute a) {
  auto [it, isNew] = attributeByValue_.try_emplace(a, nullptr);
  if (!isNew) {
    ++it->second->uses;
    return;
  }
  attributes_.push_back(std::make_unique<Numbered<mlir::Attribute>>(a));
  Numbered<mlir::Attribute>* entry = attributes_.back().get();
  it->second = entry;
  entry->dialect = dialectNumber(a.getDialect().getNamespace());
  NumberingSink sink(*this);
  encode(a, sink, encoding_);
}

void Numbering::add(mlir::Type t) {
  auto [it, isNew] = typeByValue_.try_emplace(t, nullptr);
  if (!isNew) {
    ++it->second->uses;
    return;
  }
  types_.push_back(std::make_unique<Numbered<mlir::Type>>(t));
  Numbered<mlir::Type>* entry = types_.back().get();
  it->second = entry;
  entry->dialect = dialectNumber(t.getDialect().getNamespace());
  NumberingSink sink(*this);
  encode(t, sink, encoding_);
}

uint32_t Numbering::dialectNumber(llvm::StringRef name) {
  auto [it, isNew] = dialectByName_.try_emplace(name, static_cast<uint32_t>(dialects_.size()));
  if (isNew) dialects_.push_back(name.str());
  return it->second;
}

}  // namespace smalti::interop::bytecode
