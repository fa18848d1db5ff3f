// A module as the container spells it: tables of strings, dialects, names, attributes and types (not yet
// decoded), and the tree of ops that refers to them by number. No MLIR here; views point into the body's bytes.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "interop/bytecode/BytecodeLimits.h"
#include "interop/bytecode/Cursor.h"
#include "interop/bytecode/Format.h"

namespace smalti::interop::bytecode {

/// One attribute or type: the bytes that encode it, and its place in the body.
struct Entry {
  uint32_t dialect = 0;
  bool encoded = false;  ///< the dialect's binary encoding, else text with a zero byte at its end
  std::string_view bytes;
  uint64_t offset = 0;
};

struct OpName {
  uint32_t dialect = 0;
  std::string_view name;
};

struct OpRecord;

inline constexpr uint32_t kNoPlace = UINT32_MAX;

struct BlockArgument {
  uint32_t type = 0, location = 0;  ///< or kNoPlace
};

/// A region of one block, or none. Kernels have no control flow between blocks.
struct RegionRecord {
  bool empty = true;
  uint64_t numValues = 0;  ///< block arguments and op results directly inside
  std::vector<BlockArgument> arguments;
  std::vector<OpRecord> ops;
};

struct OpRecord {
  uint64_t offset = 0;
  uint32_t name = 0;
  uint32_t location = 0;
  int64_t attributes = -1;  ///< a dictionary; -1: none
  int64_t properties = -1;  ///< attributes that are not in the dictionary; -1: none
  bool isolated = false;    ///< the regions number their values from zero
  std::vector<uint32_t> resultTypes;
  std::vector<uint64_t> operands;  ///< value numbers
  std::vector<RegionRecord> regions;
};

/// The attributes that an op has by its definition, as the op's own code wrote them.
struct PropertiesEntry {
  std::string_view bytes;
  uint64_t offset = 0;
};

struct BodyModel {
  uint64_t version = 0;  ///< of the container
  std::vector<std::string_view> strings;
  std::vector<std::string_view> dialects;
  std::vector<OpName> opNames;
  std::vector<Entry> attributes, types;
  std::vector<PropertiesEntry> properties;
  OpRecord root;
};

/// The accepted content: by default a kernel body.
struct Accepted {
  uint64_t newestVersion = kContainerVersion;
  uint64_t maxBytes = kMaxBytes;
};

/// Reads the container. On failure `state` holds the diagnostic and the model is partial. Work and memory are linear in
/// the size of `bytes`.
BodyModel parseBody(std::string_view bytes, ReadState& state, const Accepted& = {});

/// Whether this is bytecode at all, by its first bytes.
bool isBytecode(std::string_view bytes);

}  // namespace smalti::interop::bytecode
