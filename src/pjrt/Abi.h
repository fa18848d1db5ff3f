// The part of the PJRT C API that this client uses: our own declarations of its tables and argument structs.
//
// Every entry takes one pointer to a struct that begins with its own size, and returns an error object or null. The API
// grows at the ends only: a plugin takes structs that are larger than those it knows, and an entry is there when the
// table's size covers it. Fields that are not set are zero. Layouts are those of PJRT 0.117 on 64-bit systems.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace smalti::pjrt::abi {

/// Index of an entry in the table; its offset is kFirstEntryBytes + 8 * entry.
enum Entry : int {
  kErrorDestroy = 0,
  kErrorMessage = 1,
  kErrorGetCode = 2,
  kPluginInitialize = 3,
  kEventDestroy = 5,
  kEventIsReady = 6,
  kEventAwait = 8,
  kEventOnReady = 9,
  kClientCreate = 10,
  kClientDestroy = 11,
  kClientPlatformName = 12,
  kClientProcessIndex = 13,
  kClientPlatformVersion = 14,
  kClientDevices = 15,
  kClientAddressableDevices = 16,
  kClientCompile = 20,
  kClientBufferFromHostBuffer = 22,
  kDeviceDescriptionId = 23,
  kDeviceDescriptionProcessIndex = 24,
  kDeviceDescriptionKind = 26,
  kDeviceGetDescription = 29,
  kExecutableDestroy = 40,
  kExecutableNumOutputs = 44,
  kExecutableSizeOfGeneratedCode = 45,
  kExecutableOptimizedProgram = 48,
  kExecutableSerialize = 49,
  kLoadedExecutableDestroy = 50,
  kLoadedExecutableGetExecutable = 51,
  kLoadedExecutableAddressableDevices = 52,
  kLoadedExecutableExecute = 55,
  kBufferDestroy = 58,
  kBufferElementType = 59,
  kBufferDimensions = 60,
  kBufferToHostBuffer = 70,
  kTopologyCreate = 82,
  kTopologyDestroy = 83,
  kTopologyPlatformVersion = 85,
  kTopologyGetDeviceDescriptions = 86,
  kCompile = 89,
  kNumEntries = 90,  ///< of those that are used
};

using EntryFunction = void* (*)(void*);

struct Extension {
  size_t structSize;
  int type;
  Extension* next;
};

/// How the table begins.
struct ApiHead {
  size_t structSize;
  Extension* extensions;
  size_t versionStructSize;
  Extension* versionExtensions;
  int major, minor;
};
inline constexpr size_t kFirstEntryBytes = 40;
static_assert(sizeof(ApiHead) == kFirstEntryBytes);

/// The beginning of all argument structs. `Args` is the struct itself.
template <class Args>
struct Sized {
  size_t structSize;
  void* extensions = nullptr;
  Sized() : structSize(sizeof(Args)) {}
};

struct NoArgs : Sized<NoArgs> {};
/// Destroys, awaits: an object and nothing else.
struct ObjectArgs : Sized<ObjectArgs> {
  void* object = nullptr;
};
struct TextArgs : Sized<TextArgs> {
  void* object = nullptr;
  const char* text = nullptr;
  size_t size = 0;
};
struct CountArgs : Sized<CountArgs> {
  void* object = nullptr;
  size_t count = 0;
};
struct ListArgs : Sized<ListArgs> {
  void* object = nullptr;
  void* const* items = nullptr;
  size_t count = 0;
};
struct GetArgs : Sized<GetArgs> {
  void* object = nullptr;
  void* result = nullptr;
};
struct IntArgs : Sized<IntArgs> {
  void* object = nullptr;
  int value = 0;
};
struct BoolArgs : Sized<BoolArgs> {
  void* object = nullptr;
  bool value = false;
};
struct OnReadyArgs : Sized<OnReadyArgs> {
  void* event = nullptr;
  void (*callback)(void* error, void* argument) = nullptr;  ///< the error, if there is one, is the callback's
  void* argument = nullptr;
};
static_assert(sizeof(OnReadyArgs) == 40);
struct DimensionsArgs : Sized<DimensionsArgs> {
  void* object = nullptr;
  const int64_t* dims = nullptr;
  size_t count = 0;
};

struct NamedValue : Sized<NamedValue> {
  const char* name = nullptr;
  size_t nameSize = 0;
  int type = 0;  ///< 0: text
  union {
    const char* text;
    int64_t number;
  };
  size_t valueSize = 0;
  NamedValue() : text(nullptr) {}
};
static_assert(sizeof(NamedValue) == 56);

struct TopologyCreateArgs : Sized<TopologyCreateArgs> {
  const char* name = nullptr;
  size_t nameSize = 0;
  const NamedValue* options = nullptr;
  size_t numOptions = 0;
  void* topology = nullptr;
};
static_assert(sizeof(TopologyCreateArgs) == 56);

struct Program : Sized<Program> {
  char* code = nullptr;
  size_t codeSize = 0;
  const char* format = nullptr;
  size_t formatSize = 0;
};
static_assert(sizeof(Program) == 48);

struct CompileArgs : Sized<CompileArgs> {
  void* topology = nullptr;
  const Program* program = nullptr;
  const char* options = nullptr;
  size_t optionsSize = 0;
  void* client = nullptr;
  void* executable = nullptr;
};
static_assert(sizeof(CompileArgs) == 64);

struct ClientCompileArgs : Sized<ClientCompileArgs> {
  void* client = nullptr;
  const Program* program = nullptr;
  const char* options = nullptr;
  size_t optionsSize = 0;
  void* loaded = nullptr;
};
static_assert(sizeof(ClientCompileArgs) == 56);

struct OptimizedProgramArgs : Sized<OptimizedProgramArgs> {
  void* executable = nullptr;
  Program* program = nullptr;
};

struct SerializeArgs : Sized<SerializeArgs> {
  const void* executable = nullptr;
  const char* bytes = nullptr;
  size_t size = 0;
  void* handle = nullptr;
  void (*destroy)(void*) = nullptr;
};
static_assert(sizeof(SerializeArgs) == 56);

struct ClientCreateArgs : Sized<ClientCreateArgs> {
  const NamedValue* options = nullptr;
  size_t numOptions = 0;
  void* keyValueGet = nullptr;
  void* keyValueGetArgument = nullptr;
  void* keyValuePut = nullptr;
  void* keyValuePutArgument = nullptr;
  void* client = nullptr;
  void* keyValueTryGet = nullptr;
  void* keyValueTryGetArgument = nullptr;
};
static_assert(sizeof(ClientCreateArgs) == 88);

enum HostBufferSemantics : int { kImmutableOnlyDuringCall = 0 };

struct BufferFromHostArgs : Sized<BufferFromHostArgs> {
  void* client = nullptr;
  const void* data = nullptr;
  int type = 0;
  const int64_t* dims = nullptr;
  size_t numDims = 0;
  const int64_t* byteStrides = nullptr;  ///< null: row-major
  size_t numByteStrides = 0;
  int semantics = kImmutableOnlyDuringCall;
  void* device = nullptr;
  void* memory = nullptr;
  void* layout = nullptr;
  void* doneWithHostBuffer = nullptr;  ///< an event
  void* buffer = nullptr;
};
static_assert(sizeof(BufferFromHostArgs) == 120);

struct TiledLayout : Sized<TiledLayout> {
  const int64_t* minorToMajor = nullptr;
  size_t minorToMajorSize = 0;
  const int64_t* tileDims = nullptr;
  const size_t* tileDimSizes = nullptr;
  size_t numTiles = 0;
};
struct MemoryLayout : Sized<MemoryLayout> {
  TiledLayout tiled;
  int type = 0;  ///< 0: tiled
};
static_assert(sizeof(TiledLayout) == 56 && sizeof(MemoryLayout) == 80);

struct ToHostArgs : Sized<ToHostArgs> {
  void* source = nullptr;
  MemoryLayout* layout = nullptr;  ///< null: the device's
  void* destination = nullptr;     ///< null: asks for the size
  size_t size = 0;
  void* event = nullptr;
};
static_assert(sizeof(ToHostArgs) == 56);

struct ExecuteOptions : Sized<ExecuteOptions> {
  void* sendCallbacks = nullptr;
  void* receiveCallbacks = nullptr;
  size_t numSend = 0;
  size_t numReceive = 0;
  int launchId = 0;
  const int64_t* nonDonatable = nullptr;
  size_t numNonDonatable = 0;
  void* context = nullptr;
  const char* callLocation = nullptr;
  size_t numTasks = 0;
  int* taskIds = nullptr;
  int64_t* incarnations = nullptr;
  void* multiSlice = nullptr;
  bool majorToMinorCallbacks = false;
  void* hloCallbacks = nullptr;
  size_t numHloCallbacks = 0;
};
static_assert(sizeof(ExecuteOptions) == 144);

struct ExecuteArgs : Sized<ExecuteArgs> {
  void* loaded = nullptr;
  ExecuteOptions* options = nullptr;
  void* const* const* arguments = nullptr;  ///< [device][argument]
  size_t numDevices = 0;
  size_t numArguments = 0;
  void** const* outputs = nullptr;  ///< [device][output], the caller's arrays
  void** events = nullptr;          ///< [device]
  void* device = nullptr;
};
static_assert(sizeof(ExecuteArgs) == 80);

}  // namespace smalti::pjrt::abi
