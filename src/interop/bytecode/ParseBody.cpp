// Container header, section table, and the sections that are tables. Ops: ParseOps.cpp.
#include <array>
#include <optional>

#include <fmt/format.h>

#include "interop/bytecode/BytecodeLimits.h"
#include "interop/bytecode/Format.h"
#include "interop/bytecode/Model.h"
#include "interop/bytecode/ParseOps.h"

namespace smalti::interop::bytecode {
namespace {

struct SectionBytes {
  std::string_view bytes;
  uint64_t offset = 0;
};
using SectionTable = std::array<std::optional<SectionBytes>, kNumSections>;

constexpr std::array<const char*, kNumSections> kSectionNames = {
    "the string section",           "the dialect section", "the attribute section",
    "the attribute offset section", "the op section",      "the resource section",
    "the resource offset section",  "the version section", "the property section"};

uint64_t parseHeader(Cursor& c, std::string_view bytes, const Accepted& accepted) {
  if (bytes.size() > accepted.maxBytes)
    c.fail("SM2106", fmt::format("the {} is too large", c.state().what()),
           fmt::format("at most {} bytes", accepted.maxBytes), fmt::format("{} bytes", bytes.size()));
  if (c.take(kMagic.size(), "its first bytes") != kMagic)
    c.fail("SM2101", "this is not a kernel body", "MLIR bytecode, which begins with the bytes 4d 4c ef 52", {},
           "the body is the base64-decoded value of custom_call_config.body");
  const uint64_t version = c.varint("the container's version");
  if (c.ok()) c.state().setProducer(c.cstring("the producer's name"));
  if (c.ok() && accepted.newestVersion > kContainerVersion && version > accepted.newestVersion)
    c.fail("SM2102", fmt::format("the {}'s bytecode container is newer than what is known", c.state().what()),
           fmt::format("container version 0 to {}", accepted.newestVersion),
           fmt::format("container version {}", version), "give the text of the module: exported.mlir_module()");
  else if (c.ok() && accepted.newestVersion == kContainerVersion && version != kContainerVersion)
    c.fail("SM2102", "the kernel body's bytecode container is of a version that kernels do not use",
           fmt::format("container version {}, as the mosaic-serde pass writes it", kContainerVersion),
           fmt::format("container version {}", version), "write the body with desired bytecode version 0");
  return version;
}

/// A section's kind and bytes.
std::pair<int, SectionBytes> parseSection(Cursor& c) {
  const uint8_t code = c.byte("a section's code");
  const uint8_t id = code & 0x7f;
  if (id >= kNumSections) {
    c.fail("SM2101", fmt::format("the {} has a section of unknown kind", c.state().what()),
           fmt::format("0 to {}", kNumSections - 1), fmt::format("{}", id));
    return {};
  }
  const uint64_t size = c.varint("a section's size");
  if (code & 0x80) {  // aligned: padding bytes up to a multiple of the alignment follow
    const uint64_t alignment = c.varint("a section's alignment");
    if (c.ok() && (alignment == 0 || (alignment & (alignment - 1)) != 0))
      c.fail("SM2101", "a section's alignment is not a power of two", {}, fmt::format("{}", alignment));
    while (c.ok() && c.offset() % alignment != 0)
      if (c.byte("a section's padding") != kAlignmentByte) c.fail("SM2101", "a section's padding has other bytes");
  }
  const uint64_t offset = c.offset();
  return {id, {c.take(size, kSectionNames[id]), offset}};
}

SectionTable parseSections(Cursor& c) {
  SectionTable table;
  while (c.ok() && !c.atEnd()) {
    const auto [id, section] = parseSection(c);
    if (table[id]) c.fail("SM2101", fmt::format("the {} has {} twice", c.state().what(), kSectionNames[id]));
    table[id] = section;
  }
  for (Section needed : {Section::String, Section::Dialect, Section::AttrType, Section::AttrTypeOffset, Section::Ir})
    if (!table[static_cast<int>(needed)])
      c.fail("SM2101", fmt::format("the {} lacks {}", c.state().what(), kSectionNames[static_cast<int>(needed)]));
  return table;
}

// Sizes first, last string's first; then the strings, each with a zero byte.
void parseStrings(Cursor c, BodyModel& model) {
  const uint64_t n = c.count("strings", 2);
  std::vector<uint64_t> sizes(n);
  for (uint64_t i = n; i-- > 0;) sizes[i] = c.varint("a string's size");
  model.strings.reserve(n);
  for (uint64_t i = 0; i < n && c.ok(); ++i) {
    std::string_view s = c.take(sizes[i], "a string");
    if (c.ok() && (s.empty() || s.back() != '\0'))
      c.fail("SM2101", fmt::format("a string of the {} lacks the zero byte at its end", c.state().what()));
    if (c.ok()) model.strings.push_back(s.substr(0, s.size() - 1));
  }
  c.expectEnd("the string section");
}

// Newer containers put flags into the lowest bits: a dialect has a version, which does not matter, and an op's name was
// registered, which does not matter either.
void parseDialects(Cursor c, BodyModel& model) {
  const bool versioned = model.version >= kDialectVersions, registered = model.version >= kProperties;
  const auto string = [&](uint64_t index, const char* what) -> std::string_view {
    if (index < model.strings.size()) return model.strings[index];
    c.fail("SM2101", fmt::format("the {} refers to {} it does not have", c.state().what(), what),
           fmt::format("an index below {}", model.strings.size()), fmt::format("{}", index));
    return {};
  };
  const uint64_t n = c.count("dialects");
  for (uint64_t i = 0; i < n && c.ok(); ++i) {
    const uint64_t index = c.varint("a dialect's name");
    model.dialects.push_back(string(versioned ? index >> 1 : index, "a dialect's name"));
    if (versioned && (index & 1)) parseSection(c);
  }
  if (model.version >= kArgumentsWithoutPlace) c.count("op names");
  while (c.ok() && !c.atEnd()) {
    const uint32_t dialect = c.index("a dialect", model.dialects.size());
    const uint64_t names = c.count("op names");
    for (uint64_t i = 0; i < names && c.ok(); ++i) {
      const uint64_t index = c.varint("an op's name");
      model.opNames.push_back({dialect, string(registered ? index >> 1 : index, "an op's name")});
    }
  }
}

void parseEntries(Cursor& offsets, Cursor& data, uint64_t n, size_t numDialects, std::vector<Entry>& entries) {
  entries.reserve(n);
  while (offsets.ok() && entries.size() < n) {
    const uint32_t dialect = offsets.index("a dialect", numDialects);
    const uint64_t group = offsets.count("attributes or types of a dialect");
    if (offsets.ok() && (group == 0 || group > n - entries.size()))
      offsets.fail("SM2101", "a group of attributes or types has an impossible size",
                   fmt::format("1 to {}", n - entries.size()), fmt::format("{}", group));
    for (uint64_t i = 0; i < group && offsets.ok(); ++i) {
      const uint64_t sizeAndFlag = offsets.varint("an attribute's or type's size");
      Entry entry{.dialect = dialect, .encoded = (sizeAndFlag & 1) != 0, .bytes = {}, .offset = data.offset()};
      entry.bytes = data.take(sizeAndFlag >> 1, "an attribute or type");
      entries.push_back(entry);
    }
  }
}

void parseAttrTypes(Cursor offsets, Cursor data, BodyModel& model) {
  const uint64_t numAttributes = offsets.count("attributes");
  const uint64_t numTypes = offsets.count("types");
  parseEntries(offsets, data, numAttributes, model.dialects.size(), model.attributes);
  parseEntries(offsets, data, numTypes, model.dialects.size(), model.types);
  offsets.expectEnd("the attribute offset section");
  data.expectEnd("the attribute section");
}

void parseProperties(Cursor c, BodyModel& model) {
  const uint64_t n = c.count("properties");
  for (uint64_t i = 0; i < n && c.ok(); ++i) {
    const uint64_t size = c.varint("the size of an op's properties");
    const uint64_t offset = c.offset();
    model.properties.push_back({c.take(size, "an op's properties"), offset});
  }
  c.expectEnd("the property section");
}

}  // namespace

bool isBytecode(std::string_view bytes) { return bytes.starts_with(kMagic); }

BodyModel parseBody(std::string_view bytes, ReadState& state, const Accepted& accepted) {
  BodyModel model;
  Cursor file(state, bytes, 0);
  model.version = parseHeader(file, bytes, accepted);
  const SectionTable sections = parseSections(file);
  if (!state.ok()) return model;
  auto section = [&](Section id) {
    const SectionBytes& s = *sections[static_cast<int>(id)];
    return Cursor(state, s.bytes, s.offset);
  };
  parseStrings(section(Section::String), model);
  parseDialects(section(Section::Dialect), model);
  parseAttrTypes(section(Section::AttrTypeOffset), section(Section::AttrType), model);
  if (sections[static_cast<int>(Section::Properties)]) parseProperties(section(Section::Properties), model);
  if (state.ok()) parseOps(section(Section::Ir), model);
  return model;
}

}  // namespace smalti::interop::bytecode
