/* The CUDA driver and the first GPU. Entries and constants are those of the CUDA Driver API. */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef unsigned long long Address;

struct Driver {
  int (*init)(unsigned), (*driverVersion)(int*), (*deviceGet)(int*, int), (*deviceName)(char*, int, int),
      (*attribute)(int*, int, int), (*retain)(void**, int), (*setCurrent)(void*),
      (*moduleLoad)(void**, const void*, unsigned, int*, void**), (*moduleUnload)(void*),
      (*getFunction)(void**, void*, const char*), (*setFunction)(void*, int, int),
      (*occupancy)(int*, void*, int, size_t), (*allocate)(Address*, size_t), (*release)(Address),
      (*copyIn)(Address, const void*, size_t), (*copyOut)(void*, Address, size_t),
      (*copy)(Address, Address, size_t, void*), (*fill)(Address, unsigned char, size_t, void*),
      (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**),
      (*newEvent)(void**, unsigned), (*freeEvent)(void*), (*record)(void*, void*), (*query)(void*),
      (*elapsed)(float*, void*, void*), (*errorText)(int, const char**),
      (*encodeMap)(void*, int, uint32_t, void*, const uint64_t*, const uint64_t*, const uint32_t*, const uint32_t*, int,
                   int, int, int); /* NULL before CUDA 12 */
};
extern struct Driver cu;

struct Device {
  char name[256];
  int processors, capability /* × 10 */, driver /* CUDA version × 1000 */, clockMhz, memoryMhz, cacheBytes;
  int lost; /* a kernel has faulted or has hung: the driver does nothing more for this process */
};
extern struct Device device;

/* 1 if the result of a call of the driver is success; otherwise 0, and the reason is that it cannot do `what`. */
int check(int result, const char* what);
/* Loads the driver, chooses the first GPU and fills `device`. */
int startDevice(void);
