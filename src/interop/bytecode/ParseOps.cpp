#include "interop/bytecode/ParseOps.h"

#include <fmt/format.h>

#include "interop/bytecode/BytecodeLimits.h"
#include "interop/bytecode/Format.h"

namespace smalti::interop::bytecode {
namespace {

class OpParser {
 public:
  OpParser(Cursor& c, const BodyModel& model) : c_(c), model_(model) {}

  OpRecord op(int depth) {
    OpRecord r;
    r.offset = c_.offset();
    r.name = c_.index("an op name", model_.opNames.size());
    const uint8_t mask = c_.byte("an op's parts");
    if (mask & kHasSuccessors)
      c_.fail("SM2107", fmt::format("'{}' branches to another block", model_.opNames[r.name].name),
              "structured control flow (scf.if, scf.for, scf.while)");
    else if (mask > (kHasAttributes | kHasResults | kHasOperands | kHasRegions))
      c_.fail("SM2101", "an op has parts that this container version does not have", {}, fmt::format("{:#x}", mask));
    r.location = c_.index("a location", model_.attributes.size());
    if (mask & kHasAttributes) r.attributes = c_.index("an attribute dictionary", model_.attributes.size());
    if (mask & kHasResults) {
      r.resultTypes.resize(c_.count("results"));
      for (uint32_t& t : r.resultTypes) t = c_.index("a type", model_.types.size());
    }
    if (mask & kHasOperands) {
      r.operands.resize(c_.count("operands"));
      for (uint64_t& o : r.operands) o = c_.varint("an operand");
    }
    if (mask & kHasRegions) regions(r, depth);
    return r;
  }

 private:
  void regions(OpRecord& r, int depth) {
    const uint64_t countAndFlag = c_.varint("an op's regions");
    r.isolated = (countAndFlag & 1) != 0;
    const uint64_t n = countAndFlag >> 1;
    if (c_.ok() && n > c_.remaining())
      c_.fail("SM2101", "the kernel body has too few bytes left for an op's regions", {}, fmt::format("{} regions", n));
    if (c_.ok() && depth >= kMaxRegionDepth)
      c_.fail("SM2106", "ops are nested too deeply", fmt::format("at most {} levels", kMaxRegionDepth));
    for (uint64_t i = 0; i < n && c_.ok(); ++i) r.regions.push_back(region(depth + 1));
  }

  RegionRecord region(int depth) {
    RegionRecord r;
    const uint64_t blocks = c_.varint("a region's blocks");
    if (blocks == 0) return r;
    if (blocks != 1)
      c_.fail("SM2107", "a region has control flow between blocks", "one block", fmt::format("{} blocks", blocks));
    r.empty = false;
    r.numValues = c_.varint("a region's number of values");
    const uint64_t opsAndFlag = c_.varint("a block's ops");
    uint64_t values = 0;
    if (opsAndFlag & 1) {
      r.arguments.resize(c_.count("block arguments", 2));
      values = r.arguments.size();
      for (BlockArgument& a : r.arguments) {
        a.type = c_.index("a type", model_.types.size());
        a.location = c_.index("a location", model_.attributes.size());
      }
    }
    for (uint64_t i = 0; i < opsAndFlag >> 1 && c_.ok(); ++i) {
      r.ops.push_back(op(depth));
      values += r.ops.back().resultTypes.size();
    }
    if (c_.ok() && values != r.numValues)
      c_.fail("SM2101", "a region declares another number of values than it has", fmt::format("{}", values),
              fmt::format("{}", r.numValues));
    return r;
  }

  Cursor& c_;
  const BodyModel& model_;
};

}  // namespace

void parseOps(Cursor c, BodyModel& model) {
  const uint64_t opsAndFlag = c.varint("the body's ops");
  if (c.ok() && opsAndFlag != 1 << 1)
    c.fail("SM2101", "the kernel body does not hold exactly one module", "1 op",
           fmt::format("{} ops", opsAndFlag >> 1));
  if (c.ok()) model.root = OpParser(c, model).op(0);
  c.expectEnd("the op section");
}

}  // namespace smalti::interop::bytecode
