// Which names a C function may have in a header that C and C++ programs include.
#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <set>
#include <sstream>

#include "cpu/aot/Aot.h"

namespace smalti::cpu {
namespace {

// C23 and C++23.
constexpr const char* kWords = R"(
alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t char8_t class co_await
co_return co_yield compl concept const const_cast consteval constexpr constinit continue decltype default delete do
double dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable namespace
new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires restrict
return short signed sizeof static static_assert static_cast struct switch template this thread_local throw true try
typedef typeid typename typeof typeof_unqual union unsigned using virtual void volatile wchar_t while xor xor_eq)";

// Types of <stdint.h> and of what it includes, and macros that compilers define beforehand.
constexpr const char* kTypes = R"(
int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t int_least8_t int_least16_t int_least32_t
int_least64_t uint_least8_t uint_least16_t uint_least32_t uint_least64_t int_fast8_t int_fast16_t int_fast32_t
int_fast64_t uint_fast8_t uint_fast16_t uint_fast32_t uint_fast64_t intptr_t uintptr_t intmax_t uintmax_t size_t
ssize_t ptrdiff_t max_align_t nullptr_t off_t time_t linux unix)";

// Functions and macros of the C library that programs may use besides the kernel, or that its object calls.
constexpr const char* kLibrary = R"(
main NULL EOF errno assert stdin stdout stderr
abort abs aligned_alloc alloca at_quick_exit atexit atof atoi atol atoll bsearch calloc div exit free getenv labs ldiv
llabs lldiv malloc mblen posix_memalign qsort quick_exit rand realloc srand strtod strtof strtol strtold strtoll strtoul
strtoull system
index memccpy memchr memcmp memcpy memmove memset rindex strcat strchr strcmp strcoll strcpy strcspn strdup strerror
strlen strncat strncmp strncpy strndup strpbrk strrchr strspn strstr strtok strxfrm
clearerr fclose feof ferror fflush fgetc fgetpos fgets fopen fprintf fputc fputs fread freopen fscanf fseek fsetpos
ftell fwrite getc getchar gets perror printf putc putchar puts remove rename rewind scanf setbuf setvbuf snprintf
sprintf sscanf tmpfile tmpnam ungetc vfprintf vfscanf vprintf vscanf vsnprintf vsprintf vsscanf
isalnum isalpha isblank iscntrl isdigit isgraph islower isprint ispunct isspace isupper isxdigit tolower toupper
asctime clock ctime difftime gmtime localtime mktime strftime time longjmp setjmp raise signal
accept access bind close connect dup execve fork kill link listen mmap munmap open pipe poll read recv select send shutdown
sleep socket stat sync unlink usleep wait write)";

// Functions of <math.h>: each name stands for three of them, such as pow, powf and powl.
constexpr const char* kMath = R"(
acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh drem erf erfc exp exp10 exp2 expm1 fabs fdim finite
floor fma fmax fmin fmod frexp gamma hypot ilogb isinf isnan j0 j1 jn ldexp lgamma llrint llround log log10 log1p log2
logb lrint lround modf nan nearbyint nextafter nexttoward pow remainder remquo rint round roundeven scalb scalbln scalbn
significand sin sincos sinh sqrt tan tanh tgamma trunc y0 y1 yn)";

std::set<std::string, std::less<>> takenNames() {
  std::set<std::string, std::less<>> taken;
  std::string name;
  for (const char* list : {kWords, kTypes, kLibrary})
    for (std::istringstream names(list); names >> name;) taken.insert(name);
  for (std::istringstream names(kMath); names >> name;)
    for (const char* type : {"", "f", "l"}) taken.insert(name + type);
  return taken;
}

/// Macros of <stdint.h>: INT8_MAX, UINT64_C, SIZE_MAX.
bool isLimitMacro(std::string_view name) {
  const auto isAny = [](std::initializer_list<std::string_view> parts, auto&& test) {
    return std::any_of(parts.begin(), parts.end(), test);
  };
  return isAny({"INT", "UINT", "SIZE_", "PTRDIFF_", "WCHAR_", "WINT_", "SIG_ATOMIC_"},
               [&](std::string_view part) { return name.starts_with(part); }) &&
         isAny({"_MAX", "_MIN", "_C", "_WIDTH"}, [&](std::string_view part) { return name.ends_with(part); });
}

}  // namespace

std::string cIdentifier(std::string_view text) {
  std::string name;
  for (const char c : text) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) name.insert(0, "kernel_");
  if (name[0] == '_') name.insert(0, "kernel");
  return name;
}

bool isCIdentifier(std::string_view text) {
  static const auto& taken = *new std::set<std::string, std::less<>>(takenNames());
  return !text.empty() && cIdentifier(text) == text && !taken.contains(text) && !isLimitMacro(text);
}

}  // namespace smalti::cpu
