# Environment for programs of the asan preset; to be sourced.
#
# allow_user_poisoning=0: LLVM's BumpPtrAllocator poisons its slabs and unpoisons each allocation, in inline functions.
# Compiled with the sanitizer they do both, inside libMLIR and libLLVM, which are not, neither. Both sides allocate from
# the same slabs of an MLIRContext, so memory that libMLIR hands out of a slab that our code has begun would count as
# poisoned. Nothing else poisons by hand; heap, stack and globals are checked as ever.
# detect_leaks=0: the leak checker cannot see pointers held by libraries that are not sanitized.
export ASAN_OPTIONS=allow_user_poisoning=0:detect_leaks=0:allocator_may_return_null=1${ASAN_OPTIONS:+:$ASAN_OPTIONS}
export UBSAN_OPTIONS=print_stacktrace=1${UBSAN_OPTIONS:+:$UBSAN_OPTIONS}
