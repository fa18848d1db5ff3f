// A PJRT plugin whose devices are the abstract machine: for tests of the client, with faults on demand.
//
// FAKE_PJRT_DEVICES=N             number of devices (2)
// FAKE_PJRT_ERROR=ENTRY:CODE:TEXT the entry answers with this error
// FAKE_PJRT_CRASH=ENTRY           the entry ends the process by SIGABRT, after a line as libtpu writes it
// FAKE_PJRT_HANG=ENTRY            the entry does not return
// FAKE_PJRT_NOTHING=ENTRY         the entry reports success and gives nothing
// FAKE_PJRT_LATE_MS=N             what events stand for happens so much later, on another thread
// FAKE_PJRT_LATE_ERROR=TEXT       events end with this error
// FAKE_PJRT_TABLE_BYTES=N, FAKE_PJRT_VERSION=MAJOR.MINOR, FAKE_PJRT_NO_TABLE=1   a wrong table
//
// Entries are given by their number in pjrt/Abi.h. Like a real plugin it refuses structs that are smaller than its own.
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "pjrt/Abi.h"
#include "smalti/module.h"

namespace {

using namespace smalti::pjrt::abi;
using smalti::Array;
using smalti::ArrayType;

std::atomic<int64_t> liveObjects{0};

/// Counts what the client has not destroyed.
struct Counted {
  Counted() { ++liveObjects; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --liveObjects; }
};

struct Error : Counted {
  int code;
  std::string text;
  Error(int code, std::string text) : code(code), text(std::move(text)) {}
};
struct Event : Counted {
  std::shared_future<std::string> done;  ///< text of its error; "": none
};
struct Buffer : Counted {
  Array array;
  int type = 0;
  std::shared_future<std::string> ready;
};
struct Executable : Counted {
  smalti::Module module;
  explicit Executable(smalti::Module module) : module(std::move(module)) {}
};
struct Topology : Counted {
  std::vector<void*> devices;
};
struct Device {
  int id;
};
struct Client : Counted {
  std::vector<Device> devices;
  std::vector<void*> pointers;
};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

/// Is the fault `name` set for this entry? What follows the number and a colon goes to `rest`.
bool isSet(const char* name, int entry, std::string* rest = nullptr) {
  const std::string value = variable(name), number = std::to_string(entry);
  if (value != number && !value.starts_with(number + ":")) return false;
  if (rest && value.size() > number.size()) *rest = value.substr(number.size() + 1);
  return true;
}

void* error(int code, std::string text) { return new Error(code, std::move(text)); }

/// When it is over, `work` has been done; late if so wished.
template <class Work>
std::shared_future<std::string> later(Work work) {
  const std::string late = variable("FAKE_PJRT_LATE_MS"), wrong = variable("FAKE_PJRT_LATE_ERROR");
  const auto whole = [late, wrong, work] {
    if (!late.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(late.c_str())));
    if (wrong.empty()) work();
    return wrong;
  };
  std::promise<std::string> promise;
  auto future = promise.get_future().share();
  if (late.empty())
    promise.set_value(whole());
  else
    std::thread([promise = std::move(promise), whole]() mutable { promise.set_value(whole()); }).detach();
  return future;
}

void* eventOf(std::shared_future<std::string> done) {
  auto* event = new Event;
  event->done = std::move(done);
  return event;
}

constexpr std::array<std::pair<int, smalti::DType>, 16> kTypes{{
    {1, smalti::DType::pred},
    {2, smalti::DType::i8},
    {3, smalti::DType::i16},
    {4, smalti::DType::i32},
    {5, smalti::DType::i64},
    {6, smalti::DType::u8},
    {7, smalti::DType::u16},
    {8, smalti::DType::u32},
    {9, smalti::DType::u64},
    {10, smalti::DType::f16},
    {11, smalti::DType::f32},
    {12, smalti::DType::f64},
    {13, smalti::DType::bf16},
    {16, smalti::DType::f8e5m2},
    {17, smalti::DType::f8e4m3fn},
    {21, smalti::DType::i4},
}};

int numberOf(smalti::DType dtype) {
  for (const auto& [number, type] : kTypes)
    if (type == dtype) return number;
  return 0;
}

// ---- what the entries do; each fills its struct or returns an error

void* errorMessage(TextArgs& a) {
  const auto& e = *static_cast<Error*>(a.object);
  a.text = e.text.data();
  a.size = e.text.size();
  return nullptr;
}
void* errorCode(IntArgs& a) {
  a.value = static_cast<Error*>(a.object)->code;
  return nullptr;
}
void* initialize(NoArgs&) { return nullptr; }

template <class Object>
void* destroy(ObjectArgs& a) {
  delete static_cast<Object*>(a.object);
  return nullptr;
}

void* awaitEvent(ObjectArgs& a) {
  const std::string wrong = static_cast<Event*>(a.object)->done.get();
  return wrong.empty() ? nullptr : error(13, wrong);
}

void* createClient(ClientCreateArgs& a) {
  auto* client = new Client;
  const std::string wished = variable("FAKE_PJRT_DEVICES");
  // Ids need not be positions.
  for (int i = 0; i < (wished.empty() ? 2 : std::atoi(wished.c_str())); ++i) client->devices.push_back({10 + i});
  for (Device& d : client->devices) client->pointers.push_back(&d);
  a.client = client;
  return nullptr;
}
void* listDevices(ListArgs& a) {
  const auto& client = *static_cast<Client*>(a.object);
  a.items = client.pointers.data();
  a.count = client.pointers.size();
  return nullptr;
}
void* describeDevice(GetArgs& a) {
  a.result = a.object;
  return nullptr;
}
void* deviceId(IntArgs& a) {
  a.value = static_cast<Device*>(a.object)->id;
  return nullptr;
}
void* deviceKind(TextArgs& a) {
  a.text = "fake chip";
  a.size = 9;
  return nullptr;
}
void* platformName(TextArgs& a) {
  a.text = "fake";
  a.size = 4;
  return nullptr;
}

void* createTopology(TopologyCreateArgs& a) {
  const std::string name(a.name, a.nameSize);
  if (name.find(':') == std::string::npos) return error(3, "Invalid TPU external name: " + name);
  auto* topology = new Topology;
  topology->devices.resize(4);
  a.topology = topology;
  return nullptr;
}
void* listTopology(ListArgs& a) {
  const auto& topology = *static_cast<Topology*>(a.object);
  a.items = topology.devices.data();
  a.count = topology.devices.size();
  return nullptr;
}

void* compileTo(const Program& program, void*& executable) {
  if (std::string_view(program.format, program.formatSize) != "mlir") return error(3, "Unknown program format");
  auto module = smalti::Module::parse({program.code, program.codeSize}, "program");
  if (!module) return error(13, module.error().str());
  executable = new Executable(std::move(*module));
  return nullptr;
}
void* compile(CompileArgs& a) { return compileTo(*a.program, a.executable); }
void* clientCompile(ClientCompileArgs& a) { return compileTo(*a.program, a.loaded); }

void* getExecutable(GetArgs& a) {
  a.result = new Executable(static_cast<Executable*>(a.object)->module);
  return nullptr;
}
void* countOutputs(CountArgs& a) {
  a.count = static_cast<Executable*>(a.object)->module.results().size();
  return nullptr;
}
void* serialize(SerializeArgs& a) {
  a.handle = new std::string("a fake executable");
  a.bytes = static_cast<std::string*>(a.handle)->data();
  a.size = static_cast<std::string*>(a.handle)->size();
  a.destroy = [](void* handle) { delete static_cast<std::string*>(handle); };
  return nullptr;
}

void* fromHost(BufferFromHostArgs& a) {
  std::optional<ArrayType> type;
  for (const auto& [number, dtype] : kTypes)
    if (number == a.type) type = ArrayType{dtype, {a.dims, a.dims + a.numDims}};
  if (!type) return error(12, "no such element type");
  auto* buffer = new Buffer;
  buffer->array = *Array::allocate(*type);
  buffer->type = a.type;
  // The semantics say that the data is there during the call only.
  std::memcpy(buffer->array.data(), a.data, static_cast<size_t>(type->bytes()));
  buffer->ready = later([] {});
  a.buffer = buffer;
  a.doneWithHostBuffer = eventOf(buffer->ready);
  return nullptr;
}
void* bufferType(IntArgs& a) {
  a.value = static_cast<Buffer*>(a.object)->type;
  return nullptr;
}
void* bufferDims(DimensionsArgs& a) {
  const auto& shape = static_cast<Buffer*>(a.object)->array.shape();
  a.dims = shape.data();
  a.count = shape.size();
  return nullptr;
}
void* toHost(ToHostArgs& a) {
  auto& buffer = *static_cast<Buffer*>(a.source);
  const auto bytes = static_cast<size_t>(buffer.array.bytes());
  if (!a.destination) {
    a.size = bytes;
    return nullptr;
  }
  if (!a.layout || a.layout->type != 0 || a.layout->tiled.minorToMajorSize != buffer.array.shape().size())
    return error(3, "no row-major layout");
  if (a.size < bytes) return error(3, "the destination is too small");
  a.event = eventOf(later([to = a.destination, from = buffer.array, ready = buffer.ready, bytes] {
    ready.wait();
    std::memcpy(to, from.data(), bytes);
  }));
  return nullptr;
}

/// Parts of all devices, one after the other, as one array; or the first where the program takes just that.
Array whole(std::span<const Array> parts, const ArrayType& type) {
  if (parts[0].type() == type) return parts[0];
  Array all = *Array::allocate(type);
  size_t at = 0;
  for (const Array& part : parts) {
    std::memcpy(all.data() + at, part.data(), static_cast<size_t>(part.bytes()));
    at += static_cast<size_t>(part.bytes());
  }
  return all;
}

void* execute(ExecuteArgs& a) {
  const smalti::Module& module = static_cast<Executable*>(a.loaded)->module;
  if (a.numArguments != module.arguments().size()) return error(3, "wrong number of arguments");
  std::vector<Array> inputs;
  for (size_t i = 0; i < a.numArguments; ++i) {
    std::vector<Array> parts;
    for (size_t d = 0; d < a.numDevices; ++d) {
      auto& buffer = *static_cast<Buffer*>(a.arguments[d][i]);
      buffer.ready.wait();
      parts.push_back(buffer.array);
    }
    inputs.push_back(whole(parts, module.arguments()[i]));
  }
  auto run = module.run(inputs);
  if (!run) return error(13, run.error().str());
  for (size_t d = 0; d < a.numDevices; ++d) {
    const auto done = later([] {});
    for (size_t i = 0; i < run->results.size(); ++i) {
      const Array& all = run->results[i];
      ArrayType type = all.type();
      if (a.numDevices > 1 && !type.shape.empty()) type.shape[0] /= static_cast<int64_t>(a.numDevices);
      auto* buffer = new Buffer;
      buffer->array = *Array::allocate(type);
      buffer->type = numberOf(type.dtype);
      buffer->ready = done;
      const auto bytes = static_cast<size_t>(type.bytes());
      std::memcpy(buffer->array.data(), all.data() + (a.numDevices > 1 ? d * bytes : 0), bytes);
      a.outputs[d][i] = buffer;
    }
    if (a.events) a.events[d] = eventOf(done);
  }
  return nullptr;
}

// ---- the table

/// The entry as the client calls it: faults first, then the struct's size, then what it does.
template <int kEntry, class Args, void* (*kDo)(Args&)>
void* entry(void* pointer) {
  std::string rest;
  if (isSet("FAKE_PJRT_CRASH", kEntry)) {
    constexpr std::string_view kLine =
        "F0000 00:00:1795440551.870736   13172 latency_table_vf.cc:719] Operation not supported: kFake\n";
    (void)!::write(STDERR_FILENO, kLine.data(), kLine.size());
    std::abort();
  }
  while (isSet("FAKE_PJRT_HANG", kEntry)) ::pause();
  if (isSet("FAKE_PJRT_NOTHING", kEntry)) return nullptr;
  if (isSet("FAKE_PJRT_ERROR", kEntry, &rest)) {
    const size_t colon = rest.find(':');
    return error(std::atoi(rest.c_str()), colon == std::string::npos ? "" : rest.substr(colon + 1));
  }
  auto& args = *static_cast<Args*>(pointer);
  if (args.structSize < sizeof(Args))
    return error(3, "Unexpected PJRT args size: expected " + std::to_string(sizeof(Args)) + ", got " +
                        std::to_string(args.structSize) + ".");
  return kDo(args);
}

struct Table {
  ApiHead head;
  std::array<EntryFunction, kNumEntries> entries{};
};

#define ENTRY(NUMBER, ARGS, ...) table.entries[NUMBER] = entry<NUMBER, ARGS, __VA_ARGS__>

Table makeTable() {
  Table table{};
  table.head = {.structSize = sizeof(Table),
                .extensions = nullptr,
                .versionStructSize = 24,
                .versionExtensions = nullptr,
                .major = 0,
                .minor = 117};
  ENTRY(kErrorDestroy, ObjectArgs, destroy<Error>);
  ENTRY(kErrorMessage, TextArgs, errorMessage);
  ENTRY(kErrorGetCode, IntArgs, errorCode);
  ENTRY(kPluginInitialize, NoArgs, initialize);
  ENTRY(kEventDestroy, ObjectArgs, destroy<Event>);
  ENTRY(kEventAwait, ObjectArgs, awaitEvent);
  ENTRY(kClientCreate, ClientCreateArgs, createClient);
  ENTRY(kClientDestroy, ObjectArgs, destroy<Client>);
  ENTRY(kClientPlatformName, TextArgs, platformName);
  ENTRY(kClientAddressableDevices, ListArgs, listDevices);
  ENTRY(kClientCompile, ClientCompileArgs, clientCompile);
  ENTRY(kClientBufferFromHostBuffer, BufferFromHostArgs, fromHost);
  ENTRY(kDeviceDescriptionId, IntArgs, deviceId);
  ENTRY(kDeviceDescriptionKind, TextArgs, deviceKind);
  ENTRY(kDeviceGetDescription, GetArgs, describeDevice);
  ENTRY(kExecutableDestroy, ObjectArgs, destroy<Executable>);
  ENTRY(kExecutableNumOutputs, CountArgs, countOutputs);
  ENTRY(kExecutableSerialize, SerializeArgs, serialize);
  ENTRY(kLoadedExecutableDestroy, ObjectArgs, destroy<Executable>);
  ENTRY(kLoadedExecutableGetExecutable, GetArgs, getExecutable);
  ENTRY(kLoadedExecutableExecute, ExecuteArgs, execute);
  ENTRY(kBufferDestroy, ObjectArgs, destroy<Buffer>);
  ENTRY(kBufferElementType, IntArgs, bufferType);
  ENTRY(kBufferDimensions, DimensionsArgs, bufferDims);
  ENTRY(kBufferToHostBuffer, ToHostArgs, toHost);
  ENTRY(kTopologyCreate, TopologyCreateArgs, createTopology);
  ENTRY(kTopologyDestroy, ObjectArgs, destroy<Topology>);
  ENTRY(kTopologyGetDeviceDescriptions, ListArgs, listTopology);
  ENTRY(kCompile, CompileArgs, compile);
  if (const std::string bytes = variable("FAKE_PJRT_TABLE_BYTES"); !bytes.empty())
    table.head.structSize = std::strtoull(bytes.c_str(), nullptr, 10);
  if (const std::string version = variable("FAKE_PJRT_VERSION"); !version.empty()) {
    table.head.major = std::atoi(version.c_str());
    table.head.minor = std::atoi(version.c_str() + version.find('.') + 1);
  }
  return table;
}

}  // namespace

extern "C" {
const void* GetPjrtApi() {
  static const Table kTable = makeTable();
  return variable("FAKE_PJRT_NO_TABLE").empty() ? &kTable : nullptr;
}
/// What the client has not destroyed.
int64_t FakePjrtLiveObjects() { return liveObjects; }
}
